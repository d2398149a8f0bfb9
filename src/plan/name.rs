//! By what short name does a person call a mounted server?
//!
//! By one derived from its package, so that it is the same on every machine, and never one that already means
//! another source: a stranger's `acme/github-mcp` must not become `github`. Where the short name is taken, eight
//! hex digits of the source's own hash follow it; more where those are taken too.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::reserved;
use crate::digest::Digest;
use crate::text::Shown;

/// Characters a local name may have.
const LONGEST: usize = 31;

/// Words that say "an MCP server" and nothing more; dropped from either end.
const AFFIXES: &[&str] = &["mcp", "server", "servers"];

/// What may remain and still says nothing; the vendor's label is used instead.
const GENERIC: &[&str] = &[
    "", "agent", "api", "app", "cli", "client", "core", "index", "js", "lib", "main", "node", "package",
    "plugin", "python", "sdk", "service", "tool", "tools", "ts",
];

/// The name a mounted server goes by: `[a-z0-9-]`, 1 to 31 characters, no dash at either end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LocalName(String);

/// A name that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameRefused {
    /// Outside the grammar.
    #[error("`{0}` is no local name: 1 to {LONGEST} of a-z, 0-9 and `-`, no dash at either end")]
    Grammar(Shown),
    /// It means something else already.
    #[error("the name {name} is kept for {kept_for}")]
    Reserved {
        /// The name.
        name: LocalName,
        /// Whose it is.
        kept_for: &'static str,
    },
    /// A mounted server has it.
    #[error("the name {name} is that of {holder}, which is mounted")]
    Taken {
        /// The name.
        name: LocalName,
        /// The source that has it.
        holder: Shown,
    },
}

impl LocalName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Derives the name of a source, such as `npm:@scope/name` (no version: a name outlives versions).
    ///
    /// `holder` tells which source has a name already, from the pin store. The same source gets the same name on
    /// every machine where the same names are held.
    pub fn derive(source: &str, package: &str, holder: impl Fn(&LocalName) -> Option<String>) -> Self {
        let short = short(package);
        let free = |name: &LocalName| {
            reserved::admits(name.as_str(), source) && holder(name).is_none_or(|held_by| held_by == source)
        };
        let hex = Digest::of(source.as_bytes()).hex();
        let name = Self(cut(&short, LONGEST).to_owned());
        if free(&name) {
            return name;
        }
        let mut with_hash = name;
        for digits in [8, 12, 16, 20, 24, 29] {
            let stem = cut(&short, LONGEST - 1 - digits);
            with_hash = Self(format!("{stem}-{}", &hex[..digits]));
            if free(&with_hash) {
                break;
            }
        }
        // 116 bits of another source's hash in a store of this user's: whoever saves the pin is told it is taken.
        with_hash
    }

    /// A name the user gave (`--name`) for that source.
    ///
    /// # Errors
    /// [`NameRefused`]
    pub fn given(
        text: &str,
        source: &str,
        holder: impl Fn(&LocalName) -> Option<String>,
    ) -> Result<Self, NameRefused> {
        let name: Self = text.parse()?;
        if !reserved::admits(name.as_str(), source) {
            let kept_for = reserved::kept_for(name.as_str()).unwrap_or("pinfold");
            return Err(NameRefused::Reserved { name, kept_for });
        }
        match holder(&name) {
            Some(held_by) if held_by != source => {
                Err(NameRefused::Taken { name, holder: Shown::new(&held_by) })
            }
            _ => Ok(name),
        }
    }
}

/// The package's own word for itself: lower case, `[a-z0-9-]`, at least one character.
fn short(package: &str) -> String {
    let (vendor, last) = package.rsplit_once('/').unwrap_or(("", package));
    let (vendor, last) = (label(vendor.rsplit('.').next().unwrap_or_default()), label(last));
    let bare = strip_affixes(&last);
    if !GENERIC.contains(&bare) {
        return bare.to_owned();
    }
    let vendor_bare = strip_affixes(&vendor);
    for candidate in [vendor_bare, &vendor, &last] {
        if !GENERIC.contains(&candidate) {
            return candidate.to_owned();
        }
    }
    "server".to_owned()
}

fn label(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_matches('-').to_owned()
}

fn strip_affixes(label: &str) -> &str {
    let mut rest = label;
    loop {
        let before = rest;
        for affix in AFFIXES {
            rest = match rest.strip_prefix(affix) {
                Some("") => "",
                Some(after) => after.strip_prefix('-').unwrap_or(rest),
                None => rest,
            };
            rest = match rest.strip_suffix(affix) {
                Some("") => "",
                Some(ahead) => ahead.strip_suffix('-').unwrap_or(rest),
                None => rest,
            };
        }
        if rest == before {
            return rest;
        }
    }
}

/// At most `most` characters of a label, which is ASCII, without a dash at the end.
fn cut(label: &str, most: usize) -> &str {
    let end = label.len().min(most);
    label.get(..end).unwrap_or_default().trim_end_matches('-')
}

impl FromStr for LocalName {
    type Err = NameRefused;

