//! Where does one message end, and what if it never does?
//!
//! Messages are lines (MCP, transports, stdio: newline-delimited, no newline inside). A line is held whole, since
//! a verdict needs all of it, so its length is bounded here, before it is kept; the rest of an over-long line is
//! read and forgotten. Tolerated: `\r\n`, and a last line without its newline.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, ReadBuf};

/// The longest line kept, in bytes, its newline not counted: 16 MiB.
pub const LIMIT: usize = 16 * 1024 * 1024;

/// How much of each end of an over-long line is kept, to find out which request it answers.
pub(super) const END: usize = 512;

/// What a long line's buffer may keep once the line is done with.
const KEPT: usize = 2 * 1024 * 1024;

/// How much is read ahead of the line in hand, to find out whether more follows.
const AHEAD: usize = 64 * 1024;

/// One line as it was read.
#[derive(Debug)]
pub enum Line<'a> {
    /// A whole line without its `\n` or `\r\n`. The buffer is the reader's own: append to it, don't swap it.
    Whole(&'a mut Vec<u8>),
    /// A line over the limit: its first and last bytes, up to 512 each.
    TooLong {
        /// How it began.
        head: &'a [u8],
        /// How it ended.
        tail: &'a [u8],
    },
}

/// Reads lines of at most [`LIMIT`] bytes.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<Ahead<R>>,
    line: Vec<u8>,
    tail: Vec<u8>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads from `reader`, which should not be buffered already.
    pub fn new(reader: R) -> Self {
        Self::with_limit(reader, LIMIT)
    }

    pub(super) fn with_limit(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, Ahead::new(reader)),
            line: Vec::new(),
            tail: Vec::new(),
            limit,
        }
    }

    /// The next line; `None` at the end of the stream. Not safe to cancel: a line read in part is lost.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        Ok(self.next_and_ahead().await?.map(|(line, _)| line))
    }

    /// The next line as [`Self::next`] gives it, and what comes after it on the stream.
    pub(super) async fn next_and_ahead(&mut self) -> io::Result<Option<(Line<'_>, &mut Ahead<R>)>> {
        self.line.clear();
        if self.line.capacity() > KEPT {
            self.line.shrink_to(KEPT);
        }
        // Two more than the limit: a line of exactly that length may end in `\r\n`.
        let most = self.limit as u64 + 2;
        let read = (&mut self.reader).take(most).read_until(b'\n', &mut self.line).await?;
        if read == 0 {
            return Ok(None);
        }
        let ended = self.line.last() == Some(&b'\n');
        if ended {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        }
        if self.line.len() <= self.limit {
            return Ok(Some((Line::Whole(&mut self.line), self.reader.get_mut())));
        }
        self.tail.clear();
        self.tail.extend_from_slice(&self.line[self.line.len().saturating_sub(END)..]);
        self.line.truncate(END);
        if !ended {
            self.forget_the_rest().await?;
        }
        let line = Line::TooLong { head: &self.line, tail: &self.tail };
        Ok(Some((line, self.reader.get_mut())))
    }

    /// What comes next on the stream.
    pub(super) fn ahead(&mut self) -> &mut Ahead<R> {
        self.reader.get_mut()
    }

    async fn forget_the_rest(&mut self) -> io::Result<()> {
        loop {
            let there = self.reader.fill_buf().await?;
            if there.is_empty() {
                return Ok(());
            }
            let newline = there.iter().position(|b| *b == b'\n');
            let rest = &there[..newline.unwrap_or(there.len())];
            self.tail.extend_from_slice(&rest[rest.len().saturating_sub(END)..]);
            if self.tail.len() > END {
                self.tail.drain(..self.tail.len() - END);
            }
            let done = newline.map_or(rest.len(), |at| at + 1);
            self.reader.consume(done);
            if newline.is_some() {
                return Ok(());
            }
        }
    }
}

/// A stream that can be asked whether it has ended while nobody takes what it holds.
#[derive(Debug)]
pub(super) struct Ahead<R> {
    from: R,
    /// Read already: at most [`AHEAD`] bytes, taken up to `taken`.
    kept: Vec<u8>,
    taken: usize,
    /// The stream ended, or failed, after what is kept.
    ended: bool,
}

