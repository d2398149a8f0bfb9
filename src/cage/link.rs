//! How does the launcher steer a cage that it does not trust?
//!
//! Through one byte stream with init at its other end (`pinfold_init` has the protocol). The launcher starts
//! programs, gets their three streams, puts and gets files, and answers what init asks: may this name be looked
//! up, may this connection leave. All of that is decided by the [`Gate`], never by init.
//!
//! Invariants: every message from init is bounded and of the expected kind, anything else ends the link with
//! [`LinkError::Misbehaved`]; no byte from init makes the launcher panic, wait for ever or grow without bound;
//! when the link ends, everything pending on it ends; when the [`Link`] is dropped, the cage ends.

mod program;
mod running;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pinfold_init::message::{self, MessageError};
use pinfold_init::mux::{Mode, Mux, Opener, Stream};
use pinfold_init::protocol::{
    self, Answer, Asking, Connected, Done, Found, Greeting, MAX_CONNECTIONS, MAX_FROM_INIT, Mounted, Opening,
    Question, Terms,
};
use pinfold_init::relay::relay;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use self::program::{Argument, Ending, Program, Value};
pub use self::running::{Exit, Handle, Input, Output, Running};
use super::gate::Gate;
use super::gate::GateRefused;
use super::profile;
use crate::failure::{Code, Failure};
use crate::text::Shown;
pub use pinfold_init::protocol::{Facts, Mount};

/// How long init may take to greet. Its own part is milliseconds; the rest is the engine starting the cage.
const GREETING: Duration = Duration::from_secs(30);

/// How long init may take to say what a stream is that it opened.
const ASKING: Duration = Duration::from_secs(10);

/// How long init may take to answer a request that is no more than a few system calls.
const ANSWERING: Duration = Duration::from_secs(30);

/// Most mounts a cage may have; a plan's are fewer by far.
const MAX_MOUNTS: usize = 2_048;

/// What the port of init's DNS is in a cage.
const DNS_PORT: u16 = 53;

/// Why the cage could not be steered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// The engine, the cage or init went away.
    #[error("the link to the cage ended")]
    Broken,
    /// Init said something that it must not say.
    #[error("the cage's init broke the protocol: {0}")]
    Misbehaved(&'static str),
    /// Init did not answer in time.
    #[error("the cage's init does not answer")]
    Silent,
    /// Init is of another build.
    #[error("the cage's init speaks protocol {theirs}, this pinfold {}", protocol::VERSION)]
    Version {
        /// The version it speaks.
        theirs: u32,
    },
    /// Init cannot serve DNS or a port in this cage.
    #[error("the cage cannot serve what its plan needs: {why}")]
    Unable {
        /// Init's words.
        why: Shown,
    },
    /// The program is not there, or cannot be executed.
    #[error("{program} could not be started: {why}")]
    NotStarted {
        /// The first word of the command.
        program: Shown,
        /// The system's reason, in init's words.
        why: Shown,
    },
    /// Another program runs on this link.
    #[error("another program still runs in this cage")]
    Busy,
    /// A file could not be written into the cage or read from it.
    #[error("{path} in the cage: {why}")]
    File {
        /// Where.
        path: Shown,
        /// The reason.
        why: Shown,
    },
    /// A program or path that cannot be expressed to the system.
    #[error("cannot be given to a program: {0}")]
    Unsendable(&'static str),
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        let why = error.to_string();
        match error {
            LinkError::Broken | LinkError::Silent => Failure::new(
                Code::EngineFailed,
                "the cage ended unexpectedly",
                why,
                "`pinfold doctor` starts a cage and shows what it finds",
            ),
            LinkError::Misbehaved(_) | LinkError::Busy => Failure::new(
                Code::Other,
                "the cage was given up",
                why,
                "try again; if it happens again, please report it",
            ),
            LinkError::Version { .. } => Failure::new(
                Code::EngineFailed,
                "the sealed image was made by another version of pinfold",
                why,
                "unmount the server and mount it again",
            ),
            LinkError::Unable { .. } => Failure::new(
                Code::CageWeaker,
                "the cage is not as it must be",
                why,
                "`pinfold doctor` starts a cage and shows what it finds",
            ),
            LinkError::NotStarted { .. } => Failure::new(
                Code::ServerFailed,
                "the package's program did not start",
                why,
                "tell its author: the file has to be executable, and what its first line names has to be there; another program of the package is chosen with `--bin`",
            ),
            LinkError::File { .. } => Failure::new(
                Code::Other,
                "a file could not be moved into or out of the cage",
                why,
                "see that the engine's disk and this machine's memory have room, then try again",
            ),
            LinkError::Unsendable(_) => Failure::new(
                Code::LaunchRefused,
                "the program cannot be started",
                why,
                "change the argument or the variable",
            ),
        }
    }
}

