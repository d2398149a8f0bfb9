//! How do a client and a caged server talk, and how does that end?
//!
//! Two pumps, one a direction, each holding at most one line. There is no queue of their lines anywhere: a side
//! that does not read stops its pump, and with it the other side, so nothing grows. What we say ourselves goes
//! through two short bounded channels, since a pump that waited for the side it does not read from could wait for
//! ever. The rules are the [`Referee`]'s; this file only moves bytes.
//!
//! Invariants: one writer at a time a direction, whole lines only; a flush after each line; nothing is sent to the
//! client that was not asked of the referee.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

use super::envelope::Broken;
pub use super::from_server::Denied;
use super::gate::Gatekeeper;
use super::lines::{Line, Lines};
use super::lists::List;
use super::referee::{Moves, Referee};
pub use super::scan::Flaw;
use crate::screen::{Kind, Verdict};
use crate::text::Shown;

/// Our own lines that may wait for a side to read.
const OWN_LINES: usize = 64;

/// How long the rest of an ended server's output, or the news of its end, is waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Events of noise and drops that are told in one second; the rest is only counted.
const EVENTS_PER_SECOND: u32 = 20;

/// The four streams of a session. None should be buffered: lines are read and written whole.
#[derive(Debug)]
pub struct Streams<CR, CW, SR, SW> {
    /// What the client writes (our standard input).
    pub from_client: CR,
    /// What the client reads (our standard output).
    pub to_client: CW,
    /// What the server writes (its standard output).
    pub from_server: SR,
    /// What the server reads (its standard input).
    pub to_server: SW,
}

/// What a session allows.
#[derive(Clone)]
pub struct Policy {
    /// The server's local name, as messages and commands use it.
    pub server: String,
    /// The server may ask the client's model (`--allow-sampling`).
    pub sampling: bool,
    /// The server may ask the person (`--allow-elicitation`).
    pub elicitation: bool,
    /// How long the server may take to answer the opener, and a look-up of ours. Calls have no limit.
    pub opener_timeout: Duration,
    /// Rules on what the client may see.
    pub gatekeeper: Arc<dyn Gatekeeper>,
}

/// Something a person, the audit log or `pinfold tools` may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An item fails the screen: taken out of its list, and refused on call.
    Refused {
        /// What it is.
        kind: Kind,
        /// Its name or URI; empty for instructions and the server itself.
        name: Shown,
        /// Why.
        verdict: Verdict,
    },
    /// An item is held back until a person accepts it.
    Held {
        /// What it is.
        kind: Kind,
        /// Its name or URI; empty for instructions.
        name: Shown,
    },
    /// A call was answered by us: the item is withheld, or its verdict could not be had.
    CallRefused {
        /// Which list the item is on.
        list: List,
        /// What was called, at most 200 characters.
        name: Shown,
    },
    /// A text was replaced by a notice, or a member left out.
    Withheld {
        /// What it was part of.
        what: &'static str,
        /// The member's name, if it was one.
        member: Shown,
    },
    /// An item without a usable name, or one too many, was taken out of a list.
    Unusable {
        /// Which list.
        list: List,
    },
    /// Our own listing, made to check a call, came to nothing.
    LookUpFailed {
        /// Which list.
        list: List,
    },
    /// The server asked for something the plan does not allow.
    Denied(Denied),
    /// The server did not answer the opener in time.
    OpenerTimedOut,
    /// The start of a line of the server's that is no message, at most 200 characters.
    Noise(Shown),
    /// A message was dropped.
    Dropped(Dropped),
}

/// Why a message was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// It cannot be read in one way only.
    Malformed(Flaw),
    /// It answers nothing that is open: never asked, answered already, or given up.
    Unasked,
    /// A request of the server's where only the client may ask.
    WrongDirection,
    /// It cannot be screened and nobody waits for it.
    Unscreened,
}

