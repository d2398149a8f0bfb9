//! Do the servers that people have work, with the folder, the key or the host that they need?
//!
//! Each is mounted, compared with itself without a cage (the opener's answer, every list, one call's result, to the
//! byte), and unmounted, after which nothing of it is left. What the cage holds back is tried too.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::bare::{Bare, Folder};
use crate::mounted::{Server, mount};
use crate::pinfold::{Home, run};
use crate::postgres::{PASSWORD, Postgres};
use crate::session::Session;
use crate::{engine, tests};

tests![
    the_filesystem_server_reads_its_folder,
    the_filesystem_server_writes_into_its_folder,
    the_time_server,
    the_git_server,
    the_calculator_server,
    the_fetch_server,
    the_excel_server,
    the_memory_server_remembers,
    the_postgres_server,
    the_github_server,
    the_notion_server,
    a_server_of_both_eras,
    a_server_that_crashes_with_todays_tree,
];

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

/// A server in a home of its own, and itself without a cage.
struct Tried {
    home: Home,
    server: Server,
    env: Vec<(&'static str, String)>,
}

/// What is compared of one session.
#[derive(Debug, PartialEq)]
struct Seen {
    opened: Value,
    lists: Vec<Vec<Value>>,
    call: String,
}

impl Tried {
    fn mount(spec: &str, options: &[&str]) -> Self {
        Self::with(spec, options, Vec::new())
    }

    fn with(spec: &str, options: &[&str], env: Vec<(&'static str, String)>) -> Self {
        let home = Home::new();
        let server = mount(&home, spec, options);
        Self { home, server, env }
    }

    fn caged(&self) -> Command {
        let mut command = self.home.command(["run", &self.server.name]);
        command.envs(self.env.clone());
        command
    }

    fn see(command: Command, tool: &str, arguments: &Value) -> Seen {
        let (mut session, opened) = Session::handshake(command, json!({}));
        let lists = LISTS.map(|(method, member)| session.list(method, member)).to_vec();
        let id = session.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let call = session.answer_line(id);
        session.finish();
        Seen { opened, lists, call }
    }

    /// Holds the caged server against the bare one; the result of the call.
    fn is_the_same(&self, arguments: &[&str], tool: &str, input: &Value) -> Value {
        let bare = Bare::of(&self.home, &self.server.name);
        let mut command = bare.command(arguments);
        command.envs(self.env.clone());
        // a folder of another user's is git's to doubt
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory");
        command.env("GIT_CONFIG_VALUE_0", "*");
        let bare = Self::see(command, tool, input);
        assert!(bare.lists.iter().any(|list| !list.is_empty()), "the bare server offers nothing");
        let caged = Self::see(self.caged(), tool, input);
        assert_eq!(bare, caged);
        let mut message: Value = serde_json::from_str(&caged.call).unwrap();
        message["result"].take()
    }

    /// One call's result, as the caged server gives it.
    fn call(&self, tool: &str, arguments: Value) -> Value {
        let (mut session, _) = Session::handshake(self.caged(), json!({}));
        let result = session.call(tool, arguments);
        session.finish();
        result
    }

    /// Unmounts it; nothing is left.
    fn goes(self) {
        self.home.run(["unmount", "--remove-data", &self.server.name]).ended(0);
        assert!(!engine::sealed(&self.server.tree).contains(&self.server.image), "its image is left");
        assert_eq!(self.home.run(["--json", "list"]).ended(0).json()["servers"], json!([]));
        let state = self.home.state().unwrap();
        assert!(engine::containers(&state).is_empty(), "a container is left");
        assert!(engine::volumes(&state).is_empty(), "a volume is left");
    }
}

fn worked(result: &Value) {
    assert!(result["content"].is_array() && result["isError"] != true, "{result}");
}

fn failed(result: &Value) {
    assert!(result["isError"] == true, "{result}");
}

const FILESYSTEM: &str = "npm:@modelcontextprotocol/server-filesystem";

fn the_filesystem_server_reads_its_folder() {
    let folder = Folder::new();
    let path = folder.text();
    let note = format!("{path}/note.txt");
    std::fs::write(&note, "hay").unwrap();
    folder.is_theirs();
    let tried = Tried::mount(FILESYSTEM, &["--mount", &path, "--", &path]);
    worked(&tried.is_the_same(&[&path], "read_text_file", &json!({"path": note})));
    // what is mounted to be read is read, and nothing is written
    failed(&tried.call("write_file", json!({"path": format!("{path}/new.txt"), "content": "x"})));
    assert!(!folder.path().join("new.txt").exists());
    failed(&tried.call("read_text_file", json!({"path": "/etc/hostname"})));
    tried.goes();
}

fn the_filesystem_server_writes_into_its_folder() {
    let folder = Folder::new();
    let path = folder.text();
    let file = format!("{path}/new.txt");
    let tried = Tried::mount(FILESYSTEM, &["--mount", &format!("{path}:rw"), "--", &path]);
    worked(&tried.is_the_same(&[&path], "write_file", &json!({"path": file, "content": "straw"})));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "straw");
    std::fs::remove_file(&file).unwrap();
    worked(&tried.call("write_file", json!({"path": file, "content": "caged"})));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "caged");
    tried.goes();
}

