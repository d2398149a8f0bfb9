//! What is told of a server's standard error?
//!
//! Line by line, each bounded: a line that never ends is cut, not kept. A flood is not passed on whole either: the client
//! keeps it in a log on the user's disk. For the same reason credentials are left out, those too that go over from one
//! line to the next: a line waits a moment for the one after it, and is looked at between its neighbours. What is left
//! out of a flood is not looked at at all; the last lines are, when somebody wants them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::secret::Mask;
use crate::text::Shown;

/// Lines that are kept for when the server fails.
const LAST_WORDS: usize = 20;
/// Lines that are passed on in one second.
const LINES_PER_SECOND: u32 = 200;
/// Longest line that is drawn, in bytes.
const LINE: usize = 8 * 1024;
/// How long a line waits for the next.
const NEXT: Duration = Duration::from_millis(50);

/// The last lines of a server's standard error.
#[derive(Clone)]
pub struct LastWords {
    lines: Arc<Mutex<VecDeque<String>>>,
    mask: Arc<Mask>,
}

impl LastWords {
    /// None so far; they will be told without these credentials.
    pub fn without(mask: Arc<Mask>) -> Self {
        Self { lines: Arc::default(), mask }
    }

    /// The lines, oldest first.
    pub async fn lines(&self) -> Vec<Shown> {
        let lines = self.lines.lock().await;
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.mask.hide_each(&lines).iter().map(|line| shown(line)).collect()
    }

    async fn add(&self, line: String) {
        let mut lines = self.lines.lock().await;
        if lines.len() == LAST_WORDS {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Reads standard error to its end; `listen` gets what is told of it.
pub async fn hear(
    stderr: impl AsyncRead + Unpin,
    words: LastWords,
    mask: Arc<Mask>,
    listen: impl Fn(&Shown),
) {
    let mut lines = Lines { reader: BufReader::new(stderr), line: Vec::new() };
    let mut ear = Ear::new(mask, listen);
    loop {
        let next = match ear.held {
            None => lines.next().await,
            Some(_) => match timeout(NEXT, lines.next()).await {
                Ok(next) => next,
                Err(_) => {
                    ear.tell("");
                    continue;
                }
            },
        };
        let Some(line) = next else { return ear.tell("") };
        words.add(line.clone()).await;
        ear.take(line, Instant::now());
    }
}

/// Lines with their ends; one that is too long comes in parts. Safe to stop waiting for.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    async fn next(&mut self) -> Option<String> {
        loop {
            let there = self.reader.fill_buf().await.unwrap_or_default();
            let room = LINE - self.line.len();
            let within = &there[..there.len().min(room)];
            let end = within.iter().position(|b| *b == b'\n');
            let taken = end.map_or(within.len(), |end| end + 1);
            self.line.extend_from_slice(&within[..taken]);
            let over = there.is_empty();
            self.reader.consume(taken);
            if end.is_some() || self.line.len() == LINE || over && !self.line.is_empty() {
                let line = String::from_utf8_lossy(&self.line).into_owned();
                self.line.clear();
                return Some(line);
            }
            if over {
                return None;
            }
        }
    }
}

/// Which lines are told, and when.
struct Ear<L> {
    mask: Arc<Mask>,
    listen: L,
    /// The line before the one that is held.
    before: String,
    /// One that is to be told, once what follows it is known.
    held: Option<String>,
    second: Option<Instant>,
    told: u32,
    untold: u64,
}

impl<L: Fn(&Shown)> Ear<L> {
    fn new(mask: Arc<Mask>, listen: L) -> Self {
        Self { mask, listen, before: String::new(), held: None, second: None, told: 0, untold: 0 }
    }

    fn take(&mut self, line: String, now: Instant) {
        self.tell(&line);
        let second = *self.second.get_or_insert(now);
        if now.saturating_duration_since(second) >= Duration::from_secs(1) {
            if self.untold > 0 {
                (self.listen)(&Shown::new(&format!(
                    "({} more lines of the server's were left out)",
                    self.untold
                )));
            }
            (self.second, self.told, self.untold) = (Some(now), 0, 0);
        }
        if self.told < LINES_PER_SECOND {
            self.told += 1;
            self.held = Some(line);
        } else {
            self.untold += 1;
            self.before = line;
        }
    }

    /// Tells what is held, with what follows it, if that is known.
    fn tell(&mut self, after: &str) {
        let Some(held) = self.held.take() else { return };
        let each = self.mask.hide_each(&[&self.before, &held, after]);
        if let Some(line) = each.get(1) {
            (self.listen)(&shown(line));
        }
        self.before = held;
    }
}

fn shown(line: &str) -> Shown {
    Shown::new(line.trim_end_matches(['\n', '\r']))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::secret::tests::given;

    const KEY: &str = "8f3e2a91c07d4b65e1f2a3b4";

    /// What is told of this, and what of it are the last words.
    async fn heard(said: &str) -> (Vec<String>, Vec<String>) {
        let mask = Arc::new(given(&[("KEY", KEY), ("PASSWORD", "sesame-open")]).mask());
        let (words, told) = (LastWords::without(Arc::clone(&mask)), Mutex::new(Vec::new()));
        hear(said.as_bytes(), words.clone(), mask, |line| told.lock().unwrap().push(line.to_string())).await;
        let last = words.lines().await.iter().map(ToString::to_string).collect();
        (told.into_inner().unwrap(), last)
    }

    #[tokio::test]
    async fn a_credential_that_goes_over_from_one_line_to_the_next_is_in_neither() {
        let said = format!("a\r\nkey={}\n{}\nb\n\nc", &KEY[..11], &KEY[11..]);
        let (told, last) = heard(&said).await;
        assert_eq!(told, ["a", "key=[KEY]", "[KEY]", "b", "", "c"]);
        assert_eq!(last, told);
    }

    #[tokio::test]
    async fn a_credential_at_the_cut_of_a_long_line_is_told_in_no_part() {
        for value in [KEY, "sesame-open"] {
            for before in LINE - value.len()..LINE {
                let (told, last) = heard(&format!("{}{value} end\n", " ".repeat(before))).await;
                for told in [told, last] {
                    let told = told.concat();
                    assert!(
                        !told.contains(&value[..4]) && !told.contains(&value[value.len() - 4..]),
                        "{told}"
                    );
                }
            }
        }
    }

    #[tokio::test]
    async fn a_flood_is_counted_and_its_last_lines_are_without_credentials_too() {
        let said: String = (0..1_000).map(|number| format!("{number} {KEY}\n")).collect();
        let (told, last) = heard(&said).await;
        assert_eq!((told.len(), last.len()), (LINES_PER_SECOND as usize, LAST_WORDS));
        assert!(told.iter().chain(&last).all(|line| line.ends_with(" [KEY]")), "{last:?}");
        assert_eq!(last.last().unwrap(), "999 [KEY]");
    }

    #[tokio::test]
    async fn a_line_is_told_though_nothing_follows_it() {
        let (mut theirs, ours) = tokio::io::duplex(1024);
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mask = Arc::<Mask>::default();
        tokio::spawn(hear(ours, LastWords::without(Arc::clone(&mask)), mask, move |line| {
            let _ = tell.send(line.to_string());
        }));
        tokio::io::AsyncWriteExt::write_all(&mut theirs, b"listening\nhal").await.unwrap();
        assert_eq!(told.recv().await.unwrap(), "listening");
        tokio::io::AsyncWriteExt::write_all(&mut theirs, b"f\n").await.unwrap();
        assert_eq!(told.recv().await.unwrap(), "half");
    }
}
