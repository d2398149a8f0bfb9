//! Is a filesystem server that is given a folder the same server?
//!
//! The reference one, bare as the folder's owner and caged with the folder mounted: the same lists, and the same answers
//! to the byte, wherever the bare one does what was agreed to.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::folders::Folder;
use crate::mounted::{self, Server};
use crate::pinfold::Home;
use crate::servers::{Bare, see};
use crate::tests;

tests![
    a_folder_to_be_read_is_the_same_caged_and_is_not_written,
    a_folder_to_be_written_is_the_same_caged,
    a_folder_that_is_not_mounted_is_told_on_the_card_and_where_the_server_fails,
];

const PACKAGE: &str = "@modelcontextprotocol/server-filesystem";

/// The bare server, as the folder's owner.
fn bare(installed: &Bare, folder: &Folder) -> Command {
    let mut command = installed.command();
    command.arg(folder.path()).current_dir("/");
    // nothing changes where it is the owner that runs these tests
    command.uid(folder.owner()).gid(folder.owner());
    command
}

/// One call of each, and that they answer the same; the answer.
#[track_caller]
fn the_same(server: &Server, installed: &Bare, folder: &Folder, tool: &str, arguments: Value) -> Value {
    let capabilities = json!({});
    let caged = see(server.command(), &capabilities, tool, &arguments, None);
    let bare = see(bare(installed, folder), &capabilities, tool, &arguments, None);
    assert_eq!(bare, caged, "{tool}");
    let answer: Value = serde_json::from_str(&caged.call).unwrap();
    assert_ne!(answer["result"]["isError"], true, "{tool}: {answer}");
    answer
}

fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn a_folder_to_be_read_is_the_same_caged_and_is_not_written() {
    let folder = Folder::new();
    folder.write("notes/first.md", "¡hola!\nsecond line\n");
    folder.write("notes/deep/er/x.json", "{}");
    let path = folder.path().display().to_string();
    let server = mounted::public_with("files-read", PACKAGE, &["--mount", &path], &[&path]);
    let installed = Bare::install(PACKAGE, &server.version);
    let of = |tool: &str, arguments: Value| the_same(&server, &installed, &folder, tool, arguments);

    assert!(text(&of("list_allowed_directories", json!({}))).contains(&path));
    let read = of("read_text_file", json!({"path": folder.file("notes/first.md")}));
    assert_eq!(text(&read), "¡hola!\nsecond line\n");
    of("directory_tree", json!({"path": path}));
    of("search_files", json!({"path": path, "pattern": "**/*.json"}));
    of("get_file_info", json!({"path": folder.file("notes/first.md")}));

    let mut session = server.session();
    let answer = session.call("write_file", json!({"path": folder.file("new"), "content": "x"}));
    assert_eq!(answer["isError"], true, "{answer}");
    assert!(answer.to_string().contains("EROFS"), "{answer}");
    assert!(!folder.path().join("new").exists());
}

fn a_folder_to_be_written_is_the_same_caged() {
    let folder = Folder::new();
    folder.write("a.txt", "one two three\n");
    folder.write(".vscode/settings.json", "{}");
    let path = folder.path().display().to_string();
    let server = mounted::public_with("files-write", PACKAGE, &["--mount", &format!("{path}:rw")], &[&path]);
    let installed = Bare::install(PACKAGE, &server.version);
    let of = |tool: &str, arguments: Value| the_same(&server, &installed, &folder, tool, arguments);

    of("write_file", json!({"path": folder.file("b.txt"), "content": "written"}));
    let written = fs::metadata(folder.path().join("b.txt")).unwrap();
    assert_eq!((written.uid(), written.gid()), (folder.owner(), folder.owner()));
    of("create_directory", json!({"path": folder.file("sub/deep")}));
    of("list_directory_with_sizes", json!({"path": path}));

    let mut session = server.session();
    let edit = json!({"path": folder.file("a.txt"), "edits": [{"oldText": "two", "newText": "2"}]});
    assert_ne!(session.call("edit_file", edit)["isError"], true);
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "one 2 three\n");
    let moved = json!({"source": folder.file("b.txt"), "destination": folder.file("sub/c.txt")});
    assert_ne!(session.call("move_file", moved)["isError"], true);
    assert_eq!(fs::read_to_string(folder.path().join("sub/c.txt")).unwrap(), "written");
    let shut = json!({"path": folder.file(".vscode/settings.json"), "content": "evil"});
    assert_eq!(session.call("write_file", shut)["isError"], true);
    assert_eq!(fs::read_to_string(folder.path().join(".vscode/settings.json")).unwrap(), "{}");
}

fn a_folder_that_is_not_mounted_is_told_on_the_card_and_where_the_server_fails() {
    let (home, folder) = (Home::new(), Folder::new());
    let path = folder.path().display().to_string();
    // the commonest of all lines
    let line = format!("npx -y {PACKAGE} {path}");
    let shown = home.run(["--json", "show", &line]).ended(0).json();
    let told = format!("`{path}` is not in the cage; add `--mount {path}`");
    assert!(shown["notes"].to_string().contains(&told), "{shown}");
    let digest = shown["digest"].as_str().unwrap();
    let failed = home.run(["--json", "mount", &line, "--consent", digest]).failed(16, "server-failed");
    let hint = failed.error()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains(&format!("--mount {path} -- {path}`")), "{hint}");
    // what it says to type is right
    let command = hint.split('`').find_map(|code| code.strip_prefix("pinfold mount ")).unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let shown = home.run([&["--json", "show"], &words[..]].concat()).ended(0).json();
    assert!(!shown["notes"].to_string().contains("is not in the cage"), "{shown}");
    let digest = shown["digest"].as_str().unwrap();
    home.run([&["mount", "--consent", digest], &words[..]].concat()).ended(0);
    home.run(["unmount", "filesystem"]).ended(0);
}
