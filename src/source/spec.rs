//! What did the user ask for?
//!
//! A [`Spec`] is the one word on the command line that names a server, read by an exact grammar and by nothing
//! else: it is never guessed, completed or corrected into another package. What later versions will read is
//! recognised here already, to be told apart from a mistake.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;

use super::SourceError;
use super::name::{NpmName, NpmVersion};
use super::pypi_spec::PypiSpec;
use crate::text::Shown;

/// The longest spec that is read.
const SPEC_BYTES: usize = 4_096;
/// The longest range and dist-tag.
const RANGE_BYTES: usize = 256;

/// A server as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// `npm:NAME[@VERSION|@TAG|@RANGE]`
    Npm(NpmSpec),
    /// `pypi:NAME[EXTRAS][==VERSION|SPECIFIERS|@VERSION]`
    Pypi(PypiSpec),
    /// `path:FILE.tgz`, `path:FILE.whl` or `path:DIR`
    Path(PathSpec),
}

/// How specs begin; what begins otherwise may be a launch line ([`super::launch_line`]).
pub(super) const PREFIXES: &[&str] = &["npm:", "pypi:", "path:", "oci:", "git+", "https://", "http://"];

/// A package on npm, and which of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmSpec {
    name: NpmName,
    wanted: Wanted,
}

impl NpmSpec {
    /// The package.
    pub fn name(&self) -> &NpmName {
        &self.name
    }

    /// Which version of it.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }
}

/// A package on this disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSpec(PathBuf);

impl PathSpec {
    /// The path as written, relative to the current directory if it is relative.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl From<PathBuf> for PathSpec {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

/// Which version of an npm package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This very one.
    Version(NpmVersion),
    /// The one a dist-tag stands at; `latest` where the user wrote none.
    Tag(Tag),
    /// The best one in a range.
    Range(Range),
}

impl Wanted {
    /// Whether an exact version may stand for what was wanted. A tag says nothing of versions: any may.
    pub fn admits(&self, version: &NpmVersion) -> bool {
        match self {
            Self::Version(wanted) => wanted == version,
            Self::Tag(_) => true,
            Self::Range(range) => range.holds(version),
        }
    }
}

/// A dist-tag's name: a letter, then letters, digits, `-`, `_` and `.`, and nothing that reads as a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag(String);

impl Tag {
    /// `latest`, what npm installs where nothing else is asked for.
    pub fn latest() -> Self {
        Self("latest".to_owned())
    }

    /// The tag.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A range of versions in npm's grammar (`^1.2`, `1.x`, `>=1 <2`, `1 || 2`).
///
/// It chooses among versions here and never travels further: what is installed is one exact version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    text: String,
    range: nodejs_semver::Range,
}

impl Range {
    /// Whether a version lies in the range; prereleases by npm's rule (only next to one that the range names).
    pub fn holds(&self, version: &NpmVersion) -> bool {
        nodejs_semver::Version::parse(version.to_string()).is_ok_and(|version| self.range.satisfies(&version))
    }
}

/// Comparators and hyphen ranges joined by spaces and `||`. The library alone is as lenient as npm, which drops
/// words it does not know. (With it, 20,000 random pairs of range and version came out as npm 11's own semver has them.)
static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    let id = r"[0-9A-Za-z.-]+";
    let xr = r"(?:[0-9]{1,16}|[xX*])";
    let version = format!(r"v?{xr}(?:\.{xr}(?:\.{xr}(?:-{id})?(?:\+{id})?)?)?");
    let simple = format!(r"(?:\^|~|[<>]=?|=)? *{version}");
    let set = format!(r"(?:{version} +- +{version}|{simple}(?: +{simple})*)");
    Regex::new(&format!(r"^(?:{set})(?: *\|\| *{set})*$")).expect("a literal pattern")
});

static TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z][A-Za-z0-9._-]{0,127}$").expect("a literal pattern"));

impl FromStr for Wanted {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        if let Ok(version) = text.parse() {
            return Ok(Self::Version(version));
        }
        let refused = || SourceError::Version { text: Shown::new(text) };
        if text.len() > RANGE_BYTES {
            return Err(refused());
        }
        // Ranges before tags, as npm reads them: `x` and `v1` are ranges.
        if RANGE.is_match(text) {
            let range = nodejs_semver::Range::parse(text).map_err(|_| refused())?;
            return Ok(Self::Range(Range { text: text.to_owned(), range }));
        }
        if TAG.is_match(text) && !text.contains("..") {
            return Ok(Self::Tag(Tag(text.to_owned())));
        }
        Err(refused())
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => fmt::Display::fmt(version, f),
            Self::Tag(tag) => f.write_str(&tag.0),
            Self::Range(range) => f.write_str(&range.text),
        }
    }
}

