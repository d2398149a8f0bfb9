//! What do the two directions of a session share, and who writes?
//!
//! Two pumps, one a direction, each holding at most one line. There is no queue of their lines anywhere: a side
//! that does not read stops its pump, and with it the other side, so nothing grows. What we say ourselves goes
//! through two short bounded channels, since a pump that waited for the side it does not read from could wait for
//! ever. A client that leaves is noticed whatever its pump waits for, and from then on every wait has an end.
//!
//! Invariants: one writer at a time a direction, whole lines only; a flush after each line; nothing is sent that
//! the [`Referee`] did not decide.

use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, watch};

use super::envelope::Broken;
use super::lines::{Ahead, Line, Lines};
use super::referee::{Moves, Referee};
use super::session::{Dropped, Ending, Event, LAST_WORDS, Left, Policy};

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
    to_server: mpsc::Receiver<Vec<u8>>,
}

/// What the pumps share.
pub(super) struct Table<CW, SW> {
    referee: Mutex<Referee>,
    client: Outlet<CW>,
    server: Outlet<SW>,
    say_client: mpsc::Sender<Vec<u8>>,
    say_server: mpsc::Sender<Vec<u8>>,
    /// Held calls may be decided.
    release: Notify,
    /// A line of our own that was taken from its channel and not begun to be written.
    unsaid: Mutex<Option<Vec<u8>>>,
    /// The next deadline may be another.
    deadline: Notify,
    /// There may be room for another held call.
    room: Notify,
    /// When the client was seen to have left.
    client_left: watch::Sender<Option<tokio::time::Instant>>,
    /// A line of our own could not be written to the client.
    client_broke: Notify,
    /// How long the session goes on after its client.
    ending: Duration,
    events: mpsc::Sender<Event>,
    /// When the present second of events began, and how many were told in it.
    told: Mutex<(Instant, u32)>,
}

impl<CW: AsyncWrite + Unpin, SW: AsyncWrite + Unpin> Table<CW, SW> {
    pub fn new(policy: Policy, to_client: CW, to_server: SW, events: mpsc::Sender<Event>) -> (Self, Said) {
        let (say_client, said_client) = mpsc::channel(OWN_LINES);
        let (say_server, said_server) = mpsc::channel(OWN_LINES);
        let ending = policy.ending;
        let table = Self {
            referee: Mutex::new(Referee::new(policy)),
            client: Outlet::new(to_client),
            server: Outlet::new(to_server),
            say_client,
            say_server,
            release: Notify::new(),
            unsaid: Mutex::new(None),
            deadline: Notify::new(),
            room: Notify::new(),
            client_left: watch::Sender::new(None),
            client_broke: Notify::new(),
            ending,
            events,
            told: Mutex::new((Instant::now(), 0)),
        };
        (table, Said { to_client: said_client, to_server: said_server })
    }

    /// Carries what the client says, until it leaves and its last call is on its way, or has had its time to be.
    pub async fn pump_client(&self, lines: Lines<impl AsyncRead + Unpin>) {
        tokio::select! {
            () = self.carry(lines) => {
                self.client_leaves();
                let grace = tokio::time::timeout(self.ending / 2, self.server.close());
                if grace.await.is_ok() {
                    return;
                }
            }
            // The server does not take what it is given: it learns of the end by that of its input.
            () = self.client_left_for(self.ending / 2) => {}
        }
        self.server.cut().await;
    }

    async fn carry(&self, mut lines: Lines<impl AsyncRead + Unpin>) {
        loop {
            let room = async {
                while self.with(|referee| referee.ledger.held_full()) {
                    self.room.notified().await;
                }
            };
            self.watching(lines.ahead(), room).await;
            // A read that fails is an end like any other.
            let Ok(Some((line, ahead))) = lines.next_and_ahead().await else { break };
            let (moves, line) = match line {
                Line::Whole(line) => (self.with(|referee| referee.client_says(line)), Some(line)),
                Line::TooLong { head, tail } => {
                    let broken = Broken::too_long(head, tail);
                    (self.with(|referee| referee.client_broke(&broken)), None)
                }
            };
            self.watching(ahead, self.follow(moves, line)).await;
        }
        self.client_leaves();
        while self.with(|referee| referee.ledger.holds_any()) {
            self.room.notified().await;
        }
    }

