//! Is there a person at this process's terminal?
//!
//! Only if both standard input and standard error are one: `yes | pinfold mount …` has nobody at its input, and
//! `2>/dev/null` would ask a question that nobody sees. Standard output is left alone, it may be a file.
//! A program can pretend to be a terminal; one that does can type whatever its user can.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

use super::{Answer, Palette, Terminal};

/// Columns where the terminal does not say.
const USUAL_WIDTH: usize = 80;

/// Bytes of an answer that are looked at; a longer line is not `yes`.
const LONGEST_ANSWER: usize = 256;

/// The terminal of this process.
#[derive(Debug)]
pub struct Console {
    palette: Palette,
}

impl Console {
    /// The terminal, if there is one to ask on.
    pub fn open(palette: Palette) -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self { palette })
    }
}

impl Terminal for Console {
    fn width(&self) -> usize {
        let columns = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        if columns == 0 { USUAL_WIDTH } else { columns }
    }

    fn palette(&self) -> Palette {
        self.palette
    }

    fn draw(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stderr().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn forget_typed(&mut self) -> io::Result<()> {
        tcflush(io::stdin(), QueueSelector::IFlush).map_err(io::Error::from)
    }

    fn read_line(&mut self, patience: Duration) -> io::Result<Answer> {
        // Not through `Stdin`, whose buffer may hold what was typed earlier.
        let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (sender, answer) = mpsc::sync_channel(1);
        // Past its time the thread stays in its read; the process ends soon after, with a no.
        thread::spawn(move || {
            let mut bytes = [0; LONGEST_ANSWER];
            let read = input.read(&mut bytes);
            // A terminal gives one line at a time. One without its end was cut by end-of-file or by our limit.
            let _ = sender.send(read.map(|n| match &bytes[..n] {
                [] => Answer::End,
                [line @ .., b'\n'] => Answer::Line(String::from_utf8_lossy(line).into_owned()),
                [..] => Answer::Line(String::new()),
            }));
        });
        answer.recv_timeout(patience).unwrap_or(Ok(Answer::Silence))
    }
}
