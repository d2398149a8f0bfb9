//! What is the same server without a cage?
//!
//! For calls: the very bytes of the sealed image, interpreter included, copied out and started on the host, so that
//! only the cage and the way through it differ. For starts: `npx -y` of the same version, its cache warm, with the
//! host's own Node and, since versions of Node start at different speeds, with the image's; `uvx` of the same version
//! for a Python package.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pinfold::plan::SERVER_DIR;

use crate::Outcome;
use crate::client::Session;
use crate::engine::Engine;
use crate::mounts::{Mounted, Mounts};

/// The copied servers and the ways to start them.
pub struct Bare {
    node: PathBuf,
    everything: PathBuf,
    big: PathBuf,
    work: PathBuf,
    npx: PathBuf,
    /// There is an npx on this machine, and so a Node.
    on_host: bool,
    package: String,
}

/// A program that this host has.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Whose Node npx runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// What a user of this machine gets.
    Host,
    /// The one that is in the cage.
    Image,
}

impl Bare {
    /// Copies the servers out of their images.
    pub fn copy(work: &Path, engine: &Engine, mounts: &Mounts) -> Outcome<Self> {
        let node_at = "/usr/local/bin/node";
        let dir = |name: &str| -> Outcome<PathBuf> {
            let dir = work.join("bare").join(name);
            fs::create_dir_all(&dir)?;
            Ok(dir)
        };
        let (bin, everything, big, work) = (dir("bin")?, dir("everything")?, dir("big")?, dir("cwd")?);
        let image = mounts.everything.image();
        engine.copy(image, &[node_at], &bin)?;
        engine.copy(image, &[SERVER_DIR], &everything)?;
        engine.copy(mounts.big.image(), &[SERVER_DIR], &big)?;
        let host = on_path("npx");
        let npx = match &host {
            Some(npx) => npx.clone(),
            // then the image's own; it needs nothing of the host's
            None => {
                engine.copy(image, &["/usr/local/lib/node_modules/npm"], &bin)?;
                bin.join("npm/bin/npx-cli.js")
            }
        };
        let package = mounts.everything.release();
        Ok(Self { node: bin.join("node"), everything, big, work, npx, on_host: host.is_some(), package })
    }

    /// Which Node is on which side.
    pub fn versions(&self) -> Outcome<String> {
        let version = |node: &Path| -> Outcome<String> {
            let told = Command::new(node).arg("--version").output()?;
            Ok(String::from_utf8_lossy(&told.stdout).trim().to_owned())
        };
        let image = version(&self.node)?;
        // there need not be one
        let host = version(Path::new("node")).unwrap_or_else(|_| "none".into());
        Ok(format!("{image} in the cage and for its bare twin, {host} on the host"))
    }

    /// The npm package's server without a cage.
    pub fn everything(&self, mounts: &Mounts) -> Command {
        self.start(&mounts.everything, &self.everything)
    }

    /// The server of large results without a cage.
    pub fn big(&self, mounts: &Mounts) -> Command {
        self.start(&mounts.big, &self.big)
    }

    fn start(&self, server: &Mounted, tree: &Path) -> Command {
        let tree = tree.join(SERVER_DIR.rsplit('/').next().unwrap_or_default());
        let mut command = Command::new(&self.node);
        for argument in server.argv().iter().skip(1) {
            match argument.strip_prefix(SERVER_DIR) {
                Some(inside) => command.arg(format!("{}{inside}", tree.display())),
                None => command.arg(argument),
            };
        }
        command.current_dir(tree);
        command
    }

    /// `npx -y` of the package; none for the host's Node if there is none.
    pub fn npx(&self, node: Node) -> Option<Command> {
        if node == Node::Host && !self.on_host {
            return None;
        }
        let mut command = Command::new(&self.npx);
        command.args(["-y", &self.package]).current_dir(&self.work);
        if node == Node::Image {
            // npx is a script that asks the PATH for its interpreter, as do the servers it starts
            let own = env::var_os("PATH").unwrap_or_default();
            let dirs = self.node.parent().map(Path::to_owned).into_iter().chain(env::split_paths(&own));
            command.env("PATH", env::join_paths(dirs).ok()?);
        }
        Some(command)
    }

    /// `uvx` of the Python package, on the Python it chooses on this host; none if there is no uvx.
    pub fn uvx(&self, mounts: &Mounts) -> Option<Command> {
        let mut command = Command::new(on_path("uvx")?);
        command.arg(mounts.python.release()).current_dir(&self.work);
        Some(command)
    }

    /// Fills npx's cache.
    pub fn warm(&self, mounts: &Mounts) -> Outcome<()> {
        let nodes = [Node::Host, Node::Image, Node::Host, Node::Image];
        for command in nodes.into_iter().filter_map(|node| self.npx(node)) {
            let mut session = Session::spawn(command, mounts.work())?;
            session.initialize()?;
            session.kill()?;
        }
        Ok(())
    }
}
