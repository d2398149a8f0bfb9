//! What happens where a person sits at a terminal?
//!
//! A pseudo-terminal takes the person's place: it is what standard input and standard error see, and what is typed is
//! written to its other end.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::patience::seconds;
use crate::pinfold;

/// Longest a question may take to be drawn: a tree is resolved before it.
const PATIENCE: Duration = seconds(120);

/// A program at a terminal.
pub struct AtTerminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
}

/// The terminal's two ends: the person's and the program's.
fn open() -> (OwnedFd, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let path = ptsname(&person, Vec::new()).unwrap();
    let program = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (person, program)
}

impl AtTerminal {
    /// Starts a program whose input and standard error are a terminal.
    pub fn start(command: Command) -> Self {
        let (person, program) = open();
        let input = program.try_clone().unwrap();
        Self::begin(command, Stdio::from(input), person, program)
    }

    /// Starts a program whose standard error is a terminal and whose input is something else.
    pub fn start_with_input(command: Command, input: impl Into<Stdio>) -> Self {
        let (person, program) = open();
        Self::begin(command, input.into(), person, program)
    }

    fn begin(mut command: Command, input: Stdio, person: OwnedFd, program: OwnedFd) -> Self {
        let child = command.stdin(input).stdout(Stdio::null()).stderr(Stdio::from(program)).spawn().unwrap();
        // the command holds the program's end open, and the screen would never end
        drop(command);
        let screen = Arc::new(Mutex::new(String::new()));
        let (drawn, mut reader) = (Arc::clone(&screen), File::from(person.try_clone().unwrap()));
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // ends with an error when the program's end is closed everywhere
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                drawn.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..read]));
            }
        });
        Self { child, keyboard: File::from(person), screen }
    }

    /// Waits until the screen shows this.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let begun = Instant::now();
        while !self.screen().contains(text) {
            assert!(
                begun.elapsed() < PATIENCE,
                "the terminal does not show {text:?} but:\n{}",
                self.screen()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What was drawn so far.
    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Types.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Sends it a signal, as the terminal does for some keys, and at its own end.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the program's end.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        pinfold::ended(&mut self.child, seconds(240)).code()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