/// The launcher's end of the link with one cage. Dropped, it ends the cage.
pub struct Link {
    opener: Opener,
    facts: Facts,
    ends: Ends,
    driver: JoinHandle<()>,
    runs: AtomicU32,
    busy: Arc<AtomicBool>,
}

/// The end of a link, as everything on it gets to know of it.
#[derive(Clone)]
struct Ends(Arc<(CancellationToken, OnceLock<&'static str>)>);

impl Ends {
    fn new() -> Self {
        Self(Arc::new((CancellationToken::new(), OnceLock::new())))
    }

    /// Init broke the protocol: gives up the link. The first fault is the one that is told.
    fn misbehaved(&self, what: &'static str) -> LinkError {
        let _ = self.0.1.set(what);
        self.0.0.cancel();
        self.error()
    }

    fn over(&self) {
        self.0.0.cancel();
    }

    async fn ended(&self) {
        self.0.0.cancelled().await;
    }

    /// Why nothing moves any more.
    fn error(&self) -> LinkError {
        self.0.1.get().map_or(LinkError::Broken, |what| LinkError::Misbehaved(what))
    }

    /// Reads a message, taking every failure for what it says of the link.
    async fn read<T: serde::de::DeserializeOwned>(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> Result<T, LinkError> {
        let read = tokio::select! {
            read = message::read(stream, MAX_FROM_INIT) => read,
            () = self.ended() => return Err(self.error()),
        };
        match read {
            Ok(message) => Ok(message),
            Err(MessageError::Ended | MessageError::Broke(_)) => Err(self.error()),
            Err(MessageError::TooLong { .. }) => Err(self.misbehaved("a message beyond its bound")),
            Err(MessageError::Malformed(_)) => Err(self.misbehaved("a message that does not belong there")),
        }
    }

    /// As [`Ends::read`], for an answer that takes init no time.
    async fn answer<T: serde::de::DeserializeOwned>(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        within: Duration,
    ) -> Result<T, LinkError> {
        timeout(within, self.read(stream)).await.unwrap_or(Err(LinkError::Silent))
    }
}

impl Link {
    /// Greets the init at the other end of `stream` and serves what it asks from `gate`, in a task of its own.
    ///
    /// # Errors
    /// When nobody greets back within 30 s, or init is of another build or cannot serve the gate's ports.
    pub async fn open<S>(stream: S, gate: Arc<dyn Gate>) -> Result<Self, LinkError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::open_with_dns(stream, gate, DNS_PORT).await
    }

    async fn open_with_dns<S>(stream: S, gate: Arc<dyn Gate>, dns_port: u16) -> Result<Self, LinkError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (mux, opener) = Mux::new(stream, Mode::Client);
        let ends = Ends::new();
        let (ports, localhost) = (gate.ports(), gate.localhost());
        let paths = |paths: &[&str]| paths.iter().map(ToString::to_string).collect();
        let (hidden, fixed) = (paths(profile::HIDDEN), paths(profile::FIXED));
        let terms = Terms { version: protocol::VERSION, ports, localhost, dns_port, hidden, fixed };
        let driver = tokio::spawn(drive(mux, gate, ends.clone()));
        let greet = async {
            let mut hello = opener.open().await.map_err(|_| ends.error())?;
            message::write(&mut hello, &Opening::Hello(terms)).await.map_err(|_| ends.error())?;
            ends.answer(&mut hello, GREETING).await
        };
        // On every way out but the last the opener is dropped, and the link with it.
        let (version, greeting) = match greet.await? {
            Greeting::Ready { version, facts } => (version, Ok(*facts)),
            Greeting::Unable { version, why } => (version, Err(LinkError::Unable { why: Shown::new(&why) })),
        };
        if version != protocol::VERSION {
            return Err(LinkError::Version { theirs: version });
        }
        let facts = greeting?;
        Ok(Self {
            opener,
            facts,
            ends,
            driver,
            runs: AtomicU32::new(0),
            busy: Arc::new(AtomicBool::new(false)),
        })
    }

    /// What the cage was like before anything ran in it, as init saw it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Starts a program; it runs when this returns.
    ///
    /// # Errors
    /// [`LinkError::Busy`] while another runs; [`LinkError::NotStarted`] if the system will not start it.
    pub async fn run(&self, program: Program) -> Result<Running, LinkError> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let message = program.message(run)?;
        let turn = running::Turn::take(&self.busy).ok_or(LinkError::Busy)?;
        let open = async |opening: &[u8]| {
            let mut stream = self.opener.open().await.map_err(|_| self.ends.error())?;
            stream.write_all(opening).await.map_err(|_| self.ends.error())?;
            Ok::<Stream, LinkError>(stream)
        };
        let standard = |which| {
            message::encode(&Opening::Stream { run, which })
                .map_err(|_| LinkError::Unsendable("a stream's opening"))
        };
        let stdin = open(&standard(protocol::Standard::Input)?).await?;
        let stdout = open(&standard(protocol::Standard::Output)?).await?;
        let stderr = open(&standard(protocol::Standard::Error)?).await?;
        let mut control = open(&message).await?;
        drop(message);
        match self.ends.answer(&mut control, ANSWERING).await? {
            protocol::Event::Started => {}
            protocol::Event::NotStarted { why } => {
                let program = Shown::new(program.name());
                return Err(LinkError::NotStarted { program, why: Shown::new(&why) });
            }
            protocol::Event::Exited(_) | protocol::Event::Killed(_) => {
                return Err(self.ends.misbehaved("an end before the start"));
            }
        }
        Ok(Running::new(stdin, stdout, stderr, control, self.ends.clone(), turn))
    }

    /// Writes a file into the cage: exactly `len` bytes of `bytes`. Missing folders are made; a file that is
    /// there is replaced.
    ///
    /// # Errors
    /// [`LinkError::File`] if `bytes` ends early or breaks, or the cage's disk will not take it.
    pub async fn put(
        &self,
        path: &str,
        mode: u32,
        bytes: impl AsyncRead + Unpin,
        len: u64,
    ) -> Result<(), LinkError> {
        let failed = |why: &str| LinkError::File { path: Shown::new(path), why: Shown::new(why) };
        let mut stream = self.opener.open().await.map_err(|_| self.ends.error())?;
        let opening = Opening::Put { path: path.into(), mode, length: len };
        message::write(&mut stream, &opening).await.map_err(|_| self.ends.error())?;
        let mut bytes = bytes.take(len);
        let mut sent = 0;
        let mut buffer = vec![0; pinfold_init::mux::FRAME];
        while sent < len {
            let read = bytes.read(&mut buffer).await.map_err(|error| failed(&error.to_string()))?;
            if read == 0 {
                return Err(failed("it ended before its announced length"));
            }
            match timeout(ANSWERING, stream.write_all(&buffer[..read])).await {
                Ok(Ok(())) => {}
                // Init has given up on it; its answer says why.
                Ok(Err(_)) => break,
                Err(_) => return Err(LinkError::Silent),
            }
            sent += read as u64;
        }
        match self.ends.answer(&mut stream, ANSWERING).await? {
            Done::Written if sent == len => Ok(()),
            Done::Written => Err(self.ends.misbehaved("a file taken before it was sent")),
            Done::Failed { why } => Err(failed(&why)),
        }
    }

    /// What is mounted in the cage, in the order it was; as init says, so worth something while nothing else has run.
    ///
    /// # Errors
    /// When the link ends, or init says more than a cage can have.
    pub async fn mounts(&self) -> Result<Vec<Mount>, LinkError> {
        let mut stream = self.opener.open().await.map_err(|_| self.ends.error())?;
        message::write(&mut stream, &Opening::Mounts).await.map_err(|_| self.ends.error())?;
        let mut mounts = Vec::new();
        loop {
            match self.ends.answer(&mut stream, ANSWERING).await? {
                Mounted::Done => return Ok(mounts),
                Mounted::At(_) if mounts.len() == MAX_MOUNTS => {
                    return Err(self.ends.misbehaved("more mounts than a cage can have"));
                }
                Mounted::At(mount) => mounts.push(mount),
            }
        }
    }

    /// Reads a regular file of at most `limit` bytes out of the cage. What it holds is the cage's word.
    ///
    /// # Errors
    /// [`LinkError::File`] if it is not there, not a regular file or longer than `limit`.
    pub async fn get(&self, path: &str, limit: u64) -> Result<Vec<u8>, LinkError> {
        let failed = |why: &str| LinkError::File { path: Shown::new(path), why: Shown::new(why) };
        let mut stream = self.opener.open().await.map_err(|_| self.ends.error())?;
        let opening = Opening::Get { path: path.into(), limit };
        message::write(&mut stream, &opening).await.map_err(|_| self.ends.error())?;
        let length = match self.ends.answer(&mut stream, ANSWERING).await? {
            Found::File { length } if length <= limit => length,
            Found::File { .. } => return Err(self.ends.misbehaved("a file beyond its bound")),
            Found::Failed { why } => return Err(failed(&why)),
        };
        let mut left = stream.take(length);
        // Not allocated at once: the length is init's word.
        let mut bytes = Vec::new();
        loop {
            match timeout(ANSWERING, left.read_buf(&mut bytes)).await {
                Ok(Ok(0)) if bytes.len() as u64 == length => return Ok(bytes),
                Ok(Ok(0) | Err(_)) => return Err(failed("it ended before its announced length")),
                Ok(Ok(_)) => {}
                Err(_) => return Err(LinkError::Silent),
            }
        }
    }

    /// Ends the cage: whatever still runs in it is killed. Returns when the stream below is closed.
    pub async fn close(self) {
        drop(self.opener);
        // An error means that the driver is gone, which is all that is wanted.
        let _ = self.driver.await;
    }
}

