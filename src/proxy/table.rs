//! What do the two directions of a session share, and who writes?
//!
//! Two pumps, one a direction, each holding at most one line. There is no queue of their lines anywhere: a side
//! that does not read stops its pump, and with it the other side, so nothing grows. What we say ourselves goes
//! through two short bounded channels, since a pump that waited for the side it does not read from could wait for
//! ever.
//!
//! Invariants: one writer at a time a direction, whole lines only; a flush after each line; nothing is sent that
//! the [`Referee`] did not decide.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

use super::envelope::Broken;
use super::lines::{Line, Lines};
use super::referee::{Moves, Referee};
use super::session::{Ending, Event, LAST_WORDS, Left, Policy};

/// Our own lines that may wait for a side to read.
const OWN_LINES: usize = 64;

/// Events of noise and drops that are told in one second; the rest is only counted.
const EVENTS_PER_SECOND: u32 = 20;

/// Why the pump from the server stopped.
pub(super) enum Stopped {
    Reading,
    Writing,
}

/// What is waiting to be said by us.
pub(super) struct Said {
    to_client: mpsc::Receiver<Vec<u8>>,
    to_server: mpsc::Receiver<Own>,
}

/// Something of our own to do towards the server.
enum Own {
    Line(Vec<u8>),
    /// Decide the held calls whose verdict is there.
    Release,
}

/// What the pumps share.
pub(super) struct Table<CW, SW> {
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
    pub fn new(policy: Policy, to_client: CW, to_server: SW, events: mpsc::Sender<Event>) -> (Self, Said) {
        let (say_client, said_client) = mpsc::channel(OWN_LINES);
        let (say_server, said_server) = mpsc::channel(OWN_LINES);
        let table = Self {
            referee: Mutex::new(Referee::new(policy)),
            client: Outlet::new(to_client),
            server: Outlet::new(to_server),
            say_client,
            say_server,
            unsaid: Mutex::new(None),
            deadline: Notify::new(),
            room: Notify::new(),
            events,
            told: Mutex::new((Instant::now(), 0)),
        };
        (table, Said { to_client: said_client, to_server: said_server })
    }

    /// Carries what the client says, until it leaves and its last call is on its way.
    pub async fn pump_client(&self, mut lines: Lines<impl AsyncRead + Unpin>) {
        loop {
            while self.with(|referee| referee.ledger.held_full()) {
                self.room.notified().await;
            }
            // A read that fails is an end like any other.
            let Ok(Some(line)) = lines.next().await else { break };
            let (moves, line) = match line {
                Line::Whole(line) => (self.with(|referee| referee.client_says(line)), Some(line)),
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

    /// Carries what the server says, until one of the two is gone.
    pub async fn pump_server(&self, mut lines: Lines<impl AsyncRead + Unpin>) -> Stopped {
        loop {
            let Ok(Some(line)) = lines.next().await else { return Stopped::Reading };
            let (moves, line) = match line {
                Line::Whole(line) => (self.with(|referee| referee.server_says(line)), Some(line)),
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

    /// Says what is ours to say, and gives up what is due. Does not end.
    pub async fn speak(&self, said: &mut Said) {
        tokio::join!(
            self.speak_to_client(&mut said.to_client),
            self.speak_to_server(&mut said.to_server),
            self.watch()
        );
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
    pub async fn close(self, left: Left, mut said: Said) -> Ending {
        let mut rest: Vec<u8> = lock(&self.unsaid).take().unwrap_or_default();
        while let Ok(line) = said.to_client.try_recv() {
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
        let _ = tokio::time::timeout(LAST_WORDS, self.server.close()).await;
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