    /// Does what follows from a line of the client's.
    async fn follow(&self, moves: Moves, line: Option<&mut Vec<u8>>) {
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
            self.release.notify_one();
        }
    }

    /// Does `work`, and meanwhile notices whether the client leaves.
    async fn watching(&self, ahead: &mut Ahead<impl AsyncRead + Unpin>, work: impl Future<Output = ()>) {
        tokio::pin!(work);
        tokio::select! {
            biased;
            () = &mut work => return,
            () = ahead.ended() => self.client_leaves(),
        }
        work.await;
    }

    /// The client closed its end. Only the first time counts.
    pub fn client_leaves(&self) {
        self.client_left.send_if_modified(|left| {
            let news = left.is_none();
            left.get_or_insert_with(tokio::time::Instant::now);
            news
        });
    }

    pub fn has_client_left(&self) -> bool {
        self.client_left.borrow().is_some()
    }

    /// How long the session goes on after its client.
    pub fn ending(&self) -> Duration {
        self.ending
    }

    /// Resolves once the client has been gone for `time`.
    pub async fn client_left_for(&self, time: Duration) {
        let mut left = self.client_left.subscribe();
        // The sender is ours, so it is there.
        let since = left.wait_for(Option::is_some).await.ok().and_then(|since| *since);
        if let Some(since) = since {
            tokio::time::sleep_until(since + time).await;
        }
    }

    /// Resolves when a line of our own could not be written to the client.
    pub async fn client_breaks(&self) {
        self.client_broke.notified().await;
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
                self.tell_server(line);
            }
            if moves.release {
                self.release.notify_one();
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

    /// An answer to the server, or the next step of a look-up, which has a deadline.
    fn tell_server(&self, line: Vec<u8>) {
        if self.say_server.try_send(line).is_err() {
            // It asks and does not read: waiting for it would keep the client from what it says.
            self.with(|referee| referee.drop(Dropped::Unread));
        }
    }

    /// Writes our own answers to the client. Does not end.
    async fn speak_to_client(&self, said: &mut mpsc::Receiver<Vec<u8>>) {
        while let Some(line) = said.recv().await {
            *lock(&self.unsaid) = Some(line);
            let mut writer = self.client.writer.lock().await;
            let line = lock(&self.unsaid).take().unwrap_or_default();
            if writer.write(&line).await.is_err() {
                self.client_broke.notify_one();
            }
        }
    }

    async fn speak_to_server(&self, said: &mut mpsc::Receiver<Vec<u8>>) {
        loop {
            tokio::select! {
                Some(line) = said.recv() => {
                    let _ = self.server.write(&line).await;
                }
                () = self.release.notified() => {
                    self.release_held().await;
                    self.room.notify_one();
                }
            }
        }
    }

    /// Decides the held calls that can be decided, in their order.
    async fn release_held(&self) {
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
                self.release.notify_one();
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
        let patience = match *self.client_left.borrow() {
            Some(since) => LAST_WORDS.min(self.ending.saturating_sub(since.elapsed())),
            None => LAST_WORDS,
        };
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
            let _ = tokio::time::timeout(patience, self.client.write(&rest)).await;
        }
        self.server.cut().await;
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
    /// Whoever writes is to give up.
    cut: watch::Sender<bool>,
}

struct Writer<W> {
    /// `None` once it is cut off.
    to: Option<W>,
    /// Nothing more can be written: it is closed, or a line was cut off in the middle.
    shut: bool,
    cut: watch::Receiver<bool>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    fn new(to: W) -> Self {
        let (cut, told) = watch::channel(false);
        Self { writer: tokio::sync::Mutex::new(Writer { to: Some(to), shut: false, cut: told }), cut }
    }

    async fn write(&self, line: &[u8]) -> io::Result<()> {
        self.writer.lock().await.write(line).await
    }

    async fn close(&self) {
        let mut writer = self.writer.lock().await;
        if !std::mem::replace(&mut writer.shut, true)
            && let Some(to) = &mut writer.to
        {
            let _ = to.shutdown().await;
        }
    }

    /// Drops the stream, in the middle of a line or not. A write that is under way fails.
    async fn cut(&self) {
        self.cut.send_replace(true);
        let mut writer = self.writer.lock().await;
        writer.shut = true;
        writer.to = None;
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        // Shut until the line is out, so that a write which is given up half-way is the last.
        if std::mem::replace(&mut self.shut, true) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let Some(to) = &mut self.to else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let writing = async {
            to.write_all(line).await?;
            to.flush().await
        };
        tokio::select! {
            biased;
            written = writing => written?,
            _ = self.cut.wait_for(|cut| *cut) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
        self.shut = false;
        Ok(())
    }
}
