//! How is a cage asked of Podman, and how is it known that Podman heard?
//!
//! In its own API, which it serves beside Docker's on the same socket. In Docker's it leaves settings out without a word
//! (the control-group namespace, hidden paths, and without root the limit of open files), and adds places to write to
//! (`/run`, `/var/tmp`); measured with Podman 4.3. What it takes only as files of its own host, the system-call filter,
//! the names of this host and the name server, are files of the state directory, written and compared at every start.
//!
//! Invariants: every row that it can write down is compared with what it wrote down, and every row that it cannot, by
//! init; a row that it does not enforce is named, whichever and however many they are.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::{PATIENCE, SAID_CHARS};
use crate::cage::engine::{CageSpec, EngineError, Handle, ImageId, Labels};
use crate::cage::lacking::Lacking;
use crate::cage::profile::{HIDDEN, HOME, HOSTNAME, INIT, NAMESERVER, PATH, Profile};
use crate::cage::seccomp;
use crate::digest::Digest;
use crate::plan::SERVER_DIR;
use crate::state::{read_private, write_private};
use crate::text::Shown;

/// The oldest form of its own API that has everything asked for here; newer servers speak it too.
const API: &str = "/v4.0.0/libpod";
/// Longest answer that is read, in bytes.
const ANSWER: u64 = 8 * 1024 * 1024;
/// The names a cage knows besides those that init answers. Podman's own file would hold this machine's names.
const HOSTS: &str = "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 cage\n";
/// Most processes of one user, in all of its cages together: the highest that a plan can ask for in one.
///
/// Said so that Podman does not say a number of its own, which it may not have the right to give.
const PROCESSES: u64 = 32_768;

/// What helps where Podman runs without root and the kernel has the older control groups.
const ROOTLESS: &str = "without root, Podman limits nothing on control groups v1: boot this machine with v2 (`systemd.unified_cgroup_hierarchy=1` on the kernel's command line) and have systemd delegate the cpu, memory and pids controllers (`Delegate=cpu memory pids` for user@.service), or set DOCKER_HOST to an engine that runs as root";
/// What helps where a controller is not given to the user.
const DELEGATE: &str = "have systemd delegate the cpu, memory and pids controllers to users (`Delegate=cpu memory pids` in a drop-in for user@.service), then log in again";

/// Podman, by its own API.
pub(super) struct Podman {
    socket: PathBuf,
    files: PathBuf,
}

/// Its files of the state directory for one cage.
struct Files {
    seccomp: PathBuf,
    hosts: PathBuf,
    resolver: PathBuf,
}

