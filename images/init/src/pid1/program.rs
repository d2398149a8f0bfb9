//! What happens from a program's start to the end of everything it started?
//!
//! One at a time: started in a session of its own with the streams of the link as its standard streams; after
//! the end of its input it gets time to finish, then TERM, then KILL; after its exit its output is drained for a
//! bounded time, whatever it left behind is killed, and its status reported. An orphan that holds the output open
//! therefore delays the end by that bound, no longer.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use pinfold_init::message;
use pinfold_init::mux::{FRAME, Stream};
use pinfold_init::protocol::{Ending, Event, Launch, Order};
use rustix::process::Signal;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::reaper::Reaper;
use crate::sys;

/// How long killed processes may take to be gone before their end is reported all the same.
const GONE: Duration = Duration::from_secs(1);

/// Everything a run needs; each part comes on a stream of its own.
pub struct Parts {
    /// What to start.
    pub launch: Launch<'static>,
    /// Orders in, events out.
    pub control: Stream,
    /// The program's standard input.
    pub input: Stream,
    /// The program's standard output.
    pub output: Stream,
    /// The program's standard error.
    pub error: Stream,
}

struct Started {
    end: oneshot::Receiver<Event>,
    output: JoinHandle<()>,
    error: JoinHandle<()>,
}

/// Runs a program to its end.
pub async fn run(parts: Parts, mut reaper: Reaper) {
    let Parts { launch, control, input, output, error } = parts;
    let ending = launch.ending;
    let (from_launcher, mut to_launcher) = tokio::io::split(control);
    let mut started = match start(launch, input, output, error, &reaper) {
        Ok(started) => started,
        Err(error) => {
            // It may run, and only a pipe be missing.
            sys::end_everything();
            let _ = message::write(&mut to_launcher, &Event::NotStarted { why: error.to_string() }).await;
            let _ = to_launcher.shutdown().await;
            return;
        }
    };
    // A failed write shows in what is read: the launcher has dropped the run.
    let _ = message::write(&mut to_launcher, &Event::Started).await;
    let (orders, ordered) = mpsc::channel(4);
    let listener = tokio::spawn(listen(from_launcher, orders));
    let event = end(&mut started, ordered, ending).await;
    let drained = async {
        // An error would be a panic, which ends init.
        let _ = tokio::join!(started.output, started.error);
    };
    let _ = timeout(Duration::from_millis(ending.drain_ms), drained).await;
    sys::end_everything();
    let _ = timeout(GONE, reaper.childless()).await;
    let _ = message::write(&mut to_launcher, &event).await;
    let _ = to_launcher.shutdown().await;
    // Until the launcher has let go: a stream dropped while its other end writes would be reset.
    let _ = timeout(GONE, listener).await;
}

fn start(
    launch: Launch<'static>,
    input: Stream,
    output: Stream,
    error: Stream,
    reaper: &Reaper,
) -> io::Result<Started> {
    let (program, arguments) =
        launch.argv.split_first().ok_or_else(|| io::Error::other("a program without a name"))?;
    let mut command = Command::new(&**program);
    command.args(arguments.iter().map(|argument| &**argument));
    command.env_clear().envs(launch.env.iter().map(|(name, value)| (&**name, &**value)));
    command.current_dir(&*launch.cwd);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    sys::in_own_session(&mut command);
    let (mut child, end) = reaper.spawn(&mut command)?;
    let missing = || io::Error::other("a program without a pipe");
    let stdin = pipe::Sender::from_owned_fd(child.stdin.take().ok_or_else(missing)?.into())?;
    let stdout = pipe::Receiver::from_owned_fd(child.stdout.take().ok_or_else(missing)?.into())?;
    let stderr = pipe::Receiver::from_owned_fd(child.stderr.take().ok_or_else(missing)?.into())?;
    tokio::spawn(carry_in(input, stdin));
    Ok(Started {
        end,
        output: tokio::spawn(carry_out(stdout, output)),
        error: tokio::spawn(carry_out(stderr, error)),
    })
}

/// Either end may stop first: the program by closing its input (the stream is then reset, and the launcher's next
/// write fails), the launcher by ending the stream (the pipe is then closed).
async fn carry_in(stream: Stream, mut pipe: pipe::Sender) {
    let _ = tokio::io::copy_buf(&mut BufReader::with_capacity(FRAME, stream), &mut pipe).await;
}

/// A program whose output nobody wants any more gets SIGPIPE.
async fn carry_out(pipe: pipe::Receiver, mut stream: Stream) {
    if tokio::io::copy_buf(&mut BufReader::with_capacity(FRAME, pipe), &mut stream).await.is_ok() {
        let _ = stream.shutdown().await;
    }
}

/// Passes orders on until the launcher has dropped the run; then the channel closes.
async fn listen(mut from_launcher: impl tokio::io::AsyncRead + Unpin, orders: mpsc::Sender<Order>) {
    while let Ok(order) = message::read(&mut from_launcher, 64).await {
        if orders.send(order).await.is_err() {
            // The program has ended; what is still ordered is only waited for.
            continue;
        }
    }
}

/// Waits for the program's end, bringing it about when it is time.
async fn end(started: &mut Started, mut ordered: mpsc::Receiver<Order>, ending: Ending) -> Event {
    let later = |millis: u64| Instant::now().checked_add(Duration::from_millis(millis));
    // What comes next, and when: TERM after the end of the input, KILL after TERM.
    let mut next: Option<(Signal, Instant)> = None;
    let mut terminated = false;
    let mut dropped = false;
    loop {
        let due = next.map(|(_, at)| at);
        let signal = tokio::select! {
            end = &mut started.end => return end.unwrap_or(Event::Exited(-1)),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                next.map_or(Signal::KILL, |(signal, _)| signal)
            }
            order = ordered.recv(), if !dropped => match order {
                Some(Order::InputEnded) => {
                    if next.is_none() && !terminated {
                        next = ending.finish_ms.and_then(later).map(|at| (Signal::TERM, at));
                    }
                    continue;
                }
                Some(Order::Terminate) => {
                    if terminated {
                        continue;
                    }
                    Signal::TERM
                }
                None => {
                    dropped = true;
                    Signal::KILL
                }
            },
        };
        sys::signal_everything(signal);
        terminated = true;
        next = if signal == Signal::TERM { later(ending.term_ms).map(|at| (Signal::KILL, at)) } else { None };
    }
}
