//! Which requests are open, which calls wait for a verdict, and what is known by now?
//!
//! Plain data with no I/O. Everything in it is bounded: [`OPEN`] requests a direction, [`HELD`] waiting calls of
//! [`HELD_BYTES`] together, one look-up a list of at most [`PAGES`] pages.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use serde_json::Value;

use super::envelope::Id;
use super::lists::{Known, List, Page};

/// The most requests open in one direction.
pub const OPEN: usize = 1024;

/// The most calls that wait for their verdict.
pub(super) const HELD: usize = 64;

/// The most bytes of calls that wait: more than one call can have.
pub(super) const HELD_BYTES: usize = 32 * 1024 * 1024;

/// The most pages one listing may have.
pub const PAGES: usize = 1000;

/// Which lifecycle the session uses, decided by the client's opener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    /// The client has asked nothing yet.
    Unopened,
    Handshake,
    Stateless,
}

/// What a client's open request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Opener,
    List {
        list: List,
        page: Page,
    },
    /// Its whole result is text for a model.
    Text,
    /// Waits for its verdict; the server has not seen it.
    Held,
    Other,
}

/// A call that waits for its verdict.
#[derive(Debug)]
pub(super) struct HeldCall {
    pub id: Id,
    pub list: List,
    pub name: String,
    pub line: Vec<u8>,
}

/// Our own listing, made to find a verdict.
#[derive(Debug)]
pub(super) struct LookUp {
    pub id: Id,
    pub deadline: Instant,
    /// The round of its listing.
    pub round: u64,
    /// The `_meta` of the call that started it: in the stateless era it is what the server answers by.
    pub meta: Option<Value>,
    pub cursors: HashSet<String>,
}

#[derive(Debug)]
pub(super) struct Ledger {
    pub now: Now,
    from_client: HashMap<Id, Topic>,
    from_server: HashSet<Id>,
    openers: Vec<(Id, Instant)>,
    known: [Known; 4],
    look_ups: [Option<LookUp>; 4],
    held: VecDeque<HeldCall>,
    held_bytes: usize,
    prefix: String,
    issued: u64,
}

/// Why a request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotTaken {
    InUse,
    TooMany,
}

impl Ledger {
    pub fn new() -> Self {
        Self {
            now: Now::Unopened,
            from_client: HashMap::new(),
            from_server: HashSet::new(),
            openers: Vec::new(),
            known: Default::default(),
            look_ups: Default::default(),
            held: VecDeque::new(),
            held_bytes: 0,
            // A client's id cannot clash with it but by luck of 2^-64.
            prefix: format!("pinfold-{:016x}-", rand::random::<u64>()),
            issued: 0,
        }
    }

    pub fn client_asks(&mut self, id: &Id, topic: Topic) -> Result<(), NotTaken> {
        if self.from_client.contains_key(id) {
            return Err(NotTaken::InUse);
        }
        if self.from_client.len() >= OPEN {
            return Err(NotTaken::TooMany);
        }
        self.from_client.insert(id.clone(), topic);
        Ok(())
    }

    /// The opener `id` must be answered by `deadline`.
    pub fn expect_opened(&mut self, id: &Id, deadline: Instant) {
        self.openers.push((id.clone(), deadline));
    }

    /// The server answers `id`: what that was about, if it was asked and not answered yet.
    pub fn server_answers(&mut self, id: &Id) -> Option<Topic> {
        if self.from_client.get(id)? == &Topic::Held {
            return None;
        }
        self.openers.retain(|(opener, _)| opener != id);
        self.from_client.remove(id)
    }

    /// Whether `id` is a request of the client's that is open.
    pub fn client_waits(&self, id: &Id) -> bool {
        self.from_client.contains_key(id)
    }

    /// The client no longer wants `id`; true if the server has never seen it.
    pub fn client_cancels(&mut self, id: &Id) -> bool {
        self.openers.retain(|(opener, _)| opener != id);
        if self.from_client.remove(id) != Some(Topic::Held) {
            return false;
        }
        let held_bytes = &mut self.held_bytes;
        self.held.retain(|call| {
            let keep = call.id != *id;
            if !keep {
                *held_bytes -= call.line.len();
            }
            keep
        });
        true
    }

