//! How much memory can a hostile peer make a reader that stands still hold?
//!
//! yamux bounds the bytes that wait in a stream, not the pieces they came in: a window of 256 KiB filled one byte
//! a frame is a quarter of a million allocations. So the launcher counts the frames that wait: each data frame that
//! arrives on a stream counts until its reader found the stream empty, or until it has read so much that the peer
//! was granted more twice. Beyond [`MOST`] on the whole link, the link breaks; an orderly init comes nowhere near, as
//! it sends what it can read at a time.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Most frames that may wait on one link, each about 100 bytes beside its contents.
pub const MOST: usize = 64 * 1024;

/// yamux's header: version, type, flags (2), stream (4), length (4); its specification, "Framing".
const HEADER: usize = 12;
const DATA: u8 = 0;
const WINDOW_UPDATE: u8 = 1;

/// The frames that wait on a link.
#[derive(Debug, Clone)]
pub struct Ration {
    most: usize,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Of the streams that somebody holds: frames since the last grant, and of the time between it and the one before.
    streams: HashMap<u32, (usize, usize)>,
    total: usize,
}

impl Ration {
    /// At most `most` frames may wait.
    pub fn new(most: usize) -> Self {
        Self { most, counts: Arc::default() }
    }

    /// Begins to count a stream's frames.
    pub fn hold(&self, stream: u32) {
        self.lock().streams.insert(stream, (0, 0));
    }

    /// A stream's reader found it empty. (A frame that arrives at this very moment may go uncounted.)
    pub fn drained(&self, stream: u32) {
        let mut counts = self.lock();
        let Some(counted) = counts.streams.get_mut(&stream) else { return };
        let (now, before) = std::mem::take(counted);
        counts.total -= now + before;
    }

    /// Nobody holds the stream any more: what still arrives on it is thrown away.
    pub fn release(&self, stream: u32) {
        let mut counts = self.lock();
        if let Some((now, before)) = counts.streams.remove(&stream) {
            counts.total -= now + before;
        }
    }

    fn arrived(&self, stream: u32) -> io::Result<()> {
        let mut counts = self.lock();
        if let Some((now, _)) = counts.streams.get_mut(&stream) {
            *now += 1;
            counts.total += 1;
        }
        if counts.total > self.most {
            Err(io::Error::other("too many frames wait to be read"))
        } else {
            Ok(())
        }
    }

    fn granted(&self, stream: u32) {
        let mut counts = self.lock();
        let Some((now, before)) = counts.streams.get_mut(&stream) else { return };
        let read = std::mem::replace(before, std::mem::take(now));
        counts.total -= read;
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Nothing in here panics between two steps that belong together.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stream below a link, watched.
#[derive(Debug)]
pub struct Rationed<S> {
    stream: S,
    ration: Ration,
    incoming: Frames,
    outgoing: Frames,
}

impl<S> Rationed<S> {
    /// Watches `stream` for `ration`.
    pub fn new(stream: S, ration: Ration) -> Self {
        Self { stream, ration, incoming: Frames::default(), outgoing: Frames::default() }
    }
}

/// Finds the frames in a run of bytes.
#[derive(Debug, Default)]
struct Frames {
    header: [u8; HEADER],
    filled: usize,
    body: usize,
}

impl Frames {
    /// Calls `found` with the type and stream of each frame whose header ends in `bytes`.
    fn pass(&mut self, mut bytes: &[u8], mut found: impl FnMut(u8, u32) -> io::Result<()>) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.body > 0 {
                let skipped = self.body.min(bytes.len());
                self.body -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let taken = (HEADER - self.filled).min(bytes.len());
            self.header[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
            self.filled += taken;
            bytes = &bytes[taken..];
            if self.filled == HEADER {
                self.filled = 0;
                let [_, kind, _, _, s0, s1, s2, s3, l0, l1, l2, l3] = self.header;
                if kind == DATA {
                    self.body = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
                }
                found(kind, u32::from_be_bytes([s0, s1, s2, s3]))?;
            }
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rationed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        let ration = &this.ration;
        Poll::Ready(this.incoming.pass(&buffer.filled()[before..], |kind, stream| match kind {
            DATA => ration.arrived(stream),
            _ => Ok(()),
        }))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rationed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        let ration = &this.ration;
        this.outgoing.pass(&bytes[..written], |kind, stream| {
            if kind == WINDOW_UPDATE {
                ration.granted(stream);
            }
            Ok(())
        })?;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(kind: u8, stream: u32, length: u32, body: usize) -> Vec<u8> {
        let mut bytes = vec![0, kind, 0, 0];
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.resize(HEADER + body, 7);
        bytes
    }

    #[test]
    fn finds_every_frame_however_the_bytes_are_cut() {
        let bytes = [frame(0, 3, 5, 5), frame(1, 4, 9, 0), frame(0, 5, 0, 0), frame(3, 0, 1, 0)].concat();
        for piece in 1..=bytes.len() {
            let (mut frames, mut seen) = (Frames::default(), Vec::new());
            for bytes in bytes.chunks(piece) {
                frames
                    .pass(bytes, |kind, stream| {
                        seen.push((kind, stream));
                        Ok(())
                    })
                    .unwrap();
            }
            assert_eq!(seen, [(0, 3), (1, 4), (0, 5), (3, 0)], "pieces of {piece}");
        }
    }

    #[test]
    fn refuses_one_frame_more_than_may_wait() {
        let ration = Ration::new(MOST);
        ration.hold(1);
        ration.hold(3);
        for n in 0..MOST {
            ration.arrived(if n % 2 == 0 { 1 } else { 3 }).unwrap();
        }
        assert!(ration.arrived(1).is_err());
    }

    #[test]
    fn accepts_any_number_of_frames_that_are_read() {
        let ration = Ration::new(MOST);
        ration.hold(1);
        for n in 0..4 * MOST {
            ration.arrived(1).unwrap();
            match n % 1000 {
                0 => ration.drained(1),
                500 => ration.granted(1),
                _ => {}
            }
        }
        ration.release(1);
        assert_eq!(ration.lock().total, 0);
    }

    #[test]
    fn does_not_count_what_is_thrown_away() {
        let ration = Ration::new(MOST);
        ration.hold(1);
        ration.release(1);
        for _ in 0..2 * MOST {
            ration.arrived(1).unwrap();
        }
    }

    proptest! {
        #[test]
        fn the_total_is_always_the_sum(steps in proptest::collection::vec((0..5_u8, 0..4_u32), 0..200)) {
            let ration = Ration::new(MOST);
            for (step, stream) in steps {
                match step {
                    0 => { ration.release(stream); ration.hold(stream); }
                    1 => ration.drained(stream),
                    2 => ration.release(stream),
                    3 => ration.granted(stream),
                    _ => ration.arrived(stream).unwrap(),
                }
                let counts = ration.lock();
                prop_assert_eq!(counts.total, counts.streams.values().map(|(now, before)| now + before).sum::<usize>());
            }
        }
    }
}
