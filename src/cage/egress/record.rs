//! What did a cage reach, and what did it try in vain?
//!
//! Kept by name and port, with how often, for whoever tells the user at the end. What is kept is bounded whatever the
//! cage asks for, and every name in it is safe to draw.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::rule::EgressRule;
use crate::net::HostName;
use crate::plan::PrivateWay;
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "[String; 2]", try_from = "[String; 2]")]
pub enum Remedy {
    /// `--egress` with this rule.
    Public(EgressRule),
    /// `--egress-private` with this name and port; no port where none was seen.
    Private(HostName, Option<u16>),
}

/// What stands for a port that was not seen.
const NO_PORT: &str = "PORT";

impl Remedy {
    /// `--egress-private` with this name and port, if that option would take them.
    pub(super) fn private(name: &HostName, port: Option<u16>) -> Option<Self> {
        let taken = match port {
            Some(port) => PrivateWay::typed(&format!("{name}:{port}")).is_ok(),
            None => name.private().is_ok(),
        };
        taken.then(|| Self::Private(name.clone(), port))
    }

    /// The option's name and its value.
    pub fn words(&self) -> [String; 2] {
        match self {
            Self::Public(rule) => ["--egress".to_owned(), rule.to_string()],
            Self::Private(name, Some(port)) => ["--egress-private".to_owned(), format!("{name}:{port}")],
            Self::Private(name, None) => ["--egress-private".to_owned(), format!("{name}:{NO_PORT}")],
        }
    }
}

impl From<Remedy> for [String; 2] {
    fn from(remedy: Remedy) -> Self {
        remedy.words()
    }
}

impl TryFrom<[String; 2]> for Remedy {
    type Error = &'static str;

    fn try_from([option, value]: [String; 2]) -> Result<Self, Self::Error> {
        const NONE: &str = "no option that opens a host";
        match option.as_str() {
            "--egress" => value.parse().map(Self::Public).map_err(|_| NONE),
            "--egress-private" => {
                let (name, port) = value.rsplit_once(':').ok_or(NONE)?;
                let port = if port == NO_PORT { None } else { Some(port.parse().map_err(|_| NONE)?) };
                Self::private(&name.parse().map_err(|_| NONE)?, port).ok_or(NONE)
            }
            _ => Err(NONE),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [option, value] = self.words();
        write!(f, "{option} {value}")
    }
}

/// Everything that was reached, denied, and not to be connected to, by name and port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    reached: BTreeMap<(String, u16), Reached>,
    denied: BTreeMap<(String, Option<u16>), Denied>,
    failed: BTreeMap<(String, u16), Failed>,
    forgotten: u64,
    clock: u64,
}

impl Tally {
    /// Every name a connection was opened to.
    pub fn reached(&self) -> impl Iterator<Item = &Reached> {
        self.reached.values()
    }

    /// Every name that was refused.
    pub fn denied(&self) -> impl Iterator<Item = &Denied> {
        self.denied.values()
    }

    /// The names that were refused after `mark`, the known ones included if they were tried again.
    pub fn denied_since(&self, mark: Mark) -> impl Iterator<Item = &Denied> {
        self.denied.values().filter(move |denied| denied.last > mark.0)
    }

    /// Every allowed host that could not be connected to.
    pub fn failed(&self) -> impl Iterator<Item = &Failed> {
        self.failed.values()
    }

    /// How many more names there were than are remembered.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds what another cage of the same server did.
    pub fn add(&mut self, other: &Self) {
        for one in other.reached.values() {
            self.reach(one.name.clone(), one.port, one.times);
        }
        for one in other.denied.values() {
            self.deny(one.name.clone(), one.port, one.remedy.clone(), one.why.clone(), one.times);
        }
        for one in other.failed.values() {
            self.fail(one.name.clone(), one.port, one.why.clone(), one.times);
        }
        self.forgotten = self.forgotten.saturating_add(other.forgotten);
    }

