//! What does a person see before they say yes?
//!
//! Everything that decides what runs, each part in a field of its own, then what is merely told about the package,
//! then what follows from both. For a program the same as JSON: the plan itself, its digest, and the notes.
//! Words of others stand first and marked; what Pinfold says of its own knowledge is nearest to the question.

use jiff::Timestamp;
use serde::Serialize;

use super::command::command_for;
use super::layout::{Layout, Palette, Voice};
use crate::plan::{Access, Argument, Exactly, Facts, FolderFacts, Lock, Origin, Plan};
use crate::source::Package;
use crate::text::Shown;

/// Days a version is called new for: most bad releases are found and withdrawn within days.
const NEW_FOR_DAYS: i64 = 7;

/// A plan with what is told about it, ready to be shown.
#[derive(Debug, Clone)]
pub struct Card<'a> {
    plan: &'a Plan,
    lock: &'a Lock,
    facts: &'a Facts,
    now: Timestamp,
    notes: Vec<Note>,
}

/// Something to know about a plan that is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Which note it is: stable, kebab-case.
    note: &'static str,
    /// Whether the text is somebody else's.
    theirs: bool,
    text: String,
    #[serde(skip)]
    voice: Voice,
}

impl Note {
    /// Which note it is: stable, kebab-case.
    pub fn kind(&self) -> &'static str {
        self.note
    }

    /// The note; safe to draw.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn ours(note: &'static str, voice: Voice, text: impl Into<String>) -> Self {
        Self { note, theirs: false, text: text.into(), voice }
    }

    fn theirs(note: &'static str, text: &crate::text::Shown) -> Self {
        Self { note, theirs: true, text: text.to_string(), voice: Voice::Theirs }
    }
}

impl<'a> Card<'a> {
    /// The card of a plan, its lock, and what is told about it, as of now.
    pub fn new(plan: &'a Plan, lock: &'a Lock, facts: &'a Facts, now: Timestamp) -> Self {
        let mut card = Self { plan, lock, facts, now, notes: Vec::new() };
        card.notes = [
            card.about_origin(),
            card.about_release(),
            card.about_tree(),
            card.about_way_out(),
            card.about_folders(),
            card.about_command(),
        ]
        .concat();
        card
    }