fn the_time_server() {
    let tried = Tried::mount(
        "pypi:mcp-server-time",
        &["--python", "3.11", "--", "--local-timezone=America/New_York"],
    );
    let asked = json!({"source_timezone": "Europe/Warsaw", "time": "12:30", "target_timezone": "Asia/Tokyo"});
    let result = tried.is_the_same(&["--local-timezone=America/New_York"], "convert_time", &asked);
    worked(&result);
    assert!(result.to_string().contains("19:30") || result.to_string().contains("20:30"), "{result}");
    tried.goes();
}

fn the_git_server() {
    let folder = Folder::new();
    let path = folder.text();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "-c", "user.name=A", "-c", "user.email=a@example.com"]);
        git.args(["-C", &path]).args(words);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "a.txt"]);
    git(&["commit", "--quiet", "--message=first"]);
    std::fs::write(folder.path().join("a.txt"), "two\n").unwrap();
    folder.is_theirs();
    let tried = Tried::mount(
        "pypi:mcp-server-git",
        &["--python", "3.11", "--mount", &format!("{path}:rw"), "--", "--repository", &path],
    );
    let arguments = ["--repository", path.as_str()];
    let result = tried.is_the_same(&arguments, "git_diff_unstaged", &json!({"repo_path": path}));
    worked(&result);
    assert!(result.to_string().contains("+two"), "{result}");
    worked(&tried.call("git_add", json!({"repo_path": path, "files": ["a.txt"]})));
    worked(&tried.call("git_create_branch", json!({"repo_path": path, "branch_name": "caged"})));
    tried.goes();
}

fn the_calculator_server() {
    let tried = Tried::mount("pypi:mcp-server-calculator", &["--python", "3.11"]);
    let result = tried.is_the_same(&[], "calculate", &json!({"expression": "2+3*4"}));
    assert_eq!(result["content"][0]["text"], "14");
    tried.goes();
}

/// A page on loopback, served until the test ends; its port.
fn page() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = stream;
                let mut asked = [0; 4096];
                let read = stream.read(&mut asked).unwrap_or(0);
                let (status, body) = match String::from_utf8_lossy(&asked[..read]).contains(" /robots.txt ") {
                    true => ("404 Not Found", String::new()),
                    false => ("200 OK", "hay, straw and a cow in the pinfold".to_owned()),
                };
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    port
}

fn the_fetch_server() {
    let port = page();
    let place = format!("localhost:{port}");
    let url = json!({"url": format!("http://{place}/hay.txt")});
    // its own guard takes the cage's addresses for this machine's; the launcher's guard judges the real ones
    let own = ["--allow-private-ips"];
    let options = ["--python", "3.11", "--egress", "public", "--egress-private", &place, "--"];
    let tried = Tried::mount("pypi:mcp-server-fetch", &[&options[..], &own].concat());
    let result = tried.is_the_same(&own, "fetch", &url);
    worked(&result);
    assert!(result.to_string().contains("a cow in the pinfold"), "{result}");
    tried.goes();

    let held =
        Tried::mount("pypi:mcp-server-fetch", &["--python", "3.11", "--egress", "public", "--", own[0]]);
    failed(&held.call("fetch", url.clone()));
    held.goes();
}

fn the_excel_server() {
    let folder = Folder::new();
    let path = folder.text();
    let tried = Tried::mount(
        "pypi:excel-mcp-server",
        &["--python", "3.11", "--mount", &format!("{path}:rw"), "--", "stdio"],
    );
    let book = format!("{path}/herd.xlsx");
    worked(&tried.call("create_workbook", json!({"path": book})));
    assert!(folder.path().join("herd.xlsx").is_file());
    worked(&tried.is_the_same(&["stdio"], "describe_workbook", &json!({"path": book})));
    tried.goes();
}

fn the_memory_server_remembers() {
    let spec = "npm:@modelcontextprotocol/server-memory";
    let file = "MEMORY_FILE_PATH=/home/cage/memory.jsonl";
    let tried = Tried::mount(spec, &["--persist", "--env", file]);
    worked(&tried.is_the_same(&[], "read_graph", &json!({})));
    let cow = json!({"entities": [{"name": "cow", "entityType": "animal", "observations": ["has 4 legs"]}]});
    worked(&tried.call("create_entities", cow));
    // another cage: what it knows is what was kept
    let graph = tried.call("read_graph", json!({}));
    assert!(graph.to_string().contains("has 4 legs"), "{graph}");
    tried.goes();
}

