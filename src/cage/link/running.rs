//! What does the launcher hold of a program that runs in the cage?
//!
//! Its three streams and a handle. The handle is the program's life: dropped, the program and everything it
//! started are killed. The streams can be moved away from it, into pumps of their own.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use pinfold_init::message;
use pinfold_init::mux::Stream;
use pinfold_init::protocol::{Event, Order};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Ends, LinkError};

/// A program that runs in the cage.
pub struct Running {
    /// Its standard input. Shut down or dropped, the program reads the end of its input, and the schedule of its
    /// [`super::Ending`] begins.
    pub stdin: Input,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
    /// Its life: dropped, the program is killed.
    pub handle: Handle,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this exit status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A program's standard input.
pub struct Input {
    stream: Stream,
    /// Sent, or dropped, when the input has ended.
    ended: Option<oneshot::Sender<()>>,
}

/// One of a program's outputs. It ends when the program closed it, and also when the link ended:
/// [`Handle::exit`] tells which.
pub struct Output(Stream);

/// A program's life.
pub struct Handle {
    terminate: mpsc::Sender<()>,
    exit: watch::Receiver<Option<Exit>>,
    ends: Ends,
}

/// The one program that a link may run at a time.
pub(super) struct Turn(Arc<AtomicBool>);

impl Turn {
    pub(super) fn take(busy: &Arc<AtomicBool>) -> Option<Self> {
        (!busy.swap(true, Ordering::AcqRel)).then(|| Self(busy.clone()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Running {
    pub(super) fn new(
        stdin: Stream,
        stdout: Stream,
        stderr: Stream,
        control: Stream,
        ends: Ends,
        turn: Turn,
    ) -> Self {
        let (ended, input_ended) = oneshot::channel();
        let (terminate, orders) = mpsc::channel(1);
        let (report, exit) = watch::channel(None);
        tokio::spawn(steer(control, input_ended, orders, report, ends.clone(), turn));
        Self {
            stdin: Input { stream: stdin, ended: Some(ended) },
            stdout: Output(stdout),
            stderr: Output(stderr),
            handle: Handle { terminate, exit, ends },
        }
    }

    /// Waits for the program's end, as [`Handle::exit`].
    pub async fn exit(&mut self) -> Result<Exit, LinkError> {
        self.handle.exit().await
    }

    /// Ends the program, as [`Handle::terminate`].
    pub async fn terminate(&self) {
        self.handle.terminate().await;
    }
}

impl Handle {
    /// Waits until the program and everything it started are gone. Output may still be on its way: read both
    /// streams to their ends. Cancel-safe, and may be asked again.
    ///
    /// # Errors
    /// [`LinkError::Broken`] or [`LinkError::Misbehaved`] when the link ended first.
    pub async fn exit(&mut self) -> Result<Exit, LinkError> {
        match self.exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.ok_or(LinkError::Broken),
            Err(_) => Err(self.ends.error()),
        }
    }

    /// Sends TERM to everything in the cage, and KILL when [`super::Ending::terminate`] has passed. Does not wait
    /// for the end; asked again, it does nothing more.
    pub async fn terminate(&self) {
        // Full: asked already. Closed: the program is gone.
        let _ = self.terminate.try_send(());
    }
}

/// Carries orders to init and its last event back. Returns, and so drops the stream, which kills the program,
/// when the handle is gone.
async fn steer(
    control: Stream,
    mut input_ended: oneshot::Receiver<()>,
    mut orders: mpsc::Receiver<()>,
    report: watch::Sender<Option<Exit>>,
    ends: Ends,
    turn: Turn,
) {
    let (mut from, mut to) = tokio::io::split(control);
    let mut event = std::pin::pin!(ends.read(&mut from));
    let mut input_open = true;
    loop {
        let order = tokio::select! {
            event = &mut event => {
                // Before the end is told: who hears of it may start the next program at once.
                drop(turn);
                match event {
                    Ok(Event::Exited(code)) => { report.send_replace(Some(Exit::Code(code))); }
                    Ok(Event::Killed(signal)) => { report.send_replace(Some(Exit::Signal(signal))); }
                    Ok(Event::Started | Event::NotStarted { .. }) => { ends.misbehaved("a second start"); }
                    // Told to the link already, unless only this stream was dropped, which init must not do.
                    Err(LinkError::Broken) => { ends.over(); }
                    Err(_) => {}
                }
                return;
            }
            _ = &mut input_ended, if input_open => {
                input_open = false;
                Order::InputEnded
            }
            asked = orders.recv() => match asked {
                Some(()) => Order::Terminate,
                None => return,
            },
        };
        // A broken stream shows in what is read.
        let _ = message::write(&mut to, &order).await;
    }
}

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes).map_err(broken)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx).map_err(broken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx).map_err(broken);
        if shut.is_ready()
            && let Some(ended) = self.ended.take()
        {
            // Nobody listens: the program is gone.
            let _ = ended.send(());
        }
        shut
    }
}

/// yamux says "write zero" where the other end will take no more; for a program's input that is a broken pipe.
fn broken(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WriteZero => io::Error::new(io::ErrorKind::BrokenPipe, error),
        _ => error,
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}