impl<R: AsyncRead + Unpin> Ahead<R> {
    fn new(from: R) -> Self {
        Self { from, kept: Vec::new(), taken: 0, ended: false }
    }

    /// Resolves when the stream has ended. Safe to cancel; once as much is waiting as may be kept, it never resolves.
    pub async fn ended(&mut self) {
        poll_fn(|context| self.poll_ended(context)).await
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.ended {
                return Poll::Ready(());
            }
            if self.kept.len() >= AHEAD {
                return Poll::Pending;
            }
            let mut room = [0; 4096];
            let most = room.len().min(AHEAD - self.kept.len());
            let mut buffer = ReadBuf::new(&mut room[..most]);
            match ready!(Pin::new(&mut self.from).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.kept.extend_from_slice(buffer.filled()),
                // A read that fails is an end like any other.
                _ => self.ended = true,
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Ahead<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.taken < this.kept.len() {
            let some = buffer.remaining().min(this.kept.len() - this.taken);
            buffer.put_slice(&this.kept[this.taken..this.taken + some]);
            this.taken += some;
            if this.taken == this.kept.len() {
                this.kept = Vec::new();
                this.taken = 0;
            }
            return Poll::Ready(Ok(()));
        }
        if this.ended {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.from).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], limit: usize) -> Vec<Result<String, (String, String)>> {
        let mut lines = Lines::with_limit(bytes, limit);
        let mut seen = Vec::new();
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(match line {
                Line::Whole(line) => Ok(text(line)),
                Line::TooLong { head, tail } => Err((text(head), text(tail))),
            });
        }
        seen
    }

    #[tokio::test]
    async fn accepts_both_line_ends_and_a_last_line_without_one() {
        assert_eq!(
            read(b"a\nb\r\n\nc", 10).await,
            [Ok("a".into()), Ok("b".into()), Ok("".into()), Ok("c".into())]
        );
        assert_eq!(read(b"", 10).await, []);
    }

    #[tokio::test]
    async fn an_end_is_seen_ahead_and_what_came_before_it_is_still_read() {
        let (mut writer, reader) = tokio::io::duplex(1024);
        let mut lines = Lines::new(reader);
        tokio::io::AsyncWriteExt::write_all(&mut writer, b"one\n").await.unwrap();
        let (_, ahead) = lines.next_and_ahead().await.unwrap().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut writer, b"two\nthree").await.unwrap();
        drop(writer);
        ahead.ended().await;
        for text in ["two", "three"] {
            assert!(
                matches!(lines.next().await.unwrap(), Some(Line::Whole(line)) if line == text.as_bytes())
            );
        }
        assert!(lines.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn accepts_a_line_of_exactly_the_limit() {
        assert_eq!(read(b"1234\r\n1234\n1234", 4).await, vec![Ok("1234".to_owned()); 3]);
    }

    #[tokio::test]
    async fn refuses_a_line_past_the_limit_and_reads_on() {
        for end in ["\n", "\r\n"] {
            let long = format!("a\n12345{end}b\n");
            let seen = read(long.as_bytes(), 4).await;
            assert!(
                matches!(&seen[..], [Ok(a), Err((head, _)), Ok(b)] if a == "a" && head.starts_with("12345") && b == "b")
            );
        }
    }

    #[tokio::test]
    async fn an_over_long_line_keeps_its_ends_only() {
        let long = format!("HEAD{}TAIL\nnext", "x".repeat(400_000));
        let mut lines = Lines::with_limit(long.as_bytes(), 1000);
        let Some(Line::TooLong { head, tail }) = lines.next().await.unwrap() else { panic!("too long") };
        assert!(head.starts_with(b"HEAD") && head.len() == END);
        assert!(tail.ends_with(b"TAIL") && tail.len() == END);
        assert!(lines.line.capacity() < 8192, "kept {}", lines.line.capacity());
        assert!(matches!(lines.next().await.unwrap(), Some(Line::Whole(line)) if line == b"next"));
    }
}
