//! What index of Python packages do the tests install from?
//!
//! One on this machine, reached from the cages as `localhost`, that counts what is asked of it and can be told to fail
//! in the ways indexes do; and the wheels on it, made here, honest ones and others.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use serde_json::json;
use sha2::Digest as _;

use crate::pinfold::Home;

/// The index, for as long as the program runs.
pub struct Index {
    port: u16,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Default)]
struct Shelf {
    /// Project to its files.
    projects: BTreeMap<String, Vec<String>>,
    files: BTreeMap<String, Vec<u8>>,
    /// Hashes as they were when a file was put there first.
    hashes: BTreeMap<String, String>,
    mood: Mood,
    /// Files that were asked for whole.
    downloads: Vec<String>,
    /// Projects whose page was asked for.
    pages: Vec<String>,
}

/// How it serves files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    /// As an index should, with ranges.
    #[default]
    Well,
    /// Whole files only.
    NoRanges,
    /// Half of each file, then the end of the connection.
    Half,
    /// Nothing at all, pages included.
    Down,
    /// Every connection is reset, that for a page too.
    Reset,
    /// Half of each answer, and then nothing for as long as the other end waits.
    Silent,
    /// The same for files alone.
    SilentFiles,
}

impl Index {
    /// An empty index.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let index = Self { port: listener.local_addr().unwrap().port(), shelf: Arc::default() };
        let shelf = Arc::clone(&index.shelf);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shelf = Arc::clone(&shelf);
                thread::spawn(move || answer(client, &shelf));
            }
        });
        index
    }

    /// A home whose index this is.
    pub fn home(&self) -> Home {
        let home = Home::new();
        set(&home, self.port);
        home
    }

    /// The port of this machine that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Puts a file there, in place of one of the same name. The hash that the page tells stays the first one's.
    pub fn put(&self, project: &str, file: &str, bytes: Vec<u8>) {
        let mut shelf = self.shelf.lock().unwrap();
        let files = shelf.projects.entry(project.to_owned()).or_default();
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
        let hash = hex::encode(sha2::Sha256::digest(&bytes));
        shelf.hashes.entry(file.to_owned()).or_insert(hash);
        shelf.files.insert(file.to_owned(), bytes);
    }

    /// Puts a wheel there.
    pub fn publish(&self, wheel: &Wheel) {
        self.put(&wheel.name, &wheel.file_name(), wheel.bytes());
    }

    /// How it serves from now on.
    pub fn mood(&self, mood: Mood) {
        self.shelf.lock().unwrap().mood = mood;
    }

    /// The files that were asked for whole, so far.
    pub fn downloads(&self) -> Vec<String> {
        self.shelf.lock().unwrap().downloads.clone()
    }

    /// The projects that were asked for, so far.
    pub fn pages(&self) -> Vec<String> {
        self.shelf.lock().unwrap().pages.clone()
    }
}

/// Makes whatever listens on this port of this machine the index of a home.
pub fn set(home: &Home, port: u16) {
    std::fs::create_dir_all(home.file("config")).unwrap();
    let config = format!("[pypi]\nindex = \"http://localhost:{port}/simple/\"\n");
    std::fs::write(home.file("config/config.toml"), config).unwrap();
}