    fn from_str(text: &str) -> Result<Self, NameRefused> {
        let allowed = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !allowed || text.is_empty() || text.len() > LONGEST || text.starts_with('-') || text.ends_with('-')
        {
            return Err(NameRefused::Grammar(Shown::new(text)));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for LocalName {
    type Error = NameRefused;

    fn try_from(text: String) -> Result<Self, NameRefused> {
        text.parse()
    }
}

impl From<LocalName> for String {
    fn from(name: LocalName) -> String {
        name.0
    }
}

impl fmt::Display for LocalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(package: &str) -> String {
        LocalName::derive(&format!("npm:{package}"), package, |_| None).to_string()
    }

    #[test]
    fn drops_what_says_only_that_it_is_a_server() {
        for (package, name) in [
            ("@modelcontextprotocol/server-everything", "everything"),
            ("@modelcontextprotocol/server-sequential-thinking", "sequential-thinking"),
            ("spotify-mcp", "spotify"),
            ("mcp-server-spotify", "spotify"),
            ("io.github.acme/spotify-mcp-server", "spotify"),
            ("mcp_server_spotify", "spotify"),
            ("SomeThing", "something"),
            ("mcpify", "mcpify"),
            ("observer", "observer"),
        ] {
            assert_eq!(of(package), name, "{package}");
        }
    }

    #[test]
    fn a_generic_tail_falls_back_to_the_vendor() {
        for (package, name) in [
            ("@getrember/mcp", "getrember"),
            ("@acme/mcp-server", "acme"),
            ("@acme-mcp/server", "acme"),
            ("io.github.acme/mcp", "acme"),
            ("@acme/api", "acme"),
            ("@acme/mcp-tools", "acme"),
        ] {
            assert_eq!(of(package), name, "{package}");
        }
    }

    #[test]
    fn a_known_name_goes_to_its_own_package_and_to_no_other() {
        assert_eq!(of("@modelcontextprotocol/server-memory"), "memory");
        assert_eq!(of("@playwright/mcp"), "playwright");
        for package in
            ["memory-mcp", "@evil/server-memory", "@executeautomation/playwright-mcp-server", "browser-mcp"]
        {
            let name = of(package);
            let (stem, hex) = name.rsplit_once('-').unwrap();
            assert!(["memory", "playwright", "browser"].contains(&stem), "{name}");
            assert_eq!(hex, &Digest::of(format!("npm:{package}").as_bytes()).hex()[..8]);
        }
    }

    #[test]
    fn a_clash_gives_the_same_suffix_every_time_and_a_longer_one_if_that_is_taken_too() {
        let derive = |taken: &[&str]| {
            LocalName::derive("npm:@b/spotify", "@b/spotify", |name| {
                taken.contains(&name.as_str()).then(|| "npm:@a/spotify".to_owned())
            })
            .to_string()
        };
        assert_eq!(derive(&[]), "spotify");
        let first = derive(&["spotify"]);
        assert_eq!(first, derive(&["spotify"]));
        assert_eq!(first.len(), "spotify-".len() + 8);
        let second = derive(&["spotify", &first]);
        assert!(second.starts_with(&first) && second.len() > first.len(), "{second}");
    }

    #[test]
    fn its_own_source_keeps_its_name() {
        let held = |_: &LocalName| Some("npm:@b/spotify".to_owned());
        assert_eq!(LocalName::derive("npm:@b/spotify", "@b/spotify", held).as_str(), "spotify");
        assert!(LocalName::given("spotify", "npm:@b/spotify", held).is_ok());
    }

    #[test]
    fn refuses_a_given_name_that_is_anothers() {
        let held = |_: &LocalName| Some("npm:@a/x".to_owned());
        assert!(matches!(LocalName::given("x", "npm:@b/x", held), Err(NameRefused::Taken { .. })));
        let free = |_: &LocalName| None;
        assert!(matches!(LocalName::given("github", "npm:x", free), Err(NameRefused::Reserved { .. })));
        assert!(matches!(LocalName::given("pinfold", "npm:x", free), Err(NameRefused::Reserved { .. })));
        assert!(LocalName::given("mine", "npm:x", free).is_ok());
    }

    #[test]
    fn refuses_other_grammars() {
        for bad in ["", "A", "a_b", "-a", "a-", "a/b", "..", "a b", "é", &"a".repeat(32)] {
            assert!(bad.parse::<LocalName>().is_err(), "{bad}");
        }
        assert!("a".repeat(31).parse::<LocalName>().is_ok());
    }

    proptest! {
        #[test]
        fn a_derived_name_always_fits_the_grammar(package in "\\PC{0,80}|@[a-z.-]{0,40}/[a-z0-9_-]{0,60}") {
            let name = LocalName::derive("npm:x", &package, |_| None);
            prop_assert_eq!(name.as_str().parse::<LocalName>(), Ok(name.clone()));
            let clash = LocalName::derive("npm:x", &package, |_| Some("npm:y".to_owned()));
            prop_assert_eq!(clash.as_str().parse::<LocalName>(), Ok(clash.clone()));
        }

        #[test]
        fn an_accepted_name_reads_back_the_same(text in "\\PC{0,40}|[a-z0-9-]{0,33}") {
            if let Ok(name) = text.parse::<LocalName>() {
                prop_assert_eq!(name.as_str(), text);
            }
        }
    }
}
