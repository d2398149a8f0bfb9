//! Where is the container engine, and which is it?
//!
//! Where the user's own docker client would find it: DOCKER_HOST, then the client's current context, then the
//! sockets of the usual places, desktop and rootless engines included. No client program is asked: inside an
//! editor's environment there is often none on PATH.
//!
//! Invariant: an address that the user set is the only one tried. Falling back to another engine would start a
//! server where nobody looks for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, ClientVersion, Docker};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use crate::cage::engine::EngineError;
use crate::state::read_plain;
use crate::text::Shown;

/// Bytes of a file of the docker client's.
const SETTINGS_BYTES: u64 = 1024 * 1024;
/// How long an engine may take to its first word.
const GREETING: Duration = Duration::from_secs(10);
/// Longest greeting that is read, in bytes.
const GREETING_BYTES: u64 = 16 * 1024;

/// An engine that answers.
pub(super) struct Found {
    /// To ask it things.
    pub(super) api: Docker,
    /// Where it is.
    pub(super) address: String,
    /// Its socket, where it is Podman.
    pub(super) podman: Option<PathBuf>,
}

/// An address, and who named it.
struct Candidate {
    address: String,
    named_by: String,
    /// Set by the user: no other is tried.
    only: bool,
}

/// The first engine that answers, with an API version agreed, and its address.
pub(super) async fn connect(patience: Duration) -> Result<Found, EngineError> {
    let mut looked = Vec::new();
    let mut forbidden = None;
    for candidate in candidates()? {
        let tried = format!("{} ({})", candidate.address, candidate.named_by);
        match open(&candidate.address, patience).await {
            Ok(found) => return Ok(found),
            // somebody else's engine; this user's own may be in another of the usual places
            Err(Closed::Forbidden) => {
                forbidden.get_or_insert(Shown::new(&candidate.address));
            }
            Err(Closed::Absent(why)) => looked.push(Shown::new(&format!("{tried}: {why}"))),
            Err(Closed::Unusable { why, hint }) => {
                return Err(EngineError::Unusable {
                    address: Shown::new(&candidate.address),
                    why: Shown::new(&format!("{why} (set by {})", candidate.named_by)),
                    hint: Shown::new(hint),
                });
            }
        }
        if candidate.only {
            break;
        }
    }
    Err(match forbidden {
        Some(address) => EngineError::Forbidden { address },
        None => EngineError::Missing { looked },
    })
}

enum Closed {
    Forbidden,
    Absent(String),
    Unusable { why: &'static str, hint: &'static str },
}

/// What to do about an address over SSH.
const OVER_SSH: &str = "forward the engine's socket and name that: `ssh -nNT -L \"$XDG_RUNTIME_DIR/engine.sock:/var/run/docker.sock\" USER@HOST`, then `DOCKER_HOST=unix://$XDG_RUNTIME_DIR/engine.sock`; folders of this machine are not there";
/// What to do about an address with TLS.
const OVER_TLS: &str = "forward the engine's socket with `ssh -L` and set DOCKER_HOST to the forwarded one (unix://…), or use an engine on this machine";