/// How often what happened; events are told sparingly, these are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines of the server's that are no messages.
    pub noise: u64,
    /// Messages dropped, from either side.
    pub dropped: u64,
    /// Calls answered by us, since the item is withheld or cannot be checked.
    pub refused_calls: u64,
    /// Requests not taken, since too many are open or the id is.
    pub refused_requests: u64,
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEnd {
    /// In words that follow "it ended: ", such as `exit status 1`.
    pub how: String,
    /// The last lines of its standard error.
    pub last_words: Vec<Shown>,
}

impl From<String> for ServerEnd {
    fn from(how: String) -> Self {
        Self { how, last_words: Vec::new() }
    }
}

/// How a session ended, and what happened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Who left.
    pub left: Left,
    /// What was counted.
    pub counts: Counts,
}

/// Who left a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// The client closed its end, and the server ended after it.
    Client,
    /// The client stopped reading; the server may still run.
    ClientBroke,
    /// The server ended, or closed its output, while the client was there.
    Server(ServerEnd),
}

/// Carries a session until a side leaves.
///
/// `server_ended` says how the server ended, once it has; it must not resolve while the server runs. When the client
/// closes its end, the server's input is closed and its answers are still delivered until the server's output ends
/// or `server_ended` resolves: how long that may take is the caller's to decide. Events are offered to `events` and
/// lost when it is full. Not safe to cancel, but for ending the session.
pub async fn session<CR, CW, SR, SW, E>(
    streams: Streams<CR, CW, SR, SW>,
    policy: Policy,
    events: mpsc::Sender<Event>,
    server_ended: impl Future<Output = E>,
) -> Ending
where
    CR: AsyncRead + Unpin,
    CW: AsyncWrite + Unpin,
    SR: AsyncRead + Unpin,
    SW: AsyncWrite + Unpin,
    E: Into<ServerEnd>,
{
    let (say_client, mut said_client) = mpsc::channel(OWN_LINES);
    let (say_server, mut said_server) = mpsc::channel(OWN_LINES);
    let table = Table {
        referee: Mutex::new(Referee::new(policy)),
        client: Outlet::new(streams.to_client),
        server: Outlet::new(streams.to_server),
        say_client,
        say_server,
        unsaid: Mutex::new(None),
        deadline: Notify::new(),
        room: Notify::new(),
        events,
        told: Mutex::new((Instant::now(), 0)),
    };
    let left = {
        let client = table.pump_client(Lines::new(streams.from_client));
        let server = table.pump_server(Lines::new(streams.from_server));
        let own = async {
            tokio::join!(
                table.speak_to_client(&mut said_client),
                table.speak_to_server(&mut said_server),
                table.watch()
            );
        };
        tokio::pin!(client, server, own, server_ended);

        let mut client_left = false;
        let mut end: Option<ServerEnd> = None;
        let mut last = tokio::time::Instant::now();
        let why = loop {
            // In no fixed order: a server that never stops talking must not keep the client from being heard.
            tokio::select! {
                why = &mut server => break why,
                () = &mut client, if !client_left => client_left = true,
                () = &mut own => {}
                how = &mut server_ended, if end.is_none() => {
                    // What it wrote before it ended is still on its way.
                    end = Some(how.into());
                    last = tokio::time::Instant::now() + LAST_WORDS;
                }
                () = tokio::time::sleep_until(last), if end.is_some() => break Stopped::Reading,
            }
        };
        match why {
            Stopped::Writing => Left::ClientBroke,
            Stopped::Reading if client_left => Left::Client,
            Stopped::Reading => {
                if end.is_none() {
                    // How it ended is usually known a moment after its output closes.
                    end = tokio::time::timeout(LAST_WORDS, server_ended).await.ok().map(Into::into);
                }
                Left::Server(end.unwrap_or_else(|| "it closed its output".to_owned().into()))
            }
        }
    };
    table.close(left, said_client).await
}

/// Why the pump from the server stopped.
enum Stopped {
    Reading,
    Writing,
}

/// Something of our own to do towards the server.
enum Own {
    Line(Vec<u8>),
    /// Decide the held calls whose verdict is there.
    Release,
}