/// What it says of itself and of its host.
#[derive(Deserialize)]
pub(super) struct Info {
    host: HostInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct HostInfo {
    cgroup_controllers: Vec<String>,
    cgroup_version: String,
    security: Security,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Security {
    rootless: bool,
    seccomp_enabled: bool,
}

impl Info {
    /// Whether it runs without root.
    pub(super) fn rootless(&self) -> bool {
        self.host.security.rootless
    }

    /// Rows that it cannot enforce here.
    pub(super) fn lacking(&self) -> Vec<Lacking> {
        let host = &self.host;
        let mut rows = Vec::new();
        if !host.security.seccomp_enabled {
            rows.push(Lacking::new("seccomp", "Podman says that it is off here"));
        }
        let first = host.cgroup_version.trim_start_matches('v') == "1";
        for (setting, controller) in LIMITS {
            if first && host.security.rootless {
                let seen = "no limit: Podman sets none on control groups v1 without root";
                rows.push(Lacking::new(setting, seen).helped_by(ROOTLESS));
            } else if !host.cgroup_controllers.iter().any(|known| known == controller) && !first {
                let seen = format!("no limit: Podman is not given the `{controller}` controller");
                rows.push(Lacking::new(setting, seen).helped_by(DELEGATE));
            }
        }
        rows
    }
}

/// Rows that a controller of control groups enforces, and its name.
const LIMITS: [(&str, &str); 3] =
    [("memory and swap", "memory"), ("processes", "pids"), ("processors", "cpu")];

/// A container as Podman wrote it down.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Made {
    #[serde(rename = "OCIRuntime", default)]
    runtime: String,
    #[serde(default)]
    mounts: Option<Vec<MadeMount>>,
    host_config: MadeHost,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct MadeMount {
    #[serde(rename = "Type")]
    kind: String,
    name: String,
    driver: String,
    source: String,
    destination: String,
    #[serde(rename = "RW")]
    writable: bool,
    propagation: String,
    options: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct MadeHost {
    auto_remove: bool,
    readonly_rootfs: bool,
    privileged: bool,
    network_mode: String,
    cgroup_mode: String,
    ipc_mode: String,
    pid_mode: String,
    #[serde(rename = "UTSMode")]
    uts_mode: String,
    cap_add: Option<Vec<String>>,
    security_opt: Option<Vec<String>>,
    tmpfs: Option<BTreeMap<String, String>>,
    log_config: MadeLog,
    devices: Option<Vec<Value>>,
    volumes_from: Option<Vec<String>>,
    extra_hosts: Option<Vec<String>>,
    memory: i64,
    memory_swap: i64,
    pids_limit: i64,
    nano_cpus: i64,
    ulimits: Option<Vec<MadeLimit>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct MadeLog {
    #[serde(rename = "Type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MadeLimit {
    name: String,
    soft: i64,
    hard: i64,
}

impl Podman {
    /// At this socket of this machine; `files` is a folder of the state directory.
    pub(super) fn new(socket: PathBuf, files: PathBuf) -> Self {
        Self { socket, files }
    }

    /// What it says of itself.
    pub(super) async fn info(&self) -> Result<Info, EngineError> {
        let doing = "describe itself";
        read(doing, &self.ask(doing, "GET", "/info", None).await?)
    }

    /// Creates a cage, or says every row in which it is weaker than its profile.
    pub(super) async fn create(&self, spec: &CageSpec, labels: &Labels) -> Result<Handle, EngineError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
            #[serde(default)]
            warnings: Option<Vec<String>>,
        }
        let doing = "create a container";
        let files = self.write_files(&spec.profile)?;
        let asked = asked(spec, labels, &files);
        let made: Created = read(doing, &self.ask(doing, "POST", "/containers/create", Some(&asked)).await?)?;
        let handle = Handle::new(made.id);
        let rows = match self.inspect(&handle).await {
            Ok(seen) => {
                let mut rows = compare(&spec.profile, &files, &seen);
                let warnings = made.warnings.unwrap_or_default();
                if warnings.iter().any(|warning| warning.to_ascii_lowercase().contains("rootless")) {
                    let limited = |row: &Lacking| LIMITS.iter().any(|(setting, _)| *setting == row.setting());
                    rows = rows
                        .into_iter()
                        .map(|row| if limited(&row) { row.helped_by(ROOTLESS) } else { row })
                        .collect();
                }
                // a warning says less than the rows do, and something where there are none
                if rows.is_empty() {
                    rows.extend(warnings.iter().map(|warning| super::terms::warned(warning)));
                }
                EngineError::unless_none(rows)
            }
            Err(error) => Err(error),
        };
        match rows {
            Ok(()) => Ok(handle),
            Err(error) => {
                // the reaper takes it later if the engine does not answer now
                let path = format!("/containers/{}?force=true&v=true", handle.as_str());
                let _ = self.ask("remove a cage", "DELETE", &path, None).await;
                Err(error)
            }
        }
    }

    async fn inspect(&self, handle: &Handle) -> Result<Made, EngineError> {
        let doing = "describe the cage it made";
        let path = format!("/containers/{}/json", handle.as_str());
        read(doing, &self.ask(doing, "GET", &path, None).await?)
    }

    /// Freezes a container into an image with this configuration, each an instruction as in a Dockerfile.
    ///
    /// In Docker's API Podman leaves the configuration out that comes with the question.
    pub(super) async fn commit(
        &self,
        handle: &Handle,
        (repository, tag): (&str, &str),
        changes: &[String],
    ) -> Result<ImageId, EngineError> {
        #[derive(Deserialize)]
        struct Committed {
            #[serde(rename = "Id")]
            id: String,
        }
        let doing = "keep the cage as an image";
        // not paused for it: its programs have ended, and init is on its way
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("container", handle.as_str())
            .append_pair("repo", repository)
            .append_pair("tag", tag)
            .append_pair("format", "docker")
            .append_pair("pause", "false")
            .extend_pairs(changes.iter().map(|change| ("changes", change)))
            .finish();
        let answer = self.ask(doing, "POST", &format!("/commit?{query}"), None).await?;
        let made: Committed = read(doing, &answer)?;
        Ok(ImageId::new(match made.id.contains(':') {
            true => made.id,
            false => format!("sha256:{}", made.id),
        }))
    }

    /// The files of one cage, each there with what it has to hold.
    fn write_files(&self, profile: &Profile) -> Result<Files, EngineError> {
        let filter = seccomp::oci(profile.socket_files()).to_string();
        let resolver = format!("nameserver {NAMESERVER}\nsearch .\n");
        Ok(Files {
            seccomp: self.file("seccomp", &filter)?,
            hosts: self.file("hosts", HOSTS)?,
            resolver: self.file("resolv.conf", &resolver)?,
        })
    }

    /// A file that is named by what it holds.
    fn file(&self, kind: &str, text: &str) -> Result<PathBuf, EngineError> {
        let path = self.files.join(format!("{kind}-{}", &Digest::of(text.as_bytes()).hex()[..16]));
        let failed = |why: &dyn std::fmt::Display| EngineError::Refused {
            doing: "be given a file of the state directory",
            said: Shown::new(&format!("{}: {why}", path.display())),
        };
        let there = read_private(&path, ANSWER).map_err(|error| failed(&error))?;
        if there.as_deref() != Some(text.as_bytes()) {
            write_private(&path, text.as_bytes()).map_err(|error| failed(&error))?;
        }
        // for the user of the cage, whom it is mounted for: nobody else gets into the folder
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&path, mode).map_err(|error| failed(&error))?;
        Ok(path)
    }

    /// One question of its own API, and the answer's body.
    ///
    /// HTTP/1.0: the answer ends with the connection, and comes in one piece.
    async fn ask(
        &self,
        doing: &'static str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, EngineError> {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let head = format!(
            "{method} {API}{path} HTTP/1.0\r\nHost: engine\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let talk = async {
            let mut stream = UnixStream::connect(&self.socket).await?;
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.take(ANSWER).read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        let gone =
            |why: &dyn std::fmt::Display| EngineError::Gone { doing, said: Shown::new(&why.to_string()) };
        let answer = tokio::time::timeout(PATIENCE, talk)
            .await
            .map_err(|_| gone(&"it does not answer"))?
            .map_err(|error| gone(&error))?;
        let (status, body) = parse(&answer).ok_or_else(|| gone(&"it does not speak HTTP"))?;
        if (200..300).contains(&status) {
            return Ok(body.to_vec());
        }
        #[derive(Deserialize)]
        struct Refusal {
            message: String,
        }
        let said = serde_json::from_slice::<Refusal>(body)
            .map_or_else(|_| format!("status {status}"), |refusal| refusal.message);
        let short = Shown::new(&said.chars().take(SAID_CHARS).collect::<String>());
        Err(match crate::cage::engine::no_room(&said) {
            true => EngineError::Full { doing, said: short },
            false => EngineError::Refused { doing, said: short },
        })
    }
}

/// The status and the body of an answer.
pub(super) fn parse(answer: &[u8]) -> Option<(u16, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, &answer[end + 4..]))
}

