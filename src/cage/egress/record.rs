//! What did a cage reach, and what did it try in vain?
//!
//! Kept by name and port, with how often, for whoever tells the user at the end. What is kept is bounded whatever the
//! cage asks for, and every name in it is safe to draw.

use std::collections::BTreeMap;
use std::fmt;

use super::rule::EgressRule;
use crate::net::HostName;
use crate::text::Shown;

/// The most names that are remembered as reached, as denied, and as failed.
const REMEMBERED: usize = 1_000;

/// A moment in an [`Egress`](super::Egress)'s record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark(u64);

/// A name a cage was connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The name.
    pub name: Shown,
    /// The TCP port.
    pub port: u16,
    /// How many connections were opened.
    pub times: u64,
}

/// A name a cage asked for in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The name as it was asked for, its first 253 characters.
    pub name: Shown,
    /// The TCP port; none where already the name was not resolved.
    pub port: Option<u16>,
    /// Why, in a clause.
    pub why: Shown,
    /// The option that would allow it, unless none can.
    pub remedy: Option<Remedy>,
    /// How often it was asked for.
    pub times: u64,
    last: u64,
}

/// A host that the plan opens and that could not be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The name.
    pub name: Shown,
    /// The TCP port.
    pub port: u16,
    /// Why, the last time, in a clause.
    pub why: Shown,
    /// How often.
    pub times: u64,
}

/// The option of `mount` that would allow a name that was denied: words for a person to type, no rule in themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// `--egress` with this rule.
    Public(EgressRule),
    /// `--egress-private` with this name and port; no port where none was seen.
    Private(HostName, Option<u16>),
}

impl Remedy {
    /// The option's name and its value.
    pub fn words(&self) -> [String; 2] {
        match self {
            Self::Public(rule) => ["--egress".to_owned(), rule.to_string()],
            Self::Private(name, Some(port)) => ["--egress-private".to_owned(), format!("{name}:{port}")],
            Self::Private(name, None) => ["--egress-private".to_owned(), format!("{name}:PORT")],
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [option, value] = self.words();
        write!(f, "{option} {value}")
    }
}

#[derive(Default)]
pub(super) struct Record {
    clock: u64,
    reached: BTreeMap<(String, u16), u64>,
    denied: BTreeMap<(String, Option<u16>), Denied>,
    failed: BTreeMap<(String, u16), Failed>,
    forgotten: u64,
}

impl Record {
    pub(super) fn reach(&mut self, name: &HostName, port: u16) {
        let key = (name.to_string(), port);
        if let Some(times) = self.reached.get_mut(&key) {
            *times += 1;
        } else if self.reached.len() < REMEMBERED {
            self.reached.insert(key, 1);
        } else {
            self.forgotten += 1;
        }
    }

    pub(super) fn deny(&mut self, name: Shown, port: Option<u16>, remedy: Option<Remedy>, why: Shown) {
        self.clock += 1;
        let key = (name.to_string(), port);
        if let Some(known) = self.denied.get_mut(&key) {
            (known.times, known.last) = (known.times + 1, self.clock);
        } else if self.denied.len() < REMEMBERED {
            self.denied.insert(key, Denied { name, port, why, remedy, times: 1, last: self.clock });
        } else {
            self.forgotten += 1;
        }
    }

    pub(super) fn fail(&mut self, name: &HostName, port: u16, why: Shown) {
        let key = (name.to_string(), port);
        if let Some(known) = self.failed.get_mut(&key) {
            (known.times, known.why) = (known.times + 1, why);
        } else if self.failed.len() < REMEMBERED {
            self.failed.insert(key, Failed { name: Shown::from(name), port, why, times: 1 });
        } else {
            self.forgotten += 1;
        }
    }

    pub(super) fn reached(&self) -> Vec<Reached> {
        let entry = |((name, port), times): (&(String, u16), &u64)| Reached {
            name: Shown::new(name),
            port: *port,
            times: *times,
        };
        self.reached.iter().map(entry).collect()
    }

    pub(super) fn denied_since(&self, mark: Mark) -> Vec<Denied> {
        self.denied.values().filter(|denied| denied.last > mark.0).cloned().collect()
    }

    pub(super) fn failed(&self) -> Vec<Failed> {
        self.failed.values().cloned().collect()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.clock)
    }

    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}