    /// The plan it is of.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// What is to be known besides the plan.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The card for a program: `{"digest", "plan", "notes"}`. The digest is that of the plan's canonical JSON
    /// (RFC 8785), so a reader can compute it.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({ "digest": self.plan.digest(), "plan": self.plan, "notes": self.notes })
    }

    fn about_origin(&self) -> Vec<Note> {
        let text = match self.plan.release().origin() {
            Origin::Registry => {
                return vec![Note::ours(
                    "unvouched",
                    Voice::Notice,
                    match self.plan.release().package() {
                        Package::Npm(_) => {
                            "plain npm: anyone may publish a look-alike, and nobody has looked at this one"
                        }
                        Package::Pypi(_) => {
                            "plain PyPI: anyone may publish a look-alike, and nobody has looked at this one"
                        }
                    },
                )];
            }
            Origin::Path(_) => "a package on this disk: nobody but its owner vouches for it",
        };
        vec![Note::ours("local", Voice::Notice, text)]
    }

    fn about_release(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if let Some(description) = &self.facts.description {
            notes.push(Note::theirs("description", description));
        }
        if let Some(deprecated) = &self.facts.deprecated {
            notes.push(Note::ours("deprecated", Voice::Notice, "its publisher says not to use it any more"));
            notes.push(Note::theirs("deprecated-because", deprecated));
        }
        if let Some(publisher) = &self.facts.publisher {
            notes.push(Note::theirs("publisher", publisher));
        }
        if let Some(published) = self.facts.published {
            let day = published.strftime("%Y-%m-%d");
            let days = self.now.duration_since(published).as_hours() / 24;
            let age = match days {
                ..0 => "in the future, says the registry".to_owned(),
                0 => "less than a day ago".to_owned(),
                1 => "1 day ago".to_owned(),
                _ => format!("{days} days ago"),
            };
            notes.push(Note::ours("published", Voice::Ours, format!("{day}, {age}")));
            if days < NEW_FOR_DAYS {
                let text = "this version is new: bad releases are mostly found within a week";
                notes.push(Note::ours("new-version", Voice::Notice, text));
            }
        }
        match self.facts.provenance {
            Some(true) => notes.push(Note::ours(
                "provenance",
                Voice::Ours,
                "the registry holds a statement of where it was built; pinfold has not verified it",
            )),
            Some(false) => {
                notes.push(Note::ours("provenance", Voice::Ours, "none: nothing says where it was built"))
            }
            None => {}
        }
        notes
    }

    fn about_tree(&self) -> Vec<Note> {
        let packages = self.lock.entries().len();
        let inside = self.lock.entries().iter().filter(|e| !e.has_hash()).count();
        let mut text = match packages {
            1 => "1 package, held by its hash".to_owned(),
            n => format!("{n} packages, every one held by its hash"),
        };
        if inside > 0 {
            text.push_str(&format!(" ({inside} of them inside another's archive)"));
        }
        let mut notes = vec![Note::ours("tree", Voice::Ours, text)];
        let wanters = self.lock.script_wanters();
        if !wanters.is_empty() {
            let list = wanters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            notes.push(Note::ours(
                "install-scripts",
                Voice::Notice,
                format!("not run, though asked for by {list}; what they build or fetch will be missing"),
            ));
        }
        for build in self.lock.builds() {
            let tools: Vec<String> =
                build.tools().map(|(name, version)| format!("{name} {version}")).collect();
            let tools = if tools.is_empty() { String::new() } else { format!(" with {}", tools.join(", ")) };
            let text = format!(
                "{} {} has no wheel and is built from source{tools}: its own code runs before the server does, in a \
                 cage without a network",
                build.name(),
                build.version()
            );
            notes.push(Note::ours("build", Voice::Notice, text));
        }
        notes
    }

    fn about_way_out(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.plan.egress().iter().any(crate::plan::WayOut::is_public) {
            let text = "it may reach any public host, ones of its own choice too";
            notes.push(Note::ours("egress-public", Voice::Notice, text));
        }
        let ways = self.plan.egress_private();
        if ways.iter().any(crate::plan::PrivateWay::is_this_machine) {
            let text = "it may talk to what listens there on this machine, and most such programs ask nobody who calls";
            notes.push(Note::ours("egress-this-machine", Voice::Danger, text));
        }
        if ways.iter().any(|way| !way.is_this_machine()) {
            let text =
                "it may reach a host of your own network, behind whatever guards that network from outside";
            notes.push(Note::ours("egress-network", Voice::Danger, text));
        }
        if self.plan.has_way_out() && !self.plan.credentials().is_empty() {
            notes.push(Note::ours(
                "credential-and-egress",
                Voice::Danger,
                "it is given a secret and a way out: it can hand the secret to whoever answers there",
            ));
        }
        notes
    }

    /// What was seen of the folders; their paths and accesses are the plan's.
    fn about_folders(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for folder in &self.facts.folders {
            let path = Exactly(&folder.path.to_string()).to_string();
            for (kind, voice, text) in seen_of(folder) {
                notes.push(Note::ours(kind, voice, format!("{path}: {text}")));
            }
        }
        let writes = self.plan.mounts().iter().any(|mount| mount.access() == Access::Write);
        if writes {
            notes.push(Note::ours(
                "mount-write",
                Voice::Notice,
                "it can change and remove whatever does not stay read-only, and make files that you may run later: read \
                 what it wrote before you do",
            ));
        }
        if self.plan.persists() {
            let text = "what it writes in its home is kept from one start to the next, without a limit of ours, until \
                        it is unmounted";
            notes.push(Note::ours("persist", Voice::Ours, text));
        }
        if self.plan.user().is_root() {
            let text = "root, though without root's powers: what root owns in these folders is its own";
            notes.push(Note::ours("root", Voice::Danger, text));
        }
        notes
    }

    fn about_command(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let marked: Vec<_> = (1..)
            .zip(self.plan.arguments())
            .filter(|(_, argument)| argument.looks_like_shell())
            .map(|(position, _)| position.to_string())
            .collect();
        if !marked.is_empty() {
            notes.push(Note::ours(
                "shell-like-argument",
                Voice::Notice,
                format!("a shell would act upon argument {}; none will see it", marked.join(", ")),
            ));
        }
        for note in &self.facts.remarks {
            notes.push(Note::ours("remark", Voice::Ours, note.to_string()));
        }
        for (name, why) in &self.facts.dropped_env {
            notes.push(Note::ours("env-dropped", Voice::Ours, format!("{name} is left out: {why}")));
        }
        notes
    }

    /// The card for a person, in lines of at most `width` columns (no fewer than 24).
    pub fn text(&self, width: usize, palette: Palette) -> String {
        let (plan, release) = (self.plan, self.plan.release());
        let ours = |text: String| vec![(Voice::Ours, text)];
        let mut card = Layout::new(width, palette);

        card.heading("What would run");
        card.heading("");
        self.told(&mut card, "Their words", &["description"]);
        self.told(&mut card, "Publisher", &["publisher"]);
        self.told(&mut card, "Deprecated", &["deprecated", "deprecated-because"]);
        self.told(&mut card, "Published", &["published", "new-version"]);
        self.told(&mut card, "Provenance", &["provenance"]);

        card.field("Name", &ours(plan.name().to_string()));
        card.field("Package", &ours(format!("{} {}", release.package().name(), release.package().version())));
        let mut source = ours(Exactly(&release.id()).to_string());
        source.extend(self.notes_of(&["unvouched", "local"]));
        card.field("Source", &source);
        card.field("Hash", &ours(release.package().held_to().to_string()));
        let mut tree = self.notes_of(&["tree"]);
        tree.push((Voice::Ours, format!("lock {}", plan.lock_digest())));
        card.field("Tree", &tree);
        let scripts = self.notes_of(&["install-scripts"]);
        let off = "off; no package asks for one".to_owned();
        card.field("Scripts", &if scripts.is_empty() { ours(off) } else { scripts });

        self.told(&mut card, "Built", &["build"]);

        card.words("Command", &plan.argv().iter().map(Argument::to_string).collect::<Vec<_>>());
        self.told(&mut card, "", &["shell-like-argument"]);
        self.told(&mut card, "Remarks", &["remark"]);
        for requirement in plan.with() {
            card.field("With", &ours(requirement.to_string()));
        }
        for name in plan.credentials() {
            card.field("Secret", &[(Voice::Notice, name.to_string())]);
        }
        if plan.credentials().is_empty() {
            card.field("Secrets", &ours("none".to_owned()));
        }
        for (name, value) in plan.env() {
            card.field("Setting", &ours(format!("{name}={}", Exactly(value.as_str()))));
        }
        self.told(&mut card, "Left out", &["env-dropped"]);
        for rule in plan.egress() {
            card.field("Egress", &[(Voice::Notice, rule.to_string())]);
        }
        for way in plan.egress_private() {
            let place = if way.is_this_machine() { "this machine" } else { "your own network" };
            card.field("Egress", &[(Voice::Danger, format!("{way}, {place}"))]);
        }
        if !plan.has_way_out() {
            card.field("Egress", &ours("none: it reaches no host at all".to_owned()));
        }
        self.told(
            &mut card,
            "Beware",
            &["egress-public", "egress-this-machine", "egress-network", "credential-and-egress"],
        );
        self.mounts(&mut card);
        card.field("Limits", &ours(plan.limits().to_string()));
        let runtime = plan.runtime();
        card.field(
            "Runtime",
            &ours(format!("{} {}, made by {}", runtime.name(), runtime.version(), runtime.recipe())),
        );
        if let Some(runtime) = plan.cage_runtime() {
            let text = format!("{runtime}, of the engine's runtimes, and no other");
            card.field("Cage", &ours(text));
        }
        let mut user = self.notes_of(&["root"]);
        let number =
            if user.is_empty() { format!("{}, not root", plan.user()) } else { plan.user().to_string() };
        user.insert(0, (Voice::Ours, number));
        card.field("User", &user);

        card.heading("");
        card.field("Digest", &ours(plan.digest().to_string()));
        card.heading("A yes without a terminal:");
        card.copied(&command_for(plan, "mount", &["--consent", &plan.digest().to_string()]));
        card.finish()
    }

    /// The folders, each from a line of its own, with what was seen of it.
    fn mounts(&self, card: &mut Layout) {
        let mut lines = Vec::new();
        for mount in self.plan.mounts() {
            let path = Exactly(mount.path().as_str());
            lines.push(match mount.access() {
                Access::Read => (Voice::Ours, format!("{path}, read-only")),
                Access::Write => (Voice::Notice, format!("{path}, read and write")),
            });
            let path = mount.path().as_str();
            let seen = self.facts.folders.iter().find(|folder| folder.path.to_string() == path);
            let seen = seen.into_iter().flat_map(seen_of);
            lines.extend(seen.map(|(_, voice, text)| (voice, format!("- {text}"))));
        }
        if lines.is_empty() {
            lines.push((Voice::Ours, "none: it sees no file of yours".to_owned()));
        }
        lines.extend(self.notes_of(&["mount-write"]));
        card.field("Mounts", &lines);
        self.told(card, "Kept", &["persist"]);
    }

    fn notes_of(&self, kinds: &[&str]) -> Vec<(Voice, String)> {
        let of = |kind| self.notes.iter().filter(move |note| note.note == kind);
        kinds.iter().flat_map(|kind| of(*kind)).map(|note| (note.voice, note.text.clone())).collect()
    }

    /// A field of notes, if there is any.
    fn told(&self, card: &mut Layout, label: &'static str, kinds: &[&str]) {
        let notes = self.notes_of(kinds);
        if !notes.is_empty() {
            card.field(label, &notes);
        }
    }
}

/// What is to be known of one folder besides its path and access: which note, how loud, in what words.
fn seen_of(folder: &FolderFacts) -> Vec<(&'static str, Voice, String)> {
    let list = |names: &[Shown]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut seen = Vec::new();
    if let Some(typed) = &folder.typed {
        let text = format!("typed as {}, a link that leads here", Exactly(&typed.to_string()));
        seen.push(("mount-resolved", Voice::Notice, text));
    }
    if !folder.held.is_empty() {
        seen.push(("mount-held", Voice::Ours, format!("stays read-only: {}", list(&folder.held))));
    }
    if !folder.loose.is_empty() {
        let text = format!("links, which it can turn elsewhere: {}", list(&folder.loose));
        seen.push(("mount-links", Voice::Notice, text));
    }
    if !folder.twice.is_empty() {
        let text = format!("can be written to by a second name, a hard link: {}", list(&folder.twice));
        seen.push(("mount-second-names", Voice::Notice, text));
    }
    if folder.roots {
        let text = "belongs to root: it reads there what everybody on this machine may, and nothing else";
        seen.push(("mount-of-root", Voice::Ours, text.to_owned()));
    }
    seen
}
