//! What is the least a client does?
//!
//! One thread that writes a line and reads lines until its answer is there, over pipes: no runtime and no other
//! thread whose wake-ups would be measured too. It is the same for both sides.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Outcome;

/// How long a session may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server that was started, caged or not, and the client's end of it.
pub struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    spawned: Instant,
    last_id: u64,
    line: Vec<u8>,
    errors: PathBuf,
    /// Its process group, noted where a clean-up finds it.
    note: PathBuf,
    /// Dropped, the watchdog lies down.
    _awake: mpsc::Sender<()>,
}

/// As much of a message as an answer is known by.
#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Session {
    /// Starts a server. `work` gets its standard error.
    pub fn spawn(mut command: Command, work: &Path) -> Outcome<Self> {
        let running = running(work)?;
        let errors = work.join("stderr");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&errors)?);
        // so that what a launcher leaves behind can be ended with it
        command.process_group(0);
        let spawned = Instant::now();
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let note = running.join(child.id().to_string());
        fs::write(&note, "")?;
        let (awake, asleep) = mpsc::channel::<()>();
        let group = group(&child)?;
        std::thread::spawn(move || {
            if asleep.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        });
        Ok(Self {
            child,
            input,
            output: BufReader::with_capacity(256 * 1024, output),
            spawned,
            last_id: 0,
            line: Vec::new(),
            errors,
            note,
            _awake: awake,
        })
    }

    /// The process that was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// When it was started.
    pub fn spawned(&self) -> Instant {
        self.spawned
    }

    /// Opens the session; gives how long it took from the start of the process to the answer.
    pub fn initialize(&mut self) -> Outcome<Duration> {
        let client = json!({"name": "pinfold-bench", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.request("initialize", &params)?;
        let took = self.spawned.elapsed();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(took)
    }

    /// Calls a tool; gives how long it took until the answer was read, and the text in it.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<(Duration, String)> {
        let params = json!({"name": tool, "arguments": arguments});
        let begun = Instant::now();
        let text = self.request("tools/call", &params)?;
        Ok((begun.elapsed(), text))
    }

    /// Lists the tools.
    pub fn list(&mut self) -> Outcome<()> {
        self.request("tools/list", &json!({})).map(drop)
    }

    /// Asks, and gives the first text of the answer's content.
    fn request(&mut self, method: &str, params: &Value) -> Outcome<String> {
        self.ask(method, params)?;
        self.answer(self.last_id)
    }

    /// Sends a request; gives its id.
    fn ask(&mut self, method: &str, params: &Value) -> Outcome<u64> {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}))?;
        Ok(self.last_id)
    }

    /// Sends several calls of a tool at once and reads their answers; gives how long all of it took.
    pub fn call_at_once(&mut self, tool: &str, arguments: &Value, times: usize) -> Outcome<Duration> {
        let params = json!({"name": tool, "arguments": arguments});
        let begun = Instant::now();
        let ids = (0..times).map(|_| self.ask("tools/call", &params)).collect::<Outcome<Vec<u64>>>()?;
        for id in ids {
            self.answer(id)?;
        }
        Ok(begun.elapsed())
    }

    fn send(&mut self, message: &Value) -> Outcome<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.input.write_all(&line).map_err(|error| self.ended(&error.to_string()).into())
    }

    fn answer(&mut self, id: u64) -> Outcome<String> {
        /// What a client takes out of a result, with its escapes decoded.
        #[derive(Deserialize)]
        struct Shown {
            #[serde(default)]
            content: Vec<Block>,
        }
        #[derive(Deserialize)]
        struct Block {
            #[serde(default)]
            text: String,
        }
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err(self.ended("its output ended").into());
            }
            // servers may print what is no message, and ask or tell things of their own
            let Ok(message) = serde_json::from_slice::<Message<'_>>(&self.line) else { continue };
            match (message.id == Some(id), message.result, message.error) {
                (true, Some(result), None) => {
                    let shown: Shown = serde_json::from_str(result.get())?;
                    return Ok(shown.content.into_iter().next().map(|block| block.text).unwrap_or_default());
                }
                (true, None, Some(error)) => return Err(self.ended(error.get()).into()),
                _ => {}
            }
        }
    }

    fn ended(&self, why: &str) -> String {
        let said = fs::read_to_string(&self.errors).unwrap_or_default();
        let from = said.char_indices().rev().nth(2_000).map_or(0, |(at, _)| at);
        format!("the server failed ({why}); it said:\n{}", &said[from..])
    }

    /// Ends a launcher in order, and waits until it has seen its cage gone.
    pub fn terminate(self) -> Outcome<()> {
        kill_process_group(group(&self.child)?, Signal::TERM)?;
        self.gone()
    }

    /// Ends a bare server with whatever started it.
    pub fn kill(self) -> Outcome<()> {
        kill_process_group(group(&self.child)?, Signal::KILL)?;
        self.gone()
    }

    fn gone(mut self) -> Outcome<()> {
        self.child.wait()?;
        Ok(fs::remove_file(&self.note)?)
    }
}

fn group(child: &Child) -> Outcome<Pid> {
    let id = i32::try_from(child.id())?;
    Pid::from_raw(id).ok_or_else(|| "a process without an id".into())
}

fn running(work: &Path) -> Outcome<PathBuf> {
    let dir = work.join("running");
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// Ends the process groups that an interrupted measurement left.
pub fn end_all(work: &Path) -> Outcome<()> {
    for entry in fs::read_dir(running(work)?)? {
        let entry = entry?;
        if let Some(group) = entry.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?)) {
            // gone already is done
            let _ = kill_process_group(group, Signal::TERM);
            std::thread::sleep(Duration::from_millis(200));
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    Ok(())
}