/// What the pumps share.
struct Table<CW, SW> {
    referee: Mutex<Referee>,
    client: Outlet<CW>,
    server: Outlet<SW>,
    say_client: mpsc::Sender<Vec<u8>>,
    say_server: mpsc::Sender<Own>,
    /// A line of our own that was taken from its channel and not begun to be written.
    unsaid: Mutex<Option<Vec<u8>>>,
    /// The next deadline may be another.
    deadline: Notify,
    /// There may be room for another held call.
    room: Notify,
    events: mpsc::Sender<Event>,
    /// When the present second of events began, and how many were told in it.
    told: Mutex<(Instant, u32)>,
}

impl<CW: AsyncWrite + Unpin, SW: AsyncWrite + Unpin> Table<CW, SW> {
    async fn pump_client(&self, mut lines: Lines<impl AsyncRead + Unpin>) {
        loop {
            while self.with(|referee| referee.ledger.held_full()) {
                self.room.notified().await;
            }
            // A read that fails is an end like any other.
            let Ok(Some(line)) = lines.next().await else { break };
            let (moves, line) = match line {
                Line::Whole(line) => (self.with(|referee| referee.from_client(line)), Some(line)),
                Line::TooLong { head, tail } => {
                    let broken = Broken::too_long(head, tail);
                    (self.with(|referee| referee.client_broke(&broken)), None)
                }
            };
            if let (true, Some(line)) = (moves.pass, line) {
                line.push(b'\n');
                if self.server.write(line).await.is_err()
                    && let Some(answer) = self.with(|referee| referee.unheard(line))
                {
                    self.answer_client(answer).await;
                }
            }
            if let Some(line) = moves.to_server {
                // If the server no longer reads, the look-up's deadline answers for it.
                let _ = self.server.write(&line).await;
            }
            if let Some(line) = moves.to_client {
                self.answer_client(line).await;
            }
            if moves.release {
                self.tell_server(Own::Release).await;
            }
        }
        while self.with(|referee| referee.ledger.holds_any()) {
            self.room.notified().await;
        }
        self.server.close().await;
    }

    async fn pump_server(&self, mut lines: Lines<impl AsyncRead + Unpin>) -> Stopped {
        loop {
            let Ok(Some(line)) = lines.next().await else { return Stopped::Reading };
            let (moves, line) = match line {
                Line::Whole(line) => (self.with(|referee| referee.from_server(line)), Some(line)),
                Line::TooLong { head, tail } => {
                    let broken = Broken::too_long(head, tail);
                    (self.with(|referee| referee.server_too_long(&broken, head)), None)
                }
            };
            if let (true, Some(line)) = (moves.pass, line) {
                line.push(b'\n');
                if self.client.write(line).await.is_err() {
                    return Stopped::Writing;
                }
            }
            if let Some(line) = moves.to_client
                && self.client.write(&line).await.is_err()
            {
                return Stopped::Writing;
            }
            if let Some(line) = moves.to_server {
                self.tell_server(Own::Line(line)).await;
            }
            if moves.release {
                self.tell_server(Own::Release).await;
            }
        }
    }

    async fn answer_client(&self, line: Vec<u8>) {
        // The receiver lives as long as the pumps do.
        let _ = self.say_client.send(line).await;
    }

    async fn tell_server(&self, own: Own) {
        let _ = self.say_server.send(own).await;
    }

    /// Writes our own answers to the client. Does not end: a client that broke is seen by the other pump or leaves.
    async fn speak_to_client(&self, said: &mut mpsc::Receiver<Vec<u8>>) {
        while let Some(line) = said.recv().await {
            *lock(&self.unsaid) = Some(line);
            let mut writer = self.client.writer.lock().await;
            let line = lock(&self.unsaid).take().unwrap_or_default();
            let _ = writer.write(&line).await;
        }
    }

    async fn speak_to_server(&self, said: &mut mpsc::Receiver<Own>) {
        while let Some(own) = said.recv().await {
            match own {
                Own::Line(line) => {
                    let _ = self.server.write(&line).await;
                }
                Own::Release => {
                    self.release().await;
                    self.room.notify_one();
                }
            }
        }
    }

