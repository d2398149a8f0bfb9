//! How is there a database on this machine?
//!
//! A PostgreSQL of Debian's packages in a directory of the test's own, on a port of its own on loopback, with a role that
//! has a password. It runs as its own user, since it refuses to run as root, and ends with the value.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::patience::{seconds, within};

/// The password of the role `reader`.
pub const PASSWORD: &str = "p@ss/word:with#marks";

/// A running database.
pub struct Postgres {
    _directory: TempDir,
    server: Child,
    /// The port it listens on, on 127.0.0.1 and ::1 as far as there is one.
    pub port: u16,
}

/// Where Debian puts the programs of the newest version it has.
fn programs() -> PathBuf {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .expect("postgresql is installed (scripts/test installs it)")
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    versions.sort();
    versions.pop().unwrap()
}

/// A program of PostgreSQL's, as a user it agrees to run as.
fn as_postgres(program: &Path) -> Command {
    if rustix::process::geteuid().is_root() {
        // becomes the program, so that a signal to it is one to the program
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

fn done(mut command: Command) {
    let output = command.current_dir("/").output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Postgres {
    /// Starts one with a table `animal` of two rows.
    pub fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-postgres-").tempdir().unwrap();
        let mut open = Command::new("chmod");
        open.arg("0777").arg(directory.path());
        done(open);
        let (bin, data) = (programs(), directory.path().join("data"));
        let mut initdb = as_postgres(&bin.join("initdb"));
        initdb.args(["--auth=scram-sha-256", "--auth-local=trust", "--username=owner", "--no-sync", "-D"]);
        initdb.arg(&data);
        // a first password is asked for where hosts have to give one
        let word = directory.path().join("word");
        std::fs::write(&word, "owner\n").unwrap();
        done({
            initdb.arg(format!("--pwfile={}", word.display()));
            initdb
        });
        let port = free_port();
        let mut server = as_postgres(&bin.join("postgres"));
        server.arg("-D").arg(&data).args(["-h", "localhost", "-F", "-k"]).arg(directory.path());
        server.args(["-p", &port.to_string()]).current_dir("/");
        let server = server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut started = Self { _directory: directory, server, port };
        let sql = format!(
            "CREATE TABLE animal (name text, legs int); INSERT INTO animal VALUES ('cow', 4), ('hen', 2); \
             CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; GRANT SELECT ON animal TO reader;"
        );
        within(seconds(30), "the database answers", || {
            let mut psql = Command::new(bin.join("psql"));
            psql.arg("-h").arg(started._directory.path()).args(["-p", &port.to_string(), "-U", "owner"]);
            psql.args(["-d", "postgres", "-v", "ON_ERROR_STOP=1", "-1", "-c", &sql]).current_dir("/");
            assert!(started.server.try_wait().unwrap().is_none(), "the database ended");
            psql.output().unwrap().status.success().then_some(())
        });
        started
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // PostgreSQL's fast shutdown: its own children end with it
        let pid = rustix::process::Pid::from_child(&self.server);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.server.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