async fn open(address: &str, patience: Duration) -> Result<Found, Closed> {
    let absent = |why: &dyn std::fmt::Display| Closed::Absent(why.to_string());
    let silent = || Closed::Absent("no answer in 10 s".to_owned());
    if let Some(path) = address.strip_prefix("unix://") {
        // asked of the socket itself, so that "not there" and "not allowed" are told apart
        let stream = match UnixStream::connect(path).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(Closed::Forbidden);
            }
            Err(error) => return Err(absent(&error)),
        };
        let greeting = tokio::time::timeout(GREETING, greet(stream)).await;
        let greeting = greeting.map_err(|_| silent())?.map_err(|e| absent(&e))?;
        let api = Docker::connect_with_unix(path, patience.as_secs(), &greeting.version());
        let api = api.map_err(|e| absent(&e))?;
        return Ok(Found { api, address: address.to_owned(), podman: greeting.podman.then(|| path.into()) });
    }
    if let Some(host) = address.strip_prefix("tcp://").or_else(|| address.strip_prefix("http://")) {
        if variable("DOCKER_TLS_VERIFY").is_some() || variable("DOCKER_TLS").is_some() {
            return Err(Closed::Unusable {
                why: "DOCKER_TLS_VERIFY asks for TLS, which Pinfold does not speak with an engine",
                hint: OVER_TLS,
            });
        }
        let host = host.trim_end_matches('/');
        // the port that the docker client takes where none is given
        let host = if host.rsplit(']').next().is_some_and(|end| end.contains(':')) {
            host.to_owned()
        } else {
            format!("{host}:2375")
        };
        let talk = async { greet(TcpStream::connect(&host).await?).await };
        let greeting = tokio::time::timeout(GREETING, talk).await;
        let greeting = greeting.map_err(|_| silent())?.map_err(|e| absent(&e))?;
        if greeting.podman {
            return Err(Closed::Unusable {
                why: "it is Podman, which is given files of its own machine for each cage, and this may be another",
                hint: "set DOCKER_HOST to Podman's unix socket on this machine, such as unix://$XDG_RUNTIME_DIR/podman/podman.sock",
            });
        }
        let at = format!("tcp://{host}");
        let api = Docker::connect_with_http(&at, patience.as_secs(), &greeting.version());
        return Ok(Found { api: api.map_err(|e| absent(&e))?, address: address.to_owned(), podman: None });
    }
    Err(match address.split_once("://").map(|(scheme, _)| scheme) {
        Some("ssh") => Closed::Unusable { why: "Pinfold does not speak SSH with an engine", hint: OVER_SSH },
        Some("https") => {
            Closed::Unusable { why: "Pinfold does not speak TLS with an engine", hint: OVER_TLS }
        }
        Some("npipe" | "fd") => Closed::Unusable {
            why: "it is no address of this kind of machine",
            hint: "set DOCKER_HOST to a unix:// or tcp:// address",
        },
        _ => Closed::Unusable {
            why: "it is no address of an engine",
            hint: "write unix:///PATH or tcp://HOST:PORT",
        },
    })
}

/// What an engine says to a ping.
#[derive(Debug, Default, PartialEq)]
struct Greeting {
    /// The newest version of Docker's API that it speaks.
    api: Option<(usize, usize)>,
    /// Whether it serves Podman's own API, too.
    podman: bool,
}

impl Greeting {
    /// The version of the API to speak: ours, or the engine's where that is older.
    fn version(&self) -> ClientVersion {
        let ours = (API_DEFAULT_VERSION.major_version, API_DEFAULT_VERSION.minor_version);
        let (major_version, minor_version) = self.api.unwrap_or(ours).min(ours);
        ClientVersion { major_version, minor_version }
    }

    /// Reads the headers of the answer, which every engine since 1.24 gives.
    fn read(answer: &str) -> Option<Self> {
        let mut lines = answer.lines();
        let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
        if status != "200" {
            return None;
        }
        let mut greeting = Self::default();
        for (name, value) in lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'))
        {
            let value = value.trim();
            if name.eq_ignore_ascii_case("api-version") {
                let version = value.split_once('.');
                greeting.api = version.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            }
            greeting.podman |= name.eq_ignore_ascii_case("libpod-api-version");
        }
        Some(greeting)
    }
}

