//! What does a Python package say of itself?
//!
//! The `METADATA` of a wheel: headers as in mail, then a description. Written by whoever published the package, so
//! facts are read leniently and made safe to draw; name and version are held to what they should be by whoever asks.
//! Source: the Python Packaging User Guide, "Core metadata specifications".

use super::python::{PypiName, Requirement};
use super::release::Facts;
use crate::text::Shown;

/// The largest `METADATA` that is read: 4 MiB.
pub(super) const METADATA_BYTES: u64 = 4 << 20;
/// The longest text that is kept of a fact, in characters; the card has limits of its own.
const FACT_CHARS: usize = 64_000;
/// How many headers are read.
const HEADERS: usize = 10_000;

/// The headers of a `METADATA`, and what follows them.
pub(super) struct Metadata<'a> {
    headers: Vec<(&'a str, String)>,
    body: &'a str,
}

impl<'a> Metadata<'a> {
    /// Reads a text; none where it has more than 10,000 headers or a line among them that is none.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let mut headers: Vec<(&str, String)> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let line = line.strip_suffix('\r').unwrap_or(line);
            rest = after;
            if line.is_empty() {
                break;
            }
            if line.starts_with([' ', '\t']) {
                // A value of several lines.
                let (_, value) = headers.last_mut()?;
                value.push('\n');
                value.push_str(line.trim_start());
                continue;
            }
            if headers.len() == HEADERS {
                return None;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name, value.trim().to_owned()));
        }
        Some(Self { headers, body: rest })
    }

    /// A header's value; none where there are several, which readers would choose among differently.
    pub(super) fn one<'s>(&'s self, name: &'s str) -> Option<&'s str> {
        let mut all = self.all(name);
        let one = all.next()?;
        if all.next().is_some() { None } else { Some(one) }
    }

    fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The packages it depends on, whatever the condition.
    pub(super) fn depends_on(&self) -> Vec<PypiName> {
        let name = |text: &str| -> Option<PypiName> {
            let end =
                text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(text.len());
            text[..end].parse().ok()
        };
        let mut names: Vec<PypiName> = self.all("Requires-Dist").filter_map(name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What is told of the package.
    pub(super) fn facts(&self, facts: &mut Facts) {
        let text = |text: &str| {
            let text: String = text.trim().chars().take(FACT_CHARS).collect();
            (!text.is_empty() && text != "UNKNOWN").then(|| Shown::new(&text))
        };
        let told = |name: &str| self.all(name).next().and_then(text);
        facts.description = told("Summary");
        facts.license = told("License-Expression").or_else(|| {
            // Older packages put the whole licence here.
            told("License").filter(|license| license.width() <= 80)
        });
        facts.repository = self
            .all("Project-URL")
            .filter_map(|value| value.split_once(','))
            .find(|(label, _)| {
                let label = label.trim().to_ascii_lowercase();
                ["source", "source code", "repository", "github", "code"].contains(&label.as_str())
            })
            .and_then(|(_, url)| text(url))
            .or_else(|| told("Home-page"));
        facts.mcp_name = self.mcp_name().and_then(text);
    }

    /// The official registry's name that the description claims. Source: the MCP registry's documentation, "PyPI
    /// packages", where it stands in the README as `mcp-name: NAME`.
    fn mcp_name(&self) -> Option<&str> {
        let (_, after) = self.body.split_once("mcp-name:")?;
        let name = after.trim_start().split(|c: char| c.is_whitespace() || "<>\"'`".contains(c)).next()?;
        (!name.is_empty() && name.len() <= 200).then_some(name)
    }

    /// Whether a requirement of it needs building: a URL among them is no package of an index.
    pub(super) fn foreign(&self) -> Option<&str> {
        self.all("Requires-Dist").find(|one| {
            one.split(';').next().is_some_and(|requirement| requirement.contains('@'))
                && one.parse::<Requirement>().is_err()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "Metadata-Version: 2.4\nName: mcp-server-time\nVersion: 2026.8.18\nSummary: tells the \u{1b}[2Jtime\n\
                        Author-email: A <a@x.example>\nLicense-Expression: MIT\n\
                        Project-URL: Homepage, https://x.example/\nProject-URL: Source, https://x.example/src\n\
                        Requires-Python: >=3.10\nRequires-Dist: mcp>=1.0; python_version > '3'\n\
                        Requires-Dist: tzdata\nDescription-Content-Type: text/markdown\n\n# Time\n\
                        <!-- mcp-name: io.github.x/time -->\nSummary: not a header\n";

    #[test]
    fn reads_headers_and_facts() {
        let metadata = Metadata::read(TEXT).unwrap();
        assert_eq!(metadata.one("name"), Some("mcp-server-time"));
        assert_eq!(metadata.one("Requires-Python"), Some(">=3.10"));
        assert_eq!(metadata.one("Project-URL"), None);
        let names: Vec<_> = metadata.depends_on().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["mcp", "tzdata"]);
        assert_eq!(metadata.foreign(), None);
        let mut facts = Facts::default();
        metadata.facts(&mut facts);
        let shown = |text: &str| Some(Shown::new(text));
        assert_eq!(facts.description, shown("tells the  [2Jtime"));
        assert_eq!((facts.license, facts.repository), (shown("MIT"), shown("https://x.example/src")));
        assert_eq!(facts.mcp_name, shown("io.github.x/time"));
        // Who an author says they are is not who published it.
        assert_eq!(facts.publisher, None);
    }

    #[test]
    fn reads_values_of_several_lines_and_line_ends_of_windows() {
        let metadata = Metadata::read("Name: a\r\nLicense: MIT\r\n and more\r\n\r\nbody").unwrap();
        assert_eq!((metadata.one("License"), metadata.body), (Some("MIT\nand more"), "body"));
    }

    #[test]
    fn refuses_what_has_no_headers() {
        for bad in ["nonsense", " folded: first", "Name: a\nnonsense\n"] {
            assert!(Metadata::read(bad).is_none(), "{bad}");
        }
        assert!(Metadata::read(&"A: b\n".repeat(10_001)).is_none());
    }

    #[test]
    fn names_a_dependency_that_no_index_has() {
        let of =
            |line: &str| Metadata::read(&format!("Requires-Dist: {line}\n")).unwrap().foreign().is_some();
        assert!(of("a @ https://x.example/a.whl"));
        assert!(of("a@git+https://x.example/a ; extra == 'x'"));
        assert!(!of("a>=1; extra == '@'"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}|([A-Za-z-]{1,8}:[ a-z@;\n]{0,9}\n){0,9}") {
            if let Some(metadata) = Metadata::read(&text) {
                metadata.facts(&mut Facts::default());
                let _ = (metadata.depends_on(), metadata.foreign());
            }
        }
    }
}