    pub fn server_asks(&mut self, id: &Id) -> Result<(), NotTaken> {
        if self.from_server.len() >= OPEN {
            return Err(NotTaken::TooMany);
        }
        if !self.from_server.insert(id.clone()) {
            return Err(NotTaken::InUse);
        }
        Ok(())
    }

    /// The client answers `id` (or the server cancels it): whether that was asked and is open.
    pub fn client_answers(&mut self, id: &Id) -> bool {
        self.from_server.remove(id)
    }

    /// Everything the client still waits for; nothing is open after it.
    pub fn take_open(&mut self) -> Vec<Id> {
        self.openers.clear();
        self.held.clear();
        self.held_bytes = 0;
        let mut open: Vec<Id> = self.from_client.drain().map(|(id, _)| id).collect();
        open.sort_unstable();
        open
    }

    pub fn known(&mut self, list: List) -> &mut Known {
        &mut self.known[list as usize]
    }

    pub fn hold(&mut self, call: HeldCall) {
        self.from_client.insert(call.id.clone(), Topic::Held);
        self.held_bytes += call.line.len();
        self.held.push_back(call);
    }

    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// No further call may be held for now.
    pub fn held_full(&self) -> bool {
        self.held.len() >= HELD || self.held_bytes >= HELD_BYTES / 2
    }

    /// The first of the held calls, once its list is no longer being looked up. Open from then on, like any other.
    pub fn release(&mut self) -> Option<HeldCall> {
        if self.look_ups[self.held.front()?.list as usize].is_some() {
            return None;
        }
        let call = self.held.pop_front()?;
        self.held_bytes -= call.line.len();
        self.from_client.insert(call.id.clone(), Topic::Other);
        Some(call)
    }

    pub fn looking_up(&self, list: List) -> bool {
        self.look_ups[list as usize].is_some()
    }

    /// Starts a listing of our own; its id.
    pub fn look_up(&mut self, list: List, meta: Option<Value>, deadline: Instant) -> Id {
        let id = self.own_id();
        let round = self.known(list).begin();
        self.look_ups[list as usize] =
            Some(LookUp { id: id.clone(), deadline, round, meta, cursors: HashSet::new() });
        id
    }

    /// Takes the look-up that `id` answers.
    pub fn take_look_up(&mut self, id: &Id) -> Option<(List, LookUp)> {
        let list = List::ALL
            .into_iter()
            .find(|list| self.look_ups[*list as usize].as_ref().is_some_and(|look_up| look_up.id == *id))?;
        Some((list, self.look_ups[list as usize].take()?))
    }

    /// Goes on with it, for its next page; the id to ask by.
    pub fn look_further(&mut self, list: List, look_up: LookUp) -> Id {
        let id = self.own_id();
        self.look_ups[list as usize] = Some(LookUp { id: id.clone(), ..look_up });
        id
    }

    fn own_id(&mut self) -> Id {
        self.issued += 1;
        Id::string(&format!("{}{}", self.prefix, self.issued))
    }

    /// When something has to be given up, if nothing happens before.
    pub fn next_deadline(&self) -> Option<Instant> {
        let openers = self.openers.iter().map(|(_, deadline)| *deadline);
        let look_ups = self.look_ups.iter().flatten().map(|look_up| look_up.deadline);
        openers.chain(look_ups).min()
    }

    /// Gives up what is due: the openers to answer with an error, and whether held calls may be decided now.
    pub fn expire(&mut self, now: Instant) -> (Vec<Id>, bool) {
        let due: Vec<Id> =
            self.openers.iter().filter(|(_, deadline)| *deadline <= now).map(|(id, _)| id.clone()).collect();
        self.openers.retain(|(_, deadline)| *deadline > now);
        for id in &due {
            self.from_client.remove(id);
        }
        let mut released = false;
        for list in List::ALL {
            if self.look_ups[list as usize].as_ref().is_some_and(|look_up| look_up.deadline <= now) {
                self.look_ups[list as usize] = None;
                self.known(list).failed = true;
                released = true;
            }
        }
        (due, released)
    }
}