/// The kinds of spec that are recognised and not carried yet: how one begins, what it is, what it will do.
const NOT_YET: &[(&str, &str, &str)] = &[
    ("oci:", "a container image", "`npm:` and `pypi:` packages, and `path:` files and folders"),
    ("git+", "a git repository", "`npm:` and `pypi:` packages, and `path:` of a clone"),
    ("https://", "a remote server", "servers that run on this machine: `npm:`, `pypi:` and `path:`"),
    ("http://", "a remote server", "servers that run on this machine: `npm:`, `pypi:` and `path:`"),
];

impl Spec {
    /// The specs that a package's name stands for which does not say whose it is, a version included.
    pub fn of_plain_name(text: &str) -> Vec<String> {
        // what is no name in either has a sign that no package's has
        if text.contains([':', '/', '\\']) {
            return Vec::new();
        }
        // `a==1` and `a[b]` are Python's alone; npm's grammar does not have them
        [("npm:", npm(text).is_ok()), ("pypi:", text.parse::<PypiSpec>().is_ok())]
            .into_iter()
            .filter(|(_, holds)| *holds)
            .map(|(prefix, _)| format!("{prefix}{text}"))
            .collect()
    }
}

impl FromStr for Spec {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let unread = |why: &'static str| SourceError::NotASpec { text: Shown::new(text), why };
        if text.is_empty() {
            return Err(unread("it is empty"));
        }
        if text.len() > SPEC_BYTES {
            return Err(unread("it is longer than 4096 bytes"));
        }
        if let Some(rest) = text.strip_prefix("npm:") {
            return npm(rest).map(Self::Npm);
        }
        if let Some(rest) = text.strip_prefix("pypi:") {
            return rest.parse().map(Self::Pypi);
        }
        if let Some(rest) = text.strip_prefix("path:") {
            return path(rest).map(|path| Self::Path(PathSpec(path)));
        }
        if let Some((_, what, carried)) = NOT_YET.iter().find(|(begins, ..)| text.starts_with(begins)) {
            return Err(SourceError::NotYet { text: Shown::new(text), what, carried });
        }
        if text.starts_with(['.', '/', '~']) {
            return Err(unread("a file or folder is written `path:` and its path"));
        }
        if text.parse::<NpmName>().is_ok_and(|name| name.scope().is_some()) {
            return Err(unread("a package on npm is written `npm:@scope/name`"));
        }
        if let Some((namespace, _)) = text.split_once('/')
            && namespace.contains('.')
        {
            let (what, carried) = (
                "a name of the official registry",
                "the package it stands for, as `npm:NAME` or `pypi:NAME`",
            );
            return Err(SourceError::NotYet { text: Shown::new(text), what, carried });
        }
        let specs = Self::of_plain_name(text);
        if !specs.is_empty() {
            let specs = specs.iter().map(|spec| Shown::new(spec)).collect();
            return Err(SourceError::PlainName { text: Shown::new(text), specs });
        }
        Err(unread("a server is named as `npm:NAME[@VERSION]`, `pypi:NAME[==VERSION]` or `path:FILE|DIR`"))
    }
}

fn npm(text: &str) -> Result<NpmSpec, SourceError> {
    // The first `@` may begin a scope; a later one begins the version.
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, wanted) = at.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    let name = name.parse().map_err(|rule| SourceError::Name { text: Shown::new(name), rule })?;
    let wanted = wanted.map_or_else(|| Ok(Wanted::Tag(Tag::latest())), str::parse)?;
    Ok(NpmSpec { name, wanted })
}

