//! How does a test get an engine that it may kill, or fill to the brim?
//!
//! By starting one of its own beside the one everybody else uses: a dockerd with a containerd of its own, everything it
//! keeps on a file system in memory, no bridge and no firewall rules, since cages have no network. Pinfold is pointed at
//! it with DOCKER_HOST. The runtime image is carried over by the engines themselves; its labels, and so its stamp, come
//! along.
//!
//! Only root can do so, which `scripts/test` is on the machines it sets up; for anybody else these tests fail and say
//! why.
//!
//! Invariant: at the end of the value nothing of it runs and nothing of it is mounted, however its test ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::engine;
use crate::patience::{seconds, within};
use crate::pinfold::{self, Home};

/// Bytes of memory that its data may take: the runtime image, and what tests install.
const ROOM: u64 = 1 << 30;
/// How long either program may take to start or to end.
const MOVING: Duration = seconds(30);

/// A file system in memory, of a size of its own.
pub struct Tmpfs {
    at: PathBuf,
}

impl Tmpfs {
    /// Mounts one there, with so many bytes.
    pub fn mount(at: &Path, bytes: u64) -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "this test mounts a file system and starts an engine of its own, which only root can do"
        );
        fs::create_dir_all(at).unwrap();
        let options = format!("size={bytes},mode=0700");
        tool("mount", &["-t", "tmpfs", "-o", &options, "pinfold-test", &at.display().to_string()]);
        Self { at: at.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        let room = rustix::fs::statvfs(&self.at).unwrap();
        (room.f_blocks - room.f_bfree) * room.f_frsize
    }

    /// Leaves room for so many bytes more, from now on.
    pub fn leave(&self, bytes: u64) {
        let options = format!("remount,size={}", self.used() + bytes);
        tool("mount", &["-o", &options, &self.at.display().to_string()]);
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        unmount_all(&self.at);
    }
}

/// A Docker engine of a test's own.
pub struct SecondEngine {
    // ended in this order by `drop`, and the file systems after them
    docker: Option<Child>,
    containerd: Child,
    data: Tmpfs,
    directory: TempDir,
}

impl SecondEngine {
    /// Starts one, with the Node runtime image in it.
    pub fn start() -> Self {
        Self::with_settings("{}")
    }

    /// Starts one with these settings of the engine's.
    pub fn with_settings(settings: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-engine-").tempdir().unwrap();
        let data = Tmpfs::mount(&directory.path().join("data"), ROOM);
        let file = |name: &str| directory.path().join(name);
        fs::write(file("docker.json"), settings).unwrap();
        // its plugin for Kubernetes would look for networks
        fs::write(
            file("containerd.toml"),
            "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n",
        )
        .unwrap();
        let mut containerd = Command::new("containerd");
        containerd.arg("--config").arg(file("containerd.toml")).arg("--address").arg(file("containerd.sock"));
        containerd.arg("--root").arg(file("data/containerd")).arg("--state").arg(file("containerd"));
        let containerd = background(containerd, &file("containerd.log"));
        let mut engine = Self { docker: None, containerd, data, directory };
        engine.again();
        let image = pinfold::runtime_image();
        engine::carry(&image, &engine.address());
        engine
    }

    /// What DOCKER_HOST says to reach it.
    pub fn address(&self) -> String {
        format!("unix://{}", self.file("docker.sock").display())
    }

    /// The file system of everything it keeps.
    pub fn data(&self) -> &Tmpfs {
        &self.data
    }

    /// A home whose commands use it.
    pub fn home(&self) -> Home {
        Home::new().with_engine(&self.address())
    }

    /// What the engine says of itself to these questions.
    pub fn ask<T>(&self, questions: impl FnOnce() -> T) -> T {
        engine::at(&self.address(), questions)
    }

    /// Kills it on the spot, as the kernel does when memory runs out. Containerd stays, as where it is a service of its
    /// own.
    pub fn kill(&mut self) {
        let mut docker = self.docker.take().unwrap();
        docker.kill().unwrap();
        docker.wait().unwrap();
    }

    /// Stops it in good order, as a machine does that shuts down.
    pub fn stop(&mut self) {
        end(&mut self.docker.take().unwrap());
    }

    /// Starts it, for the first time or again.
    pub fn again(&mut self) {
        let mut docker = Command::new("dockerd");
        docker.arg("--config-file").arg(self.file("docker.json"));
        docker.arg("--containerd").arg(self.file("containerd.sock"));
        docker.arg("--data-root").arg(self.file("data/docker")).arg("--exec-root").arg(self.file("exec"));
        docker.arg("--pidfile").arg(self.file("docker.pid")).arg("--host").arg(self.address());
        docker.args(["--bridge=none", "--iptables=false", "--ip-forward=false", "--storage-driver=overlay2"]);
        // archives on their way in are not what is to fill its disk
        docker.env("DOCKER_TMPDIR", self.file("on-the-way"));
        // the one that was killed left its file behind, and its number may be somebody else's by now
        let _ = fs::remove_file(self.file("docker.pid"));
        self.docker = Some(background(docker, &self.file("docker.log")));
        within(MOVING, "a second engine answers", || {
            self.is_alive();
            self.file("docker.sock")
                .exists()
                .then(|| engine::answers(&self.address()).then_some(()))
                .flatten()
        });
    }

    fn is_alive(&mut self) {
        let log = |name: &str| fs::read_to_string(self.directory.path().join(name)).unwrap_or_default();
        for (child, name) in
            [(self.docker.as_mut(), "docker.log"), (Some(&mut self.containerd), "containerd.log")]
        {
            if let Some(status) = child.and_then(|child| child.try_wait().unwrap()) {
                panic!("a second engine cannot be started ({status}):\n{}", log(name));
            }
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for SecondEngine {
    fn drop(&mut self) {
        if let Some(docker) = &mut self.docker {
            end(docker);
        }
        // what runs a container outlives the engine that asked for it, where that was killed
        for pid in shims_of(&self.file("containerd.sock")) {
            let _ = kill_process(pid, Signal::KILL);
        }
        end(&mut self.containerd);
        unmount_all(self.directory.path());
    }
}

pub fn background(mut command: Command, log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap_or_else(|error| {
        panic!("{program} is needed for an engine of a test's own and cannot be started: {error}")
    })
}

pub fn end(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let begun = std::time::Instant::now();
    while begun.elapsed() < MOVING && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The processes that run containers for the containerd with this socket: its address is an argument of theirs.
fn shims_of(socket: &Path) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let theirs = numbers.filter(|number| {
        let words = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"containerd-shim-runc-v2"))
            && words.any(|word| word == socket.as_os_str().as_encoded_bytes())
    });
    theirs.filter_map(Pid::from_raw).collect()
}

/// Unmounts everything at this place and under it, the last first. Source: the fifth field of proc_pid_mountinfo(5).
pub fn unmount_all(at: &Path) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let mut places: Vec<&str> = places.filter(|place| Path::new(place).starts_with(at)).collect();
    places.reverse();
    for place in places {
        // detached: a process that is just ending may still be in there
        let _ = Command::new("umount").args(["--lazy", place]).status();
    }
}

fn tool(program: &str, words: &[&str]) {
    let ran = Command::new(program).args(words).output().unwrap();
    assert!(ran.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