fn read<'a, T: Deserialize<'a>>(doing: &'static str, answer: &'a [u8]) -> Result<T, EngineError> {
    serde_json::from_slice(answer).map_err(|error| EngineError::Refused {
        doing,
        said: Shown::new(&format!("it answers nonsense: {error}")),
    })
}

/// What holds whatever is mounted.
const BOUND: [&str; 4] = ["nosuid", "nodev", "noexec", "rprivate"];

/// Podman's word for a place in memory that begins empty.
const NO_COPY: &str = "notmpcopyup";

/// The options of a scratch place. `U`: of the cage's user.
fn scratch_options(scratch: &crate::cage::profile::Scratch) -> Vec<String> {
    let exec = if scratch.exec { "exec" } else { "noexec" };
    let mut options: Vec<String> = ["rw", "nosuid", "nodev", exec, NO_COPY].map(ToOwned::to_owned).to_vec();
    options.push(format!("size={}", scratch.bytes));
    options.push(format!("mode={:o}", scratch.mode));
    if scratch.owned {
        options.push("U".into());
    }
    options
}

/// The whole container, as Podman's own API takes it. Every namespace and limit is said, so that no setting of the
/// user's for containers in general decides.
fn asked(spec: &CageSpec, labels: &Labels, files: &Files) -> Value {
    let profile = &spec.profile;
    let (user, limits) = (profile.user(), profile.limits());
    let mut mounts: Vec<Value> = profile
        .scratch()
        .iter()
        .map(|scratch| {
            json!({"destination": scratch.path, "type": "tmpfs", "source": "tmpfs", "options": scratch_options(scratch)})
        })
        .collect();
    for (path, at) in [(&files.hosts, "/etc/hosts"), (&files.resolver, "/etc/resolv.conf")] {
        // `z`: where SELinux is in force, labelled as what any container may read
        let options = [&["bind", "ro", "z"][..], &BOUND[..]].concat();
        mounts.push(json!({"destination": at, "type": "bind", "source": path, "options": options}));
    }
    for bind in profile.binds() {
        // not `rbind`: what is mounted below a folder would come along
        let access = if bind.writable() { "rw" } else { "ro" };
        let options = ["bind", access, "nosuid", "nodev", "rprivate"];
        mounts.push(
            json!({"destination": bind.path(), "type": "bind", "source": bind.path(), "options": options}),
        );
    }
    let kept = profile.kept().map(|kept| json!({"Name": kept.volume(), "Dest": HOME, "Options": ["rw"]}));
    let private = json!({"nsmode": "private"});
    let own = rustix::process::getrlimit(rustix::process::Resource::Nproc).maximum.unwrap_or(u64::MAX);
    let processes = PROCESSES.min(own);
    // a quota in microseconds of every tenth of a second: thousandths of a processor, a hundredfold
    let quota = i64::from(limits.milli_cpus()) * 100;
    json!({
        "image": spec.image.as_str(),
        "entrypoint": [INIT],
        "command": [],
        "env": {"PATH": PATH},
        "env_host": false,
        "httpproxy": false,
        "labels": labels,
        "user": format!("{}:{}", user.uid(), user.gid()),
        "hostname": HOSTNAME,
        "work_dir": SERVER_DIR,
        "stdin": true,
        "terminal": false,
        // an install cage is still needed when its programs have ended: it is sealed, then removed
        "remove": !profile.writable_root(),
        "privileged": false,
        "init": false,
        // a program with such a name would be given places to write to
        "systemd": "false",
        "healthconfig": {"Test": ["NONE"]},
        "log_configuration": {"driver": "none"},
        "cap_drop": ["ALL"],
        "cap_add": [],
        "no_new_privileges": true,
        "seccomp_profile_path": files.seccomp,
        "read_only_filesystem": !profile.writable_root(),
        "image_volume_mode": "ignore",
        "mask": HIDDEN,
        "mounts": mounts,
        "volumes": kept.into_iter().collect::<Vec<_>>(),
        "netns": {"nsmode": "none"},
        "ipcns": {"nsmode": "none"},
        "pidns": private,
        "utsns": private,
        "cgroupns": private,
        "sysctl": {"net.ipv4.ip_unprivileged_port_start": "0"},
        "resource_limits": {
            "memory": {"limit": limits.memory(), "swap": limits.memory()},
            "pids": {"limit": limits.pids()},
            "cpu": {"shares": 512, "quota": quota, "period": 100_000},
        },
        "r_limits": [
            {"type": "nofile", "hard": limits.nofile(), "soft": limits.nofile()},
            {"type": "nproc", "hard": processes, "soft": processes},
        ],
        "oci_runtime": profile.runtime().map(ToString::to_string).unwrap_or_default(),
    })
}

