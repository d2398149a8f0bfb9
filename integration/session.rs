//! How does a client talk to a server here?
//!
//! By hand, line by line, so that what is compared is what was on the wire: no SDK between. The same client talks to
//! `pinfold run` and to a bare server. One request at a time; what the server asks meanwhile is answered shortly.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::patience::seconds;
use crate::pinfold;

/// Longest a server may take for one answer, its start included.
const PATIENCE: Duration = seconds(60);

/// A connection to a server.
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    issued: u64,
    context: Option<Value>,
}

impl Session {
    /// Starts a server; nothing is said yet.
    pub fn start(command: Command) -> Self {
        Self::begin(command, true)
    }

    /// Starts a server whose standard error nobody reads, though it is open.
    pub fn start_unheard(command: Command) -> Self {
        Self::begin(command, false)
    }

    fn begin(mut command: Command, heard: bool) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // what is not asked for is not read: a client that is busy fills its pipe
        let (send, lines) = sync_channel(1);
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let Ok(line) = line else { return };
                if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        if heard {
            let (stderr, mut said) = (Arc::clone(&stderr), child.stderr.take().unwrap());
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = said.read(&mut piece) {
                    stderr.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..read]));
                }
            });
        }
        let input = child.stdin.take();
        Self { child, input, lines, stderr, issued: 0, context: None }
    }

    /// Starts a server and opens a session of the handshake era.
    pub fn handshake(command: Command, capabilities: Value) -> (Self, Value) {
        let mut session = Self::start(command);
        let opened = session.request("initialize", initialize(capabilities));
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (session, opened)
    }

    /// Starts a server and opens a session of the stateless era.
    pub fn stateless(command: Command, capabilities: Value) -> (Self, Value) {
        let mut session = Self::start(command);
        session.context = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "pinfold-test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        let opened = session.request("server/discover", json!({}));
        (session, opened)
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends a line, whatever it is. A server that is gone is noticed where its answer is waited for.
    pub fn send_line(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Sends a request and gives its id.
    pub fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.issued += 1;
        if let Some(context) = &self.context {
            params["_meta"] = context.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.issued, "method": method, "params": params}));
        self.issued
    }

    /// The next line, within a time.
    pub fn line(&self, limit: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(limit)
    }

    /// The answer to a request: the line as it came.
    #[track_caller]
    pub fn answer_line(&mut self, id: u64) -> String {
        let begun = Instant::now();
        loop {
            let line = match self.line(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) => line,
                Err(why) => panic!("no answer to request {id} ({why}); standard error:\n{}", self.stderr()),
            };
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line:?}"));
            if message["id"] == id && message.get("method").is_none() {
                return line;
            }
            if let (Some(asked), Some(method)) = (message.get("id"), message["method"].as_str()) {
                let answer = match method {
                    "ping" => json!({"jsonrpc": "2.0", "id": asked, "result": {}}),
                    "roots/list" => json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": []}}),
                    _ => json!({"jsonrpc": "2.0", "id": asked, "error": {"code": -32601, "message": "no"}}),
                };
                self.send(&answer);
            }
        }
    }

    /// The answer to a request, as a message.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        serde_json::from_str(&self.answer_line(id)).unwrap()
    }

    /// Asks, and gives the result.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}\nstandard error:\n{}", self.stderr());
        answer["result"].take()
    }

    /// Asks, and gives the error.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("result").is_none(), "{method} was answered: {answer}");
        answer["error"].take()
    }

    /// Every item of a list, all pages of it; none where the server does not have it.
    #[track_caller]
    pub fn list(&mut self, method: &str, member: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut params = json!({});
        loop {
            let id = self.ask(method, params);
            let answer = self.answer(id);
            let Some(page) = answer.get("result") else { return items };
            items.extend(page[member].as_array().cloned().unwrap_or_default());
            match page.get("nextCursor") {
                Some(cursor) if !cursor.is_null() => params = json!({"cursor": cursor}),
                _ => return items,
            }
        }
    }

    /// Calls a tool; its result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool; the text of its result.
    #[track_caller]
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{tool}: no text: {result}"))
            .to_owned()
    }

    /// Calls a tool of the probe's; its data.
    #[track_caller]
    pub fn data(&mut self, tool: &str, arguments: Value) -> Value {
        serde_json::from_str(&self.text(tool, arguments)).unwrap()
    }

    /// What came on standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// The most memory it had at once, in KiB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// The launcher's or server's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends its input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ended(&mut self, limit: Duration) -> ExitStatus {
        pinfold::ended(&mut self.child, limit)
    }

    /// Ends its input and waits for its end; its exit status and its whole standard error.
    #[track_caller]
    pub fn finish(mut self) -> (Option<i32>, String) {
        self.close();
        let status = self.ended(seconds(30));
        // the reader has the rest once the pipe is closed, which the end of the process has brought about
        thread::sleep(Duration::from_millis(50));
        (status.code(), self.stderr())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The parameters of a client's `initialize`.
pub fn initialize(capabilities: Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "pinfold-test", "version": "1"},
    })
}