/// Answers the requests of one connection, one after the other.
fn answer(mut client: TcpStream, shelf: &Mutex<Shelf>) {
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().to_owned());
        let head = method == "HEAD";
        let mut span = None;
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("range")
            {
                span = value.trim().strip_prefix("bytes=").map(str::to_owned);
            }
        }
        let (mood, reply) = {
            let mut shelf = shelf.lock().unwrap();
            (shelf.mood, shelf.reply(&path, span.as_deref(), head))
        };
        if mood == Mood::Reset {
            // with no time to linger a closed connection is a reset one
            let _ = rustix::net::sockopt::set_socket_linger(&client, Some(std::time::Duration::ZERO));
            return;
        }
        let Reply { status, kind, range, body } = reply;
        let mut head_lines =
            format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
        if mood != Mood::NoRanges {
            head_lines.push_str("accept-ranges: bytes\r\n");
        }
        if let Some(range) = range {
            head_lines.push_str(&format!("content-range: {range}\r\n"));
        }
        head_lines.push_str("\r\n");
        let file = path.starts_with("/files/");
        let silent = mood == Mood::Silent || mood == Mood::SilentFiles && file;
        let half = silent || mood == Mood::Half && file;
        let sent: &[u8] = match (head, half) {
            (true, _) => &[],
            (_, true) => &body[..body.len() / 2],
            _ => &body,
        };
        let fine = client.write_all(head_lines.as_bytes()).and_then(|()| client.write_all(sent));
        if silent {
            // until the other end has had enough
            let _ = lines.next();
        }
        if mood == Mood::Down || half || fine.is_err() {
            return;
        }
    }
}

struct Reply {
    status: &'static str,
    kind: &'static str,
    range: Option<String>,
    body: Vec<u8>,
}

impl Shelf {
    fn reply(&mut self, path: &str, span: Option<&str>, head: bool) -> Reply {
        let plain = |status, body: &str| Reply { status, kind: "text/plain", range: None, body: body.into() };
        if self.mood == Mood::Down {
            return plain("503 Service Unavailable", "closed");
        }
        if let Some(project) = path.strip_prefix("/simple/") {
            let project = project.trim_end_matches('/');
            self.pages.push(project.to_owned());
            let Some(files) = self.projects.get(project) else { return plain("404 Not Found", "none") };
            let file = |name: &String| json!({"filename": name, "url": format!("../../files/{name}"), "hashes": {"sha256": self.hashes[name]}});
            let files: Vec<_> = files.iter().map(file).collect();
            let page = json!({"meta": {"api-version": "1.0"}, "name": project, "files": files});
            let kind = "application/vnd.pypi.simple.v1+json";
            return Reply { status: "200 OK", kind, range: None, body: page.to_string().into_bytes() };
        }
        let Some(name) = path.strip_prefix("/files/") else { return plain("404 Not Found", "none") };
        let Some(body) = self.files.get(name).cloned() else { return plain("404 Not Found", "none") };
        let kind = "application/octet-stream";
        let size = body.len();
        if let Some(span) = span.filter(|_| self.mood != Mood::NoRanges) {
            let (from, to) = span.split_once('-').unwrap();
            let (first, last) = match (from.parse::<usize>(), to.parse::<usize>()) {
                (Err(_), Ok(tail)) => (size.saturating_sub(tail), size - 1),
                (Ok(first), Ok(last)) => (first, last.min(size - 1)),
                (Ok(first), Err(_)) => (first, size - 1),
                _ => return plain("416 Range Not Satisfiable", "no"),
            };
            let range = Some(format!("bytes {first}-{last}/{size}"));
            return Reply { status: "206 Partial Content", kind, range, body: body[first..=last].to_vec() };
        }
        if !head {
            self.downloads.push(name.to_owned());
        }
        Reply { status: "200 OK", kind, range: None, body }
    }
}

/// A wheel to be made.
pub struct Wheel {
    /// Its project's name, normalised and without a `-`.
    pub name: String,
    /// Its version.
    pub version: String,
    requires: Vec<String>,
    scripts: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    unrecorded: Vec<(String, Vec<u8>)>,
    otherwise: bool,
}

impl Wheel {
    /// A wheel that holds nothing yet. No other run has its name: an image of the same tree, left by one, would not be
    /// installed again.
    pub fn new(name: &str) -> Self {
        Self {
            name: format!("{name}{}", std::process::id()),
            version: "1.0".into(),
            requires: Vec::new(),
            scripts: Vec::new(),
            files: Vec::new(),
            unrecorded: Vec::new(),
            otherwise: false,
        }
    }