fn the_postgres_server() {
    let database = Postgres::start();
    let place = format!("localhost:{}", database.port);
    let encoded: String = url::form_urlencoded::byte_serialize(PASSWORD.as_bytes()).collect();
    let url = |word: &str| format!("postgresql://reader:{word}@{place}/postgres");
    let tried = Tried::with(
        "npm:@modelcontextprotocol/server-postgres",
        &["--egress-private", &place, "--env", "DB_WORD", "--", &url("{secret:DB_WORD}")],
        vec![("DB_WORD", encoded.clone())],
    );
    let asked = json!({"sql": "SELECT name, legs FROM animal ORDER BY name"});
    let result = tried.is_the_same(&[&url(&encoded)], "query", &asked);
    worked(&result);
    assert!(result.to_string().contains("hen"), "{result}");
    let command_lines = Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
    assert!(!String::from_utf8_lossy(&command_lines).contains(&encoded), "the password is in a command line");
    tried.goes();
}

fn the_github_server() {
    let key = vec![("GITHUB_PERSONAL_ACCESS_TOKEN", "ghp_made_up_for_a_test".to_owned())];
    let options = ["--env", "GITHUB_PERSONAL_ACCESS_TOKEN"];
    let tried = Tried::with("npm:@modelcontextprotocol/server-github", &options, key);
    // it checks what it is asked before it asks anybody
    let result = Tried::see(tried.caged(), "search_repositories", &json!({}));
    let bare = Bare::of(&tried.home, &tried.server.name);
    let mut command = bare.command(&[]);
    command.envs(tried.env.clone());
    assert_eq!(Tried::see(command, "search_repositories", &json!({})), result);
    assert!(result.lists[0].len() > 20);
    tried.goes();
}

fn the_notion_server() {
    let key = vec![("NOTION_TOKEN", "ntn_made_up_for_a_test".to_owned())];
    let tried = Tried::with("npm:@notionhq/notion-mcp-server", &["--env", "NOTION_TOKEN"], key);
    let bare = Bare::of(&tried.home, &tried.server.name);
    let mut command = bare.command(&[]);
    command.envs(tried.env.clone());
    let none = json!({});
    let bare = Tried::see(command, "no-such-tool", &none);
    assert!(bare.lists[0].len() > 10);
    assert_eq!(bare, Tried::see(tried.caged(), "no-such-tool", &none));
    tried.goes();
}

fn a_server_of_both_eras() {
    let tried = Tried::mount("pypi:mcp-server-time", &[]);
    let bare = Bare::of(&tried.home, &tried.server.name);
    let asked = json!({"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"});
    let see = |command: Command, stateless: bool| {
        let (mut session, opened) = match stateless {
            true => Session::stateless(command, json!({})),
            false => Session::handshake(command, json!({})),
        };
        let seen = (opened, session.list("tools/list", "tools"), session.call("convert_time", asked.clone()));
        session.finish();
        seen
    };
    for stateless in [false, true] {
        let caged = see(tried.caged(), stateless);
        assert_eq!(see(bare.command(&[]), stateless), caged, "stateless: {stateless}");
        worked(&caged.2);
    }
    tried.goes();
}

fn a_server_that_crashes_with_todays_tree() {
    let home = Home::new();
    let spec = "pypi:mcp-server-sqlite";
    let options = ["--", "--db-path", "/tmp/x.db"];
    let shown = home.run([&["--json", "show", spec], &options[..]].concat()).ended(0).json();
    let digest = shown["digest"].as_str().unwrap().to_owned();
    let mut mount = home.command([&["--json", "mount", spec, "--consent", &digest], &options[..]].concat());
    mount.env("NO_COLOR", "1");
    let ran = run(mount).failed(16, "server-failed");
    assert!(ran.stderr.contains("has no attribute 'list_resources'"), "its own last words: {ran}");
    assert_eq!(home.run(["--json", "list"]).ended(0).json()["servers"], json!([]));
    for tree in home.installed() {
        let state = home.state().unwrap();
        let left: Vec<_> = engine::sealed(&tree)
            .into_iter()
            .filter(|image| {
                engine::inspect_image(image)["Config"]["Labels"]["pinfold.state"] == state.as_str()
            })
            .collect();
        assert!(left.is_empty(), "an image is left: {left:?}");
    }
    assert!(engine::containers(&home.state().unwrap()).is_empty());
}