/// Every row in which Podman wrote something else down than was asked.
///
/// What it does not write down is init's to see: the filter, hidden paths, the name server, sysctls.
fn compare(profile: &Profile, files: &Files, made: &Made) -> Vec<Lacking> {
    let host = &made.host_config;
    let mut rows = Vec::new();
    let mut hold = |holds: bool, setting: &'static str, seen: String| {
        if !holds {
            rows.push(Lacking::new(setting, seen));
        }
    };
    let none = |list: &Option<Vec<Value>>| list.as_ref().is_none_or(Vec::is_empty);
    let nothing = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
    let wrote = |what: &dyn std::fmt::Debug| format!("Podman wrote down {what:?}");
    let limits = profile.limits();
    hold(
        nothing(&host.cap_add) && !host.privileged,
        "capabilities",
        "Podman added some of its own".to_owned(),
    );
    let options = host.security_opt.as_deref().unwrap_or_default();
    hold(
        options.iter().any(|option| option == "no-new-privileges"),
        "no-new-privileges",
        "Podman left it out".to_owned(),
    );
    hold(
        !options.iter().any(|option| option == "seccomp=unconfined"),
        "seccomp",
        "Podman switched it off".to_owned(),
    );
    hold(host.readonly_rootfs != profile.writable_root(), "root file system", wrote(&host.readonly_rootfs));
    let tmpfs = host.tmpfs.clone().unwrap_or_default();
    let scratch = profile.scratch().iter().all(|scratch| {
        let made = tmpfs.get(scratch.path).map(|options| options.split(',').collect::<Vec<_>>());
        let asked = scratch_options(scratch);
        // not to copy what the image has there is what is not written down
        let mut asked = asked.iter().map(String::as_str).filter(|option| *option != NO_COPY);
        made.is_some_and(|made| asked.all(|option| made.contains(&option)))
    });
    hold(scratch && tmpfs.len() == profile.scratch().len(), "writable", wrote(&tmpfs));
    let made_mounts = made.mounts.as_deref().unwrap_or_default();
    if let Some(seen) = other_mount(profile, files, made_mounts) {
        hold(false, "mounts", seen);
    }
    let opened = !none(&host.devices) || !nothing(&host.volumes_from) || !nothing(&host.extra_hosts);
    hold(!opened, "mounts", "Podman added devices, volumes or names of its own".to_owned());
    hold(host.network_mode == "none", "network", wrote(&host.network_mode));
    let memory = i64::try_from(limits.memory()).unwrap_or(i64::MAX);
    let number = |seen: i64| if seen <= 0 { "no limit".to_owned() } else { wrote(&seen) };
    hold(host.memory == memory, "memory and swap", number(host.memory));
    // of two that are not there one is told
    hold(host.memory_swap == memory || host.memory != memory, "memory and swap", number(host.memory_swap));
    hold(host.pids_limit == i64::from(limits.pids()), "processes", number(host.pids_limit));
    let nano = i64::from(limits.milli_cpus()) * 1_000_000;
    hold(host.nano_cpus == nano, "processors", number(host.nano_cpus));
    let files = i64::from(limits.nofile());
    let open = host.ulimits.iter().flatten().find(|limit| limit.name == "RLIMIT_NOFILE");
    hold(
        open.is_some_and(|limit| (limit.soft, limit.hard) == (files, files)),
        "open files",
        number(open.map_or(0, |limit| limit.hard)),
    );
    let namespaces = [
        ("cgroup", &host.cgroup_mode, &["private"][..]),
        // "shareable" is a namespace of its own all the same; that nothing of it is mounted is init's to see
        ("ipc", &host.ipc_mode, &["none", "private", "shareable"]),
        ("pid", &host.pid_mode, &["private"]),
        ("uts", &host.uts_mode, &["private"]),
    ];
    for (kind, mode, good) in namespaces {
        hold(
            good.contains(&mode.as_str()),
            "ipc, uts, cgroup, pid namespaces",
            format!("Podman wrote down {mode:?} for {kind}"),
        );
    }
    hold(host.log_config.kind == "none", "log driver", wrote(&host.log_config.kind));
    hold(host.auto_remove != profile.writable_root(), "removal", wrote(&host.auto_remove));
    if let Some(runtime) = profile.runtime() {
        hold(made.runtime == runtime.as_str(), "runtime", wrote(&made.runtime));
    }
    rows
}