    /// The least that is a server.
    pub fn least(name: &str) -> Self {
        let wheel = Self::new(name);
        let (module, script) = (wheel.name.clone(), format!("{}:main", wheel.name));
        wheel.script(&module, &script).file(&format!("{module}.py"), LEAST)
    }

    /// With this dependency.
    pub fn requires(mut self, requirement: &str) -> Self {
        self.requires.push(requirement.to_owned());
        self
    }

    /// With a console script.
    pub fn script(mut self, name: &str, entry: &str) -> Self {
        self.scripts.push((name.to_owned(), entry.to_owned()));
        self
    }

    /// With a file.
    pub fn file(mut self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.files.push((path.to_owned(), contents.as_ref().to_vec()));
        self
    }

    /// With a file that its RECORD does not tell of.
    pub fn unrecorded(mut self, path: &str, contents: &str) -> Self {
        self.unrecorded.push((path.to_owned(), contents.into()));
        self
    }

    /// With hashes in its RECORD that are not those of its files.
    pub fn otherwise(mut self) -> Self {
        self.otherwise = true;
        self
    }

    /// The file's name.
    pub fn file_name(&self) -> String {
        format!("{}-{}-py3-none-any.whl", self.name, self.version)
    }

    /// The archive. Source: PEP 427.
    pub fn bytes(&self) -> Vec<u8> {
        self.large(0)
    }

    /// The archive, with so many MiB of nothing in a file that its RECORD does not tell of.
    pub fn large(&self, mib: usize) -> Vec<u8> {
        let info = format!("{}-{}.dist-info", self.name, self.version);
        let mut metadata = format!(
            "Metadata-Version: 2.1\nName: {}\nVersion: {}\nSummary: A test's own\n",
            self.name, self.version
        );
        for requirement in &self.requires {
            metadata.push_str(&format!("Requires-Dist: {requirement}\n"));
        }
        let mut entry_points = "[console_scripts]\n".to_owned();
        for (name, entry) in &self.scripts {
            entry_points.push_str(&format!("{name} = {entry}\n"));
        }
        let tag = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        let mut files = self.files.clone();
        files.push((format!("{info}/METADATA"), metadata.into()));
        files.push((format!("{info}/WHEEL"), tag.into()));
        files.push((format!("{info}/entry_points.txt"), entry_points.into()));
        let mut record = String::new();
        for (path, contents) in &files {
            let of: &[u8] = if self.otherwise && path.ends_with(".py") { b"others" } else { contents };
            let hash = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(of));
            record.push_str(&format!("{path},sha256={hash},{}\n", contents.len()));
        }
        record.push_str(&format!("{info}/RECORD,,\n"));
        files.push((format!("{info}/RECORD"), record.into()));
        files.extend(self.unrecorded.clone());
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (path, contents) in files {
            zip.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&contents).unwrap();
        }
        if mib > 0 {
            let nothing = vec![0_u8; 1 << 20];
            zip.start_file("nothing.bin", zip::write::SimpleFileOptions::default()).unwrap();
            for _ in 0..mib {
                zip.write_all(&nothing).unwrap();
            }
        }
        zip.finish().unwrap().into_inner()
    }
}

/// A server of one tool, whose description says what a test wants to know of the inside.
const LEAST: &str = r#"
import json, os, sys

def main():
    ran = os.path.exists("/opt/server/ran") or os.path.exists("/tmp/ran")
    tool = {"name": "hello", "description": f"ran before: {ran}; python {sys.version_info[0]}.{sys.version_info[1]}",
            "inputSchema": {"type": "object"}}
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        results = {
            "initialize": lambda: {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "least", "version": "1"}},
            "tools/list": lambda: {"tools": [tool]},
            "tools/call": lambda: {"content": [{"type": "text", "text": tool["description"]}]},
        }
        answer = results.get(asked["method"])
        rest = {"result": answer()} if answer else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **rest}), flush=True)

if __name__ == "__main__":
    main()
"#;
