//! Which row of the profile is not enforced here, and what would have it enforced?
//!
//! Found in three places: in what an engine says of itself, in what it wrote down when it was asked for a cage, and in
//! what init sees from inside. Each says all the rows it finds, so that a person mends them at once and not one by one.

use std::fmt;

use crate::text::Shown;

/// A row of the profile that is not enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    setting: &'static str,
    seen: Shown,
    remedy: &'static str,
}

/// What helps where a row is not enforced, by the row's name in the profile.
const REMEDIES: &[(&str, &str)] = &[
    ("user", "use an engine that runs a container as the user it is asked for"),
    ("capabilities", "take capabilities that the engine adds by itself out of its settings"),
    ("no-new-privileges", "use an engine and a runtime that know no-new-privileges"),
    (
        "seccomp",
        "use a kernel with seccomp filters, and an engine and a runtime that put a container under the one it is given",
    ),
    ("root file system", "use an engine that mounts a container's root read-only when it is asked to"),
    ("writable", "take mounts that the engine makes in every container out of its settings"),
    ("mounts", "take mounts that the engine makes in every container out of its settings"),
    ("network", "use an engine that starts a container without a network when it is asked to"),
    ("DNS", "use an engine that writes the name server it is given into the container"),
    (
        "memory and swap",
        "let the engine set memory limits: on control groups v1 with `cgroup_enable=memory swapaccount=1` on the kernel's command line, on v2 with the `memory` controller delegated to it",
    ),
    (
        "processes",
        "let the engine limit processes: it needs the `pids` controller, on v2 delegated to it where it is not root's",
    ),
    (
        "processors",
        "let the engine limit processors: it needs the `cpu` controller with CFS quotas, on v2 delegated to it where it is not root's",
    ),
    ("open files", "use an engine that sets a container's limit of open files"),
    (
        "ipc, uts, cgroup, pid namespaces",
        "use an engine and a kernel that give a container namespaces of its own, that of control groups among them",
    ),
    ("host name", "use an engine that gives a container the host name it is asked for"),
    ("log driver", "use an engine that keeps no log of a container when it is asked not to"),
    ("removal", "use an engine that removes a container at its end when it is asked to"),
    ("runtime", "give a runtime that the engine knows; `pinfold doctor` lists them"),
];

impl Lacking {
    /// A row by its name in the profile, and what is so instead.
    pub fn new(setting: &'static str, seen: impl fmt::Display) -> Self {
        let remedy = REMEDIES
            .iter()
            .find(|(name, _)| *name == setting)
            .map_or("mend what the engine warns of", |(_, remedy)| remedy);
        Self { setting, seen: Shown::new(&seen.to_string()), remedy }
    }

    /// With what helps in this very case.
    #[must_use]
    pub fn helped_by(self, remedy: &'static str) -> Self {
        Self { remedy, ..self }
    }

    /// The row's name in the profile.
    pub fn setting(&self) -> &'static str {
        self.setting
    }

    /// What is so instead.
    pub fn seen(&self) -> &Shown {
        &self.seen
    }

    /// What would have it enforced.
    pub fn remedy(&self) -> &'static str {
        self.remedy
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.seen)
    }
}

/// All of them in one sentence.
pub fn told(rows: &[Lacking]) -> String {
    rows.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What helps, each said once.
pub fn remedies(rows: &[Lacking]) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    for row in rows {
        if !all.contains(&row.remedy) {
            all.push(row.remedy);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cage::profile::Profile;
    use crate::plan::{Limits, User};

    #[test]
    fn every_row_of_the_profile_has_a_remedy_and_no_other() {
        let rows: Vec<&str> =
            Profile::run(Limits::default(), User::NOBODY).rows().iter().map(|row| row.setting).collect();
        let known: Vec<&str> = REMEDIES.iter().map(|(name, _)| *name).collect();
        assert_eq!(known, rows);
        assert!(REMEDIES.iter().all(|(_, remedy)| !remedy.is_empty()));
    }

    #[test]
    fn all_rows_are_told_and_a_remedy_once() {
        let help = "do this";
        let rows = [
            Lacking::new("processes", "no limit").helped_by(help),
            Lacking::new("processors", "no limit").helped_by(help),
        ];
        assert_eq!(told(&rows), "processes: no limit; processors: no limit");
        assert_eq!(remedies(&rows), [help]);
    }
}
