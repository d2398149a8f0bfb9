//! What does a person read when something cannot be done, and what does a script see?
//!
//! Three parts, what happened, why, and what to do, under a stable code that `docs/errors.md` explains and that
//! decides the exit status. Rooms have errors of their own; each turns into a [`Failure`] at its edge. Every part
//! is made safe to draw when it is put in, so an error may quote what a stranger wrote.

use std::fmt;
use std::io::ErrorKind;

use crate::text::Shown;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $exit:literal;)*) => {
        /// A stable name for a kind of failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code there is, in the order of `docs/errors.md`.
            pub const ALL: &[Code] = &[$(Code::$name,)*];

            /// The code as users see it: kebab-case, never changed once released.
            pub fn name(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The process's exit status for it.
            pub fn exit(self) -> u8 {
                match self { $(Code::$name => $exit,)* }
            }
        }
    };
}

codes! {
    /// A fault of Pinfold's own, or of this machine (pipe closed).
    Other = "other", 1;
    /// A disk of this machine has no room left for what Pinfold writes.
    DiskFull = "disk-full", 1;
    /// A `call` whose result is an error.
    CallFailed = "call-failed", 1;
    /// The command line is not one that Pinfold knows.
    Usage = "usage", 2;
    /// A line of what `screen` was given cannot be judged.
    InputUnreadable = "input-unreadable", 2;
    /// Nobody could be asked, or the answer was not yes.
    ConsentNeeded = "consent-needed", 10;
    /// The digest given is not that of the plan at hand.
    ConsentMismatch = "consent-mismatch", 10;
    /// A package name or version outside its ecosystem's grammar.
    NameRefused = "name-refused", 11;
    /// A launch line or argument that could run something else than it says.
    LaunchRefused = "launch-refused", 11;
    /// An environment variable that steers a loader, an interpreter or a package manager.
    EnvRefused = "env-refused", 11;
    /// An egress rule, host or address that is not allowed.
    EgressRefused = "egress-refused", 11;
    /// A folder that no server is given, or not in this way.
    MountRefused = "mount-refused", 11;
    /// An entry of the dependency tree has no hash to hold it to.
    HashMissing = "hash-missing", 11;
    /// A package in the tree comes from elsewhere than the registry.
    SourceRefused = "source-refused", 11;
    /// The screen refused everything the server offers.
    ScreenRefused = "screen-refused", 12;
    /// Bytes differ from those that were pinned.
    HashMismatch = "hash-mismatch", 13;
    /// A folder is no longer the one that was consented to.
    MountChanged = "mount-changed", 13;
    /// No container engine answers.
    EngineMissing = "engine-missing", 14;
    /// The engine refused, or stopped answering.
    EngineFailed = "engine-failed", 14;
    /// The engine's own disk has no room left.
    EngineFull = "engine-full", 14;
    /// The engine does not enforce what the profile promises.
    CageWeaker = "cage-weaker", 14;
    /// The runtime image is not on this host.
    RuntimeMissing = "runtime-missing", 14;
    /// No such package, version or file.
    NotFound = "not-found", 15;
    /// The dependency tree cannot be resolved.
    CannotResolve = "cannot-resolve", 15;
    /// The registry does not answer, or answers nonsense.
    RegistryFailed = "registry-failed", 15;
    /// No server is mounted under that name.
    NotMounted = "not-mounted", 15;
    /// The dependencies could not be installed.
    InstallFailed = "install-failed", 16;
    /// The server ended, or never answered.
    ServerFailed = "server-failed", 16;
    /// The server answered and offers nothing.
    NothingOffered = "nothing-offered", 16;
    /// A file of Pinfold's own is damaged or was changed by hand.
    StateCorrupt = "state-corrupt", 19;
    /// A file of Pinfold's own has an owner, mode or kind it must not have.
    StateUnsafe = "state-unsafe", 19;
    /// A credential the plan lists is not set.
    SecretMissing = "secret-missing", 20;
}

impl Code {
    /// The code of what a file system of this machine answered: that it is full, or something else.
    pub fn of_disk(error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Other,
        }
    }
}

/// One failure, as a person or a script gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    code: Code,
    what: Shown,
    why: Shown,
    hint: Shown,
    last_words: Vec<Shown>,
}

impl Failure {
    /// `what` happened, `why`, and what to do (`hint`): a sentence each, without a full stop.
    pub fn new(code: Code, what: impl fmt::Display, why: impl fmt::Display, hint: impl fmt::Display) -> Self {
        let shown = |part: &dyn fmt::Display| Shown::new(&part.to_string());
        Self { code, what: shown(&what), why: shown(&why), hint: shown(&hint), last_words: Vec::new() }
    }

    /// Adds what a program said before it ended, a line each.
    #[must_use]
    pub fn with_last_words(mut self, lines: Vec<Shown>) -> Self {
        self.last_words = lines;
        self
    }

    /// The same, in other words where `told` has some. The hint stays: it is ours, and its commands must work.
    #[must_use]
    pub fn reworded(&self, told: impl Fn(&str) -> Option<String>) -> Self {
        let part =
            |part: &Shown| told(&part.to_string()).map_or_else(|| part.clone(), |text| Shown::new(&text));
        Self {
            code: self.code,
            what: part(&self.what),
            why: part(&self.why),
            hint: self.hint.clone(),
            last_words: self.last_words.iter().map(part).collect(),
        }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What happened.
    pub fn what(&self) -> &Shown {
        &self.what
    }

    /// Why.
    pub fn why(&self) -> &Shown {
        &self.why
    }

    /// What to do.
    pub fn hint(&self) -> &Shown {
        &self.hint
    }

    /// What a program said before it ended; empty where none was involved.
    pub fn last_words(&self) -> &[Shown] {
        &self.last_words
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.what, self.why, self.code.name())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kebab_case_and_used_once() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(code.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code:?}");
            assert!(seen.insert(code.name()), "{code:?} is named twice");
            assert_ne!(code.exit(), 0, "{code:?}");
        }
    }
}
