//! Is a caged server the same server?
//!
//! Public servers of npm's, in the version that was pinned: one bare, installed by this host's npm and started with this
//! host's Node, one caged. The same client says the same to both and compares what comes back: the opener's answer,
//! every list with all its pages, and the line of one call's result, to the byte.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mounted::{self, Server};
use crate::patience::{seconds, within};
use crate::session::Session;
use crate::tests;

tests![everything_is_the_same_caged, memory_is_the_same_caged, sequential_thinking_is_the_same_caged,];

/// A package that this host's npm installed.
pub struct Bare {
    _directory: TempDir,
    program: String,
}

impl Bare {
    /// Installs it.
    pub fn install(package: &str, version: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-bare-").tempdir().unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(directory.path());
        let installed =
            npm.arg(format!("{package}@{version}")).current_dir(directory.path()).output().unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let folder = directory.path().join("node_modules").join(package);
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(folder.join("package.json")).unwrap()).unwrap();
        let bin = match &manifest["bin"] {
            Value::String(bin) => bin.clone(),
            bins => bins.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned(),
        };
        Self { _directory: directory, program: folder.join(bin).display().to_string() }
    }

    /// Starts it, with this host's Node.
    pub fn command(&self) -> Command {
        let mut command = Command::new("node");
        command.arg(&self.program);
        command
    }
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// Everything that is compared of one server.
#[derive(Debug, PartialEq)]
pub struct Seen {
    opened: Value,
    lists: Vec<(&'static str, Vec<Value>)>,
    /// The line that answered the call.
    pub call: String,
}

/// Opens a session, lists everything and makes one call.
pub fn see(
    command: Command,
    capabilities: &Value,
    tool: &str,
    arguments: &Value,
    tools: Option<usize>,
) -> Seen {
    let (mut session, opened) = Session::handshake(command, capabilities.clone());
    if let Some(count) = tools {
        // some register tools only after the client's word that it is ready
        within(seconds(15), &format!("{count} tools are listed"), || {
            (session.list("tools/list", "tools").len() == count).then_some(())
        });
    }
    let lists = LISTS.map(|(method, member)| (method, session.list(method, member))).to_vec();
    session.send(&json!({"jsonrpc": "2.0", "id": "the call", "method": "tools/call", "params": {"name": tool, "arguments": arguments}}));
    let call = loop {
        let line = session.line(seconds(30)).unwrap();
        if line.contains("\"the call\"") {
            break line;
        }
    };
    Seen { opened, lists, call }
}

fn the_same(server: &Server, package: &str, tool: &str, arguments: &Value) {
    let bare = Bare::install(package, &server.version);
    for capabilities in
        [json!({}), json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}})]
    {
        let (mut settling, _) = Session::handshake(bare.command(), capabilities.clone());
        let mut count = settling.list("tools/list", "tools").len();
        // as many as there are when two looks in a row agree
        within(seconds(15), "the bare server's tools stop changing", || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let now = settling.list("tools/list", "tools").len();
            (std::mem::replace(&mut count, now) == now).then_some(())
        });
        assert!(count > 0, "the bare server offers no tool");
        let bare = see(bare.command(), &capabilities, tool, arguments, Some(count));
        let caged = see(server.command(), &capabilities, tool, arguments, Some(count));
        assert_eq!(bare, caged, "to a client with {capabilities}");
        let message: Value = serde_json::from_str(&caged.call).unwrap();
        assert!(
            message["result"]["content"].is_array() && message["result"]["isError"] != true,
            "{}",
            caged.call
        );
    }
}

fn everything_is_the_same_caged() {
    let package = "@modelcontextprotocol/server-everything";
    let server = mounted::public("everything", package);
    the_same(&server, package, "echo", &json!({"message": "¡hola! \u{1f980} \"quoted\" \\ 1e5"}));
}

fn memory_is_the_same_caged() {
    let package = "@modelcontextprotocol/server-memory";
    the_same(&mounted::public("memory", package), package, "read_graph", &json!({}));
}

fn sequential_thinking_is_the_same_caged() {
    let package = "@modelcontextprotocol/server-sequential-thinking";
    let thought =
        json!({"thought": "one", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 2});
    the_same(&mounted::public("sequential-thinking", package), package, "sequentialthinking", &thought);
}