fn path(text: &str) -> Result<PathBuf, SourceError> {
    if text.is_empty() || text.contains(char::is_control) {
        let why = "`path:` is followed by a path without control characters";
        return Err(SourceError::NotASpec { text: Shown::new(text), why });
    }
    Ok(PathBuf::from(text))
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Npm(npm) => write!(f, "npm:{}@{}", npm.name, npm.wanted),
            Self::Pypi(pypi) => write!(f, "pypi:{pypi}"),
            Self::Path(path) => write!(f, "path:{}", path.0.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::failure::{Code, Failure};

    fn wanted(text: &str) -> Wanted {
        match text.parse().unwrap() {
            Spec::Npm(npm) => npm.wanted,
            other => panic!("{other}"),
        }
    }

    fn code(text: &str) -> Code {
        Failure::from(text.parse::<Spec>().unwrap_err()).code()
    }

    #[test]
    fn accepts_an_npm_package_in_every_form() {
        assert_eq!(wanted("npm:a"), Wanted::Tag(Tag::latest()));
        assert_eq!(wanted("npm:@s/a@1.2.3"), Wanted::Version("1.2.3".parse().unwrap()));
        assert!(matches!(wanted("npm:@s/a@next"), Wanted::Tag(tag) if tag.as_str() == "next"));
        for range in [
            "^1",
            "~1.2",
            "1.x",
            "1",
            "1.2",
            "*",
            "x",
            "v1",
            "v1.2.3",
            ">=1 <2",
            ">= 1.2.3",
            "^1 || ^2",
            "1.0.0 - 2.0.0",
            "^1.0.0-beta.1",
            "=1.2.3",
            "1||2",
        ] {
            assert!(matches!(wanted(&format!("npm:a@{range}")), Wanted::Range(_)), "{range}");
        }
    }

    #[test]
    fn refuses_a_name_outside_the_grammar() {
        for bad in [
            "npm:", "npm:../x", "npm:a;b", "npm:-x", "npm:@a", "npm:a/b", "npm:.a", "npm:a b", "npm:@",
            "npm:@@1",
        ] {
            assert_eq!(code(bad), Code::NameRefused, "{bad}");
        }
    }

    #[test]
    fn refuses_a_version_outside_the_grammar() {
        for bad in [
            "npm:a@",
            "npm:a@1;x",
            "npm:a@../x",
            "npm:a@-x",
            "npm:a@latest beta",
            "npm:a@npm:b",
            "npm:a@file:x",
            "npm:a@https://x.example/y.tgz",
            "npm:a@1.2.3@4",
            "npm:a@>=1 && <2",
            "npm:a@1 foo",
            "npm:a@^",
            "npm:a@|| 1",
            "npm:a@a..b",
            "npm:a@github:x/y",
        ] {
            assert_eq!(code(bad), Code::NameRefused, "{bad}");
        }
    }

    #[test]
    fn tells_what_is_not_carried_yet_from_a_mistake() {
        for later in ["oci:x", "git+https://x.example/y", "https://x.example/mcp", "io.github.acme/thing"] {
            assert!(matches!(later.parse::<Spec>(), Err(SourceError::NotYet { .. })), "{later}");
            assert_eq!(code(later), Code::Usage);
        }
        for mistake in ["", "a b", "./a.tgz", "/a", "@s/a", "-x", "a;b", "path:", "path:a\0b", "nmp:a"] {
            assert!(matches!(mistake.parse::<Spec>(), Err(SourceError::NotASpec { .. })), "{mistake}");
            assert_eq!(code(mistake), Code::Usage);
        }
    }

    #[test]
    fn a_packages_name_alone_is_answered_with_what_it_may_stand_for() {
        for (text, told) in [
            ("mcp-server-time", "write `npm:mcp-server-time` or `pypi:mcp-server-time`,"),
            ("mcp-server-time==1.2.3", "write `pypi:mcp-server-time==1.2.3`,"),
            ("server[extra]", "write `pypi:server[extra]`,"),
            ("server@^1.2", "write `npm:server@^1.2`,"),
        ] {
            let failure = Failure::from(text.parse::<Spec>().unwrap_err());
            assert_eq!(failure.code(), Code::Usage);
            assert!(failure.hint().to_string().starts_with(told), "{}", failure.hint());
        }
    }

    #[test]
    fn accepts_a_path_as_it_is_written() {
        let spec: Spec = "path:./my server/x.tgz".parse().unwrap();
        assert!(matches!(&spec, Spec::Path(path) if path.as_path() == Path::new("./my server/x.tgz")));
    }

    #[test]
    fn a_range_holds_what_npm_says_it_holds() {
        let holds = |range: &str, version: &str| match wanted(&format!("npm:a@{range}")) {
            Wanted::Range(range) => range.holds(&version.parse().unwrap()),
            other => panic!("{other:?}"),
        };
        for (range, inside, outside) in [
            ("^1.2", "1.9.0", "2.0.0"),
            ("~1.2.3", "1.2.9", "1.3.0"),
            ("1.x", "1.0.0", "2.0.0"),
            (">=1 <2", "1.5.0", "2.0.0"),
            ("^1 || ^3", "3.1.0", "2.0.0"),
            ("1.0.0 - 2.0.0", "2.0.0", "2.0.1"),
            ("^0.2.3", "0.2.9", "0.3.0"),
            ("^1.0.0", "1.0.1", "1.1.0-beta.1"),
            ("^1.0.0-beta.1", "1.0.0-beta.2", "1.1.0-beta.1"),
            ("*", "1.0.0", "1.0.0-beta.1"),
            (">1.2", "1.3.0", "1.2.9"),
            ("<=1.2", "1.2.9", "1.3.0"),
        ] {
            assert!(holds(range, inside), "{range} holds {inside}");
            assert!(!holds(range, outside), "{range} does not hold {outside}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_spec_reads_back_the_same(text in "(npm:|pypi:|path:)?[-@a-z0-9./^~|<>= *;x]{0,40}") {
            if let Ok(spec) = text.parse::<Spec>() {
                prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
            }
        }

        #[test]
        fn no_text_makes_the_grammar_panic(text in "\\PC{0,80}") {
            let _ = text.parse::<Spec>();
            let _ = format!("npm:{text}").parse::<Spec>();
            let _ = text.parse::<Wanted>();
        }
    }
}