    /// What happened after `earlier`, a copy of this.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let mut news = self.clone();
        // an entry never goes, and its number only rises
        news.reached.retain(|key, one| {
            one.times -= earlier.reached.get(key).map_or(0, |before| before.times);
            one.times > 0
        });
        news.denied.retain(|key, one| {
            one.times -= earlier.denied.get(key).map_or(0, |before| before.times);
            one.times > 0
        });
        news.failed.retain(|key, one| {
            one.times -= earlier.failed.get(key).map_or(0, |before| before.times);
            one.times > 0
        });
        news.forgotten -= earlier.forgotten;
        news
    }

    pub(super) fn reach(&mut self, name: Shown, port: u16, times: u64) {
        let key = (name.to_string(), port);
        if let Some(known) = self.reached.get_mut(&key) {
            known.times = known.times.saturating_add(times);
        } else if self.reached.len() < REMEMBERED {
            self.reached.insert(key, Reached { name, port, times });
        } else {
            self.forgotten += 1;
        }
    }

    pub(super) fn deny(
        &mut self,
        name: Shown,
        port: Option<u16>,
        remedy: Option<Remedy>,
        why: Shown,
        times: u64,
    ) {
        self.clock += 1;
        let key = (name.to_string(), port);
        if let Some(known) = self.denied.get_mut(&key) {
            (known.times, known.last) = (known.times.saturating_add(times), self.clock);
            (known.why, known.remedy) = (why, remedy);
        } else if self.denied.len() < REMEMBERED {
            self.denied.insert(key, Denied { name, port, why, remedy, times, last: self.clock });
        } else {
            self.forgotten += 1;
        }
    }

    pub(super) fn fail(&mut self, name: Shown, port: u16, why: Shown, times: u64) {
        let key = (name.to_string(), port);
        if let Some(known) = self.failed.get_mut(&key) {
            (known.times, known.why) = (known.times.saturating_add(times), why);
        } else if self.failed.len() < REMEMBERED {
            self.failed.insert(key, Failed { name, port, why, times });
        } else {
            self.forgotten += 1;
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Shown {
        Shown::new(text)
    }

    #[test]
    fn what_happened_since_is_the_difference_and_adds_up_again() {
        let mut tally = Tally::default();
        tally.reach(name("a.example"), 443, 2);
        tally.deny(name("b.example"), None, None, name("not listed"), 1);
        let before = tally.clone();
        tally.reach(name("a.example"), 443, 1);
        tally.fail(name("c.example"), 80, name("refused"), 4);
        let news = tally.since(&before);
        assert_eq!(news.reached().map(|one| one.times).collect::<Vec<_>>(), [1]);
        assert_eq!((news.denied().count(), news.failed().count()), (0, 1));
        let mut sum = before;
        sum.add(&news);
        assert_eq!(sum.reached().map(|one| one.times).collect::<Vec<_>>(), [3]);
        assert_eq!(tally.since(&tally.clone()).reached().count(), 0);
    }

    #[test]
    fn a_remedy_is_written_as_the_words_to_type_and_read_back_as_nothing_else() {
        let rule = Remedy::Public("db.example.com:5432".parse().unwrap());
        let own = Remedy::Private("nas.lan".parse().unwrap(), Some(80));
        let none = Remedy::Private("localhost".parse().unwrap(), None);
        for remedy in [rule, own, none] {
            let text = serde_json::to_string(&remedy).unwrap();
            assert_eq!(serde_json::from_str::<Remedy>(&text).unwrap(), remedy);
        }
        for bad in [
            r#"["--egress","localhost:80"]"#,
            r#"["--egress","; rm -rf /"]"#,
            r#"["--consent","x:1"]"#,
            r#"["--egress-private","nas"]"#,
            r#"["--egress-private","a b:80"]"#,
            r#"["--egress-private","nas:99999"]"#,
            r#"["--egress-private","localhost:2375"]"#,
            r#"["--egress-private","metadata:80"]"#,
        ] {
            assert!(serde_json::from_str::<Remedy>(bad).is_err(), "{bad}");
        }
    }
}