    /// Decides the held calls that can be decided, in their order.
    async fn release(&self) {
        loop {
            // The writer first: a later call, which goes its way as soon as none is held, must find it taken.
            let mut writer = self.server.writer.lock().await;
            let Some(moves) = self.with(Referee::release) else { return };
            if let Some(line) = moves.to_server
                && writer.write(&line).await.is_err()
                && let Some(answer) = self.with(|referee| referee.unheard(&line))
            {
                drop(writer);
                self.answer_client(answer).await;
            } else if let Some(line) = moves.to_client {
                drop(writer);
                self.answer_client(line).await;
            }
        }
    }

    /// Gives up what is not answered in time.
    async fn watch(&self) {
        loop {
            match self.with(|referee| referee.ledger.next_deadline()) {
                None => self.deadline.notified().await,
                Some(next) => tokio::select! {
                    () = self.deadline.notified() => continue,
                    () = tokio::time::sleep_until(next.into()) => {}
                },
            }
            let moves: Moves = self.with(|referee| referee.expire(Instant::now()));
            if let Some(lines) = moves.to_client {
                self.answer_client(lines).await;
            }
            if moves.release {
                self.tell_server(Own::Release).await;
            }
        }
    }

    /// Asks the referee, and tells what it noticed.
    fn with<T>(&self, ask: impl FnOnce(&mut Referee) -> T) -> T {
        let mut referee = lock(&self.referee);
        let before = referee.ledger.next_deadline();
        let outcome = ask(&mut referee);
        if before != referee.ledger.next_deadline() {
            self.deadline.notify_one();
        }
        for event in referee.events.drain(..) {
            if matches!(event, Event::Noise(_) | Event::Dropped(_)) && !self.may_tell() {
                continue;
            }
            // A listener that does not keep up misses some; the counts are exact.
            let _ = self.events.try_send(event);
        }
        outcome
    }

    fn may_tell(&self) -> bool {
        let mut told = lock(&self.told);
        if told.0.elapsed() >= Duration::from_secs(1) {
            *told = (Instant::now(), 0);
        }
        told.1 += 1;
        told.1 <= EVENTS_PER_SECOND
    }

    /// Says what was left to say, and answers what is still open.
    async fn close(self, left: Left, mut said: mpsc::Receiver<Vec<u8>>) -> Ending {
        let mut rest: Vec<u8> = lock(&self.unsaid).take().unwrap_or_default();
        while let Ok(line) = said.try_recv() {
            rest.extend(line);
        }
        let end = match &left {
            Left::Server(end) => Some(end.clone()),
            // The client closed its input only: it may still read.
            Left::Client => Some("its input was closed".to_owned().into()),
            Left::ClientBroke => None,
        };
        if let Some(end) = end {
            rest.extend(self.with(|referee| referee.server_ended(&end.how, &end.last_words)));
            let _ = tokio::time::timeout(LAST_WORDS, self.client.write(&rest)).await;
        }
        self.server.close().await;
        let counts = self.with(|referee| referee.counts);
        Ending { left, counts }
    }
}

/// A poisoned lock means that a rule panicked, which ends the session's task anyway.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One side's writer.
struct Outlet<W> {
    writer: tokio::sync::Mutex<Writer<W>>,
}

struct Writer<W> {
    to: W,
    /// Nothing more can be written: it is closed, or a line was cut off in the middle.
    shut: bool,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    fn new(to: W) -> Self {
        Self { writer: tokio::sync::Mutex::new(Writer { to, shut: false }) }
    }

    async fn write(&self, line: &[u8]) -> io::Result<()> {
        self.writer.lock().await.write(line).await
    }

    async fn close(&self) {
        let mut writer = self.writer.lock().await;
        if !std::mem::replace(&mut writer.shut, true) {
            let _ = writer.to.shutdown().await;
        }
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        // Shut until the line is out, so that a write which is given up half-way is the last.
        if std::mem::replace(&mut self.shut, true) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.to.write_all(line).await?;
        self.to.flush().await?;
        self.shut = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
