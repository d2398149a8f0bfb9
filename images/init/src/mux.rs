//! How does one byte stream carry many, each with its own back-pressure?
//!
//! By yamux, with every number that a hostile peer could grow pinned down: 512 streams, a receive window of
//! 256 KiB each that never grows (measured, larger ones move no more through an engine), and a bound on the frames
//! that wait to be read. Frames of [`FRAME`] bytes keep a small message from waiting behind more than one frame a
//! stream, and nothing is held back to fill a frame: what is written is on its way at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite, BufStream, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt as _, TokioAsyncReadCompatExt as _};
use yamux::{Config, Connection};
pub use yamux::{ConnectionError, Mode};

use crate::ration::{self, Ration, Rationed};

/// Most streams at once, both sides' together.
pub const MAX_STREAMS: usize = 512;

/// Payload of the largest frame that is sent, in bytes. As large as what the engine's copying moves at a time.
pub const FRAME: usize = 32 * 1024;

/// How long a closing end waits for the other to take what was already written.
const CLOSING: Duration = Duration::from_secs(2);

/// A stream of the link. Dropped without a shutdown, it is reset.
#[derive(Debug)]
pub struct Stream {
    stream: Compat<yamux::Stream>,
    ration: Ration,
}

impl Stream {
    fn new(stream: yamux::Stream, ration: &Ration) -> Self {
        ration.hold(stream.id().val());
        Self { stream: stream.compat(), ration: ration.clone() }
    }

    fn id(&self) -> u32 {
        self.stream.get_ref().id().val()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.ration.release(self.id());
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_pending() {
            self.ration.drained(self.id());
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Opens streams, for as long as its link lives. When the last of them is dropped, the link closes.
#[derive(Debug, Clone)]
pub struct Opener(mpsc::Sender<oneshot::Sender<Stream>>);

/// The link is closed or broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the link is closed")]
pub struct Closed;

impl Opener {
    /// A new stream. The other end learns of it with the first byte written.
    pub async fn open(&self) -> Result<Stream, Closed> {
        let (give, take) = oneshot::channel();
        self.0.send(give).await.map_err(|_| Closed)?;
        take.await.map_err(|_| Closed)
    }
}

/// One end of a link: must be driven by [`Mux::run`] for anything to move.
#[derive(Debug)]
pub struct Mux<S> {
    connection: Connection<Compat<Rationed<BufStream<S>>>>,
    ration: Ration,
    wanted: mpsc::Receiver<oneshot::Sender<Stream>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Mux<S> {
    /// One end of a link over `stream`, and what opens streams on it.
    pub fn new(stream: S, mode: Mode) -> (Self, Opener) {
        let mut config = Config::default();
        config.set_max_num_streams(MAX_STREAMS);
        // Exactly the windows that every stream starts with, so that none ever grows.
        config.set_max_connection_receive_window(Some(MAX_STREAMS * yamux::DEFAULT_CREDIT as usize));
        config.set_split_send_size(FRAME);
        // A frame's header and body in one write, and many small frames in one read.
        let buffered = BufStream::with_capacity(FRAME, FRAME + 64, stream);
        // The launcher is the one that must not trust its peer.
        let ration = Ration::new(if mode == Mode::Client { ration::MOST } else { usize::MAX });
        let watched = Rationed::new(buffered, ration.clone());
        let (opener, wanted) = mpsc::channel(16);
        (Self { connection: Connection::new(watched.compat(), config, mode), ration, wanted }, Opener(opener))
    }

    /// Moves bytes until the link ends, handing each stream that the other end opens to `accept`.
    ///
    /// Returns when the other end closed the link, or every [`Opener`] is gone (then closing it first), with
    /// everything still open on it ended.
    ///
    /// # Errors
    /// When the stream below breaks or the other end does not speak yamux.
    pub async fn run(mut self, mut accept: impl FnMut(Stream)) -> Result<(), ConnectionError> {
        let mut asked: Option<oneshot::Sender<Stream>> = None;
        let ended = poll_fn(|cx| self.step(cx, &mut asked, &mut accept)).await;
        match ended {
            Some(result) => result,
            None => tokio::time::timeout(CLOSING, poll_fn(|cx| self.connection.poll_close(cx)))
                .await
                .unwrap_or(Err(ConnectionError::Closed)),
        }
    }

    /// `None`: nobody is left to use the link.
    fn step(
        &mut self,
        cx: &mut Context<'_>,
        asked: &mut Option<oneshot::Sender<Stream>>,
        accept: &mut impl FnMut(Stream),
    ) -> Poll<Option<Result<(), ConnectionError>>> {
        loop {
            if asked.is_none() {
                match self.wanted.poll_recv(cx) {
                    Poll::Ready(Some(reply)) => *asked = Some(reply),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => {}
                }
            }
            if asked.is_some() {
                match self.connection.poll_new_outbound(cx) {
                    Poll::Ready(Ok(stream)) => {
                        if let Some(reply) = asked.take() {
                            // Whoever asked may have gone; the stream then ends here.
                            let _ = reply.send(Stream::new(stream, &self.ration));
                        }
                        continue;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                    Poll::Pending => {}
                }
            }
            match self.connection.poll_next_inbound(cx) {
                Poll::Ready(Some(Ok(stream))) => accept(Stream::new(stream, &self.ration)),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(Some(Ok(()))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