/// Asks what speaks at the other end. Quicker than its version, for which engines start programs.
async fn greet(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<Greeting> {
    stream.write_all(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(GREETING_BYTES).read_to_end(&mut answer).await?;
    Greeting::read(&String::from_utf8_lossy(&answer))
        .ok_or_else(|| std::io::Error::other("what answers there is no container engine"))
}

fn candidates() -> Result<Vec<Candidate>, EngineError> {
    if let Some(address) = variable("DOCKER_HOST") {
        return Ok(vec![Candidate { address, named_by: "DOCKER_HOST".into(), only: true }]);
    }
    if let Some(settings) = settings()
        && let Some((name, named_by)) = chosen(&settings, variable("DOCKER_CONTEXT"))
    {
        let address = context(&settings, &name).map_err(|(why, hint)| EngineError::Unusable {
            address: Shown::new(&format!("docker context `{name}`")),
            why: Shown::new(&format!("{why} (set by {named_by})")),
            hint: Shown::new(hint),
        })?;
        let named_by = format!("docker context `{name}`, set by {named_by}");
        return Ok(vec![Candidate { address, named_by, only: true }]);
    }
    let usual =
        usual().map(|(address, named_by)| Candidate { address, named_by: named_by.into(), only: false });
    Ok(usual.collect())
}

/// The addresses of the usual places, desktop and rootless engines included, and whose they are.
fn usual() -> impl Iterator<Item = (String, &'static str)> {
    let mut paths: Vec<(PathBuf, &'static str)> = vec![("/var/run/docker.sock".into(), "Docker")];
    let run = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    // an editor's environment may lack the variable; this is where systemd puts it
    let run = run.unwrap_or_else(|| format!("/run/user/{}", rustix::process::getuid().as_raw()).into());
    paths.push((run.join("docker.sock"), "rootless Docker"));
    if let Some(home) = home() {
        paths.push((home.join(".docker/run/docker.sock"), "Docker Desktop"));
        paths.push((home.join(".docker/desktop/docker.sock"), "Docker Desktop"));
        paths.push((home.join(".colima/default/docker.sock"), "Colima"));
        paths.push((home.join(".config/colima/default/docker.sock"), "Colima"));
        paths.push((home.join(".orbstack/run/docker.sock"), "OrbStack"));
        paths.push((home.join(".rd/docker.sock"), "Rancher Desktop"));
        paths.push((home.join(".lima/docker/sock/docker.sock"), "Lima"));
    }
    paths.push((run.join("podman/podman.sock"), "rootless Podman"));
    paths.push(("/run/podman/podman.sock".into(), "Podman"));
    paths.push((run.join("podman/podman-machine-default-api.sock"), "podman machine"));
    if let Some(home) = home() {
        let machine = home.join(".local/share/containers/podman/machine");
        paths.push((machine.join("podman.sock"), "podman machine"));
        paths.push((machine.join("qemu/podman.sock"), "podman machine"));
    }
    paths.into_iter().map(|(path, named_by)| (format!("unix://{}", path.display()), named_by))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// The folder of the docker client's settings.
fn settings() -> Option<PathBuf> {
    variable("DOCKER_CONFIG").map(PathBuf::from).or_else(|| Some(home()?.join(".docker")))
}

/// The sockets among the places where an engine may be, and those of the usual places where another is set.
pub(super) fn sockets() -> Vec<PathBuf> {
    let set = candidates().unwrap_or_default().into_iter().map(|candidate| candidate.address);
    let all = set.chain(usual().map(|(path, _)| path));
    all.filter_map(|address| address.strip_prefix("unix://").map(PathBuf::from)).collect()
}

/// The places looked at for an engine, each with whose it is: what the user set, or the usual ones.
pub(super) fn places() -> Vec<(String, String)> {
    let all = candidates().unwrap_or_default().into_iter();
    all.map(|candidate| (candidate.address, candidate.named_by)).collect()
}

/// The docker client's context, if one is set, and by what; none for the context `default`.
fn chosen(settings: &Path, variable: Option<String>) -> Option<(String, &'static str)> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(rename = "currentContext")]
        current: Option<String>,
    }
    let current = || {
        let config = read_plain(&settings.join("config.json"), SETTINGS_BYTES).ok()?;
        serde_json::from_slice::<Config>(&config).ok()?.current
    };
    let name = variable.map(|name| (name, "DOCKER_CONTEXT"));
    let name = name.or_else(|| Some((current()?, "the docker client's config.json")))?;
    (name.0 != "default" && !name.0.is_empty()).then_some(name)
}

/// The endpoint of a context of the docker client's; why there is none, and what to do.
///
/// Source: the docker client keeps a context's metadata under the SHA-256 of its name, and its certificates under the
/// same name in another folder.
fn context(settings: &Path, name: &str) -> Result<String, (String, &'static str)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Meta {
        endpoints: Endpoints,
    }
    #[derive(Deserialize)]
    struct Endpoints {
        docker: Endpoint,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Endpoint {
        host: String,
    }
    let folder = crate::digest::Digest::of(name.as_bytes()).hex();
    let contexts = settings.join("contexts");
    if contexts.join("tls").join(&folder).exists() {
        return Err((
            "it has certificates for TLS, which Pinfold does not speak with an engine".into(),
            OVER_TLS,
        ));
    }
    let path = contexts.join("meta").join(folder).join("meta.json");
    let unread = |why: &dyn std::fmt::Display| {
        let hint = "`docker context ls` lists those there are; `docker context use NAME` chooses one, and DOCKER_HOST goes before any";
        (format!("{}: {why}", path.display()), hint)
    };
    let meta = read_plain(&path, SETTINGS_BYTES).map_err(|error| unread(&error))?;
    let meta: Meta = serde_json::from_slice(&meta).map_err(|error| unread(&error))?;
    Ok(meta.endpoints.docker.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_a_ping_tell_podman_from_docker() {
        let docker = "HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n\r\nOK";
        let podman = "HTTP/1.0 200 OK\r\napi-version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n\r\nOK";
        assert_eq!(Greeting::read(docker), Some(Greeting { api: Some((1, 41)), podman: false }));
        assert_eq!(Greeting::read(podman), Some(Greeting { api: Some((1, 41)), podman: true }));
        for other in ["", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 404 Not Found\r\n\r\n"] {
            assert_eq!(Greeting::read(other), None, "{other}");
        }
        // a body is no header
        let said = Greeting::read("HTTP/1.0 200 OK\r\n\r\nLibpod-Api-Version: 1").unwrap();
        assert!(!said.podman);
    }

    #[test]
    fn the_older_version_of_two_is_spoken() {
        let version = |api| {
            let version = Greeting { api, podman: false }.version();
            (version.major_version, version.minor_version)
        };
        let ours = (API_DEFAULT_VERSION.major_version, API_DEFAULT_VERSION.minor_version);
        assert_eq!(version(Some((1, 41))), (1, 41));
        assert_eq!(version(Some((9, 0))), ours);
        assert_eq!(version(None), ours);
    }

    /// A folder of the docker client's settings with one context.
    fn settings(name: &str, meta: &str) -> tempfile::TempDir {
        let settings = tempfile::tempdir().unwrap();
        let folder = crate::digest::Digest::of(name.as_bytes()).hex();
        let meta_folder = settings.path().join("contexts/meta").join(folder);
        std::fs::create_dir_all(&meta_folder).unwrap();
        std::fs::write(meta_folder.join("meta.json"), meta).unwrap();
        let config = format!("{{\"currentContext\": \"{name}\"}}");
        std::fs::write(settings.path().join("config.json"), config).unwrap();
        settings
    }

    const COLIMA: &str = r#"{"Name": "colima", "Metadata": {}, "Endpoints": {"docker": {"Host": "unix:///home/u/.colima/default/docker.sock", "SkipTLSVerify": false}}}"#;

    #[test]
    fn a_context_leads_to_its_endpoint_and_the_variable_goes_before_the_file() {
        let settings = settings("colima", COLIMA);
        let (name, by) = chosen(settings.path(), None).unwrap();
        assert_eq!((name.as_str(), by), ("colima", "the docker client's config.json"));
        assert_eq!(context(settings.path(), &name).unwrap(), "unix:///home/u/.colima/default/docker.sock");
        assert_eq!(chosen(settings.path(), Some("other".into())).unwrap().0, "other");
        assert_eq!(chosen(settings.path(), Some("default".into())), None);
    }

    #[test]
    fn refuses_a_context_that_is_gone_or_has_certificates() {
        let settings = settings("colima", COLIMA);
        assert!(context(settings.path(), "gone").unwrap_err().0.contains("meta.json"));
        let folder = crate::digest::Digest::of(b"colima").hex();
        std::fs::create_dir_all(settings.path().join("contexts/tls").join(folder).join("docker")).unwrap();
        assert!(context(settings.path(), "colima").unwrap_err().0.contains("TLS"));
    }
}