/// Moves the link's bytes and answers init, until the link ends.
async fn drive<S>(mux: Mux<S>, gate: Arc<dyn Gate>, ends: Ends)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let server = Arc::new(Server {
        gate,
        ends: ends.clone(),
        connections: Semaphore::new(MAX_CONNECTIONS),
        names: AtomicBool::new(false),
    });
    let accept = |stream| {
        let (server, ends) = (server.clone(), ends.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = server.serve(stream) => {}
                () = ends.ended() => {}
            }
        });
    };
    tokio::select! {
        // Why it ended is of no use to anybody: the cage is gone.
        _ = mux.run(accept) => {}
        () = ends.ended() => {}
    }
    ends.over();
}

/// What answers the streams that init opens.
struct Server {
    gate: Arc<dyn Gate>,
    ends: Ends,
    connections: Semaphore,
    names: AtomicBool,
}

impl Server {
    async fn serve(&self, mut stream: Stream) {
        match self.ends.answer(&mut stream, ASKING).await {
            Ok(Asking::Names) => self.names(stream).await,
            Ok(Asking::Connect { name, port }) => self.connect(stream, name.as_str(), port).await,
            // Too slow, or told to the link already.
            Err(_) => {}
        }
    }

    async fn names(&self, mut stream: Stream) {
        if self.names.swap(true, Ordering::Relaxed) {
            self.ends.misbehaved("a second stream of questions");
            return;
        }
        while let Ok(Question { name }) = self.ends.read(&mut stream).await {
            let allowed = self.gate.name(name.as_str()).await;
            if message::write(&mut stream, &Answer { allowed }).await.is_err() {
                return;
            }
        }
    }

    async fn connect(&self, mut stream: Stream, name: &str, port: u16) {
        let connection = match self.connections.try_acquire() {
            Ok(permit) => self.gate.connect(name, port).await.map(|connection| (connection, permit)),
            Err(_) => Err(GateRefused::new("too many connections at once")),
        };
        let open = connection.is_ok();
        if message::write(&mut stream, &Connected { open }).await.is_err() {
            return;
        }
        if let Ok((connection, _permit)) = connection {
            // However it ends, both sides see it: in order by its last chunk, else by the reset of the stream.
            let _ = relay(connection, stream).await;
        }
    }
}