/// What Podman mounts otherwise than it was asked to.
fn other_mount(profile: &Profile, files: &Files, made: &[MadeMount]) -> Option<String> {
    let bound = |source: &str, at: &str, writable: bool| {
        made.iter().any(|made| {
            let options = made.options.as_deref().unwrap_or_default();
            made.kind == "bind"
                && made.source == source
                && made.destination == at
                && made.writable == writable
                && made.propagation == "rprivate"
                && !options.iter().any(|option| option == "rbind")
        })
    };
    let own = |path: &Path, at: &str| path.to_str().is_some_and(|source| bound(source, at, false));
    let kept = profile.kept().is_none_or(|kept| {
        made.iter().any(|made| {
            (made.kind.as_str(), made.name.as_str(), made.driver.as_str())
                == ("volume", kept.volume(), "local")
                && made.destination == HOME
                && made.writable
        })
    });
    let all = own(&files.hosts, "/etc/hosts")
        && own(&files.resolver, "/etc/resolv.conf")
        && profile.binds().iter().all(|bind| bound(bind.path(), bind.path(), bind.writable()))
        && kept;
    let expected = 2 + profile.binds().len() + usize::from(profile.kept().is_some());
    (!all || made.len() != expected).then(|| "Podman mounts something else than was asked for".to_owned())
}

#[cfg(test)]
mod tests;
