//! How do a client and a caged server talk, and how does that end?
//!
//! The streams are handed to a [`Table`], whose pumps run until one side has nothing more to say; the rules are the
//! referee's. Here is what a caller sees: what a session may do, what it tells, and how it ends.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

pub use super::from_server::Denied;
use super::gate::Gatekeeper;
use super::lines::Lines;
use super::lists::List;
pub use super::scan::Flaw;
use super::sightings::Sightings;
use super::table::{Stopped, Table};
use crate::screen::{Kind, Verdict};
use crate::text::Shown;

/// How long the rest of an ended server's output, or the news of its end, is waited for.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

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
    /// The server may ask the client's model. No command allows it yet.
    pub sampling: bool,
    /// The server may ask the person. No command allows it yet.
    pub elicitation: bool,
    /// How long the server may take to answer the opener, and a look-up of ours. Calls have no limit.
    pub opener_timeout: Duration,
    /// How long a session goes on after its client closed its end, whatever the server does. Half of it is for what
    /// the client had still to say, so that the server hears of the end by that of its input in time to answer.
    pub ending: Duration,
    /// Rules on what the client may see.
    pub gatekeeper: Arc<dyn Gatekeeper>,
    /// Where to note what the server's lists show, if anybody wants to know.
    pub sightings: Option<Sightings>,
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
    /// Every list that the server announced has been seen to its end ([`Policy::sightings`]); told once.
    Sighted,
    /// Our own listing, made to check a call, came to nothing.
    LookUpFailed {
        /// Which list.
        list: List,
    },
    /// The server asked for something the plan does not allow.
    Denied(Denied),
    /// The server did not answer the opener in time.
    OpenerTimedOut,
    /// The start of a line of the server's that is no message, at most 2 KiB of it.
    Noise(Shown),
    /// A message was dropped.
    Dropped(Dropped),
}

/// Why a message was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// It cannot be read in one way only.
    #[error("{0}")]
    Malformed(Flaw),
    /// It answers nothing that is open: never asked, answered already, or given up.
    #[error("it answers nothing that was asked")]
    Unasked,
    /// A request of the server's where only the client may ask.
    #[error("a server sends no requests in this version of MCP")]
    WrongDirection,
    /// It cannot be screened and nobody waits for it.
    #[error("it cannot be screened")]
    Unscreened,
    /// An answer to the server, which does not read.
    #[error("the server does not read its answers")]
    Unread,
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
/// closes its end, the server's input is closed and its answers are still delivered until the server's output ends,
/// `server_ended` resolves, or [`Policy::ending`] is over. That `client_gone` resolves means the same as the end of what
/// the client says, for a caller that can tell before all of it is read; it may stay pending. Events are offered to `events` and
/// lost when it is full. Not safe to cancel, but for ending the session.
pub async fn session<CR, CW, SR, SW, E>(
    streams: Streams<CR, CW, SR, SW>,
    policy: Policy,
    events: mpsc::Sender<Event>,
    server_ended: impl Future<Output = E>,
    client_gone: impl Future<Output = ()>,
) -> Ending
where
    CR: AsyncRead + Unpin,
    CW: AsyncWrite + Unpin,
    SR: AsyncRead + Unpin,
    SW: AsyncWrite + Unpin,
    E: Into<ServerEnd>,
{
    let (table, mut said) = Table::new(policy, streams.to_client, streams.to_server, events);
    let left = {
        let client = table.pump_client(Lines::new(streams.from_client));
        let server = table.pump_server(Lines::new(streams.from_server));
        let own = table.speak(&mut said);
        let over = table.client_left_for(table.ending());
        let broke = table.client_breaks();
        tokio::pin!(client, server, own, over, broke, server_ended, client_gone);

        let mut client_left = false;
        let mut gone = false;
        let mut end: Option<ServerEnd> = None;
        let mut last = tokio::time::Instant::now();
        let why = loop {
            // In no fixed order: a server that never stops talking must not keep the client from being heard.
            tokio::select! {
                why = &mut server => break why,
                () = &mut client, if !client_left => client_left = true,
                () = &mut own => {}
                () = &mut over => break Stopped::Reading,
                () = &mut broke => break Stopped::Writing,
                () = &mut client_gone, if !gone => {
                    gone = true;
                    table.client_leaves();
                }
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
            Stopped::Reading if client_left || table.has_client_left() => Left::Client,
            Stopped::Reading => {
                if end.is_none() {
                    // How it ended is usually known a moment after its output closes.
                    end = tokio::time::timeout(LAST_WORDS, server_ended).await.ok().map(Into::into);
                }
                Left::Server(end.unwrap_or_else(|| "it closed its output".to_owned().into()))
            }
        }
    };
    table.close(left, said).await
}

#[cfg(test)]
mod tests;
