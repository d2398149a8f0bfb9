//! Which Python package, and which of its versions, did the user ask for?
//!
//! `pypi:NAME[EXTRAS]` and version specifiers, or `@VERSION` and `@latest` as people write them for `uvx`. It is one
//! requirement, and chooses among versions in [`super::pypi`]; what is installed is one exact version.

use std::fmt;
use std::str::FromStr;

use pep440_rs::Operator;

use super::SourceError;
use super::python::{Extras, NotPython, PypiName, PypiVersion, Requirement};
use crate::text::Shown;

/// A package of an index, and which of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PypiSpec(Requirement);

impl PypiSpec {
    /// The package.
    pub fn name(&self) -> &PypiName {
        self.0.name()
    }

    /// The optional parts asked for.
    pub fn extras(&self) -> &Extras {
        self.0.extras()
    }

    /// The requirement it is.
    pub fn requirement(&self) -> &Requirement {
        &self.0
    }

    /// Whether an exact version may stand for what was wanted, whatever else speaks against it.
    ///
    /// Source: PEP 440, "Version specifiers".
    pub fn admits(&self, version: &PypiVersion) -> bool {
        self.0.versions().contains(version.as_version())
    }

    /// The one version it names, where it names one (`==1.2.3`, without `.*`).
    pub fn exact(&self) -> Option<PypiVersion> {
        let mut all = self.0.versions().iter();
        let one =
            all.next().filter(|one| matches!(one.operator(), Operator::Equal | Operator::ExactEqual))?;
        if all.next().is_some() {
            return None;
        }
        one.version().to_string().parse().ok()
    }

    /// Whether a prerelease is asked for by name.
    ///
    /// Source: PEP 440, "Handling of pre-releases": a specifier that names one admits them.
    pub fn names_a_prerelease(&self) -> bool {
        self.0.versions().iter().any(|one| one.version().any_prerelease())
    }
}

impl From<Requirement> for PypiSpec {
    fn from(requirement: Requirement) -> Self {
        Self(requirement)
    }
}

impl From<PypiSpec> for Requirement {
    fn from(spec: PypiSpec) -> Self {
        spec.0
    }
}

impl FromStr for PypiSpec {
    type Err = SourceError;

    /// Reads what stands after `pypi:`.
    fn from_str(text: &str) -> Result<Self, SourceError> {
        let refused = |rule: NotPython| SourceError::Python { text: Shown::new(text), rule };
        let Some((package, version)) = text.split_once('@') else {
            return text.parse().map(Self).map_err(|rule| refused(better(text, rule)));
        };
        if package.contains(['<', '>', '=', '!', '~']) {
            return Err(refused(NotPython::Requirement));
        }
        let bare: Requirement = package.parse().map_err(|rule| refused(better(package, rule)))?;
        if version == "latest" {
            return Ok(Self(bare));
        }
        let version: PypiVersion = version.parse().map_err(refused)?;
        format!("{bare}=={version}").parse().map(Self).map_err(refused)
    }
}

/// The rule that a name breaks, where it is the name that is wrong.
fn better(text: &str, rule: NotPython) -> NotPython {
    let plain = !text.contains(['[', '<', '>', '=', '!', '~', ';', '@']);
    if plain && text.parse::<PypiName>().is_err() { NotPython::Name } else { rule }
}

impl fmt::Display for PypiSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(text: &str) -> PypiSpec {
        text.parse().unwrap()
    }

    #[test]
    fn accepts_a_package_in_every_form() {
        for (text, normal) in [
            ("MCP_Server.time", "mcp-server-time"),
            ("a@latest", "a"),
            ("a[cli]@1.2", "a[cli]==1.2"),
            ("a@1.0-RC1", "a==1.0rc1"),
            ("a==1.2.3", "a==1.2.3"),
            ("a[cli,http]>=1,<2", "a[cli,http]>=1,<2"),
            ("a~=1.4", "a~=1.4"),
            ("a==1.*", "a==1.*"),
            ("a!=1.3", "a!=1.3"),
        ] {
            assert_eq!(spec(text).to_string(), normal);
        }
    }

    #[test]
    fn refuses_what_is_no_package_of_an_index() {
        for bad in [
            "",
            "-x",
            "a b",
            "a;python_version<'3'",
            "a @ https://x.example/a.whl",
            "a@https://x.example/a.whl",
            "git+https://x.example/y",
            "./a",
            "/a",
            "a/b",
            "a@",
            "a@next",
            "a@>=1",
            "a==1@2",
            "a[",
            "a[]",
            "a[-x]",
            "a==",
            "a=1",
            "a>>1",
            "--index-url",
            "a@1;x",
            "a$b",
        ] {
            assert!(matches!(bad.parse::<PypiSpec>(), Err(SourceError::Python { .. })), "{bad}");
        }
        let Err(SourceError::Python { rule, .. }) = "a/../b".parse::<PypiSpec>() else { panic!() };
        assert_eq!(rule, NotPython::Name);
    }

    #[test]
    fn tells_one_version_from_several() {
        assert_eq!(spec("a==1.2").exact(), Some("1.2".parse().unwrap()));
        assert_eq!(spec("a@1.2").exact(), Some("1.2".parse().unwrap()));
        for several in ["a", "a@latest", "a==1.*", "a>=1", "a>=1,==1.2", "a~=1.2", "a!=1"] {
            assert_eq!(spec(several).exact(), None, "{several}");
        }
    }

    #[test]
    fn admits_what_pep_440_admits() {
        for (text, inside, outside) in [
            ("a==1.2", "1.2.0", "1.2.1"),
            ("a==1.2.*", "1.2.9", "1.3"),
            ("a~=1.4", "1.9", "2.0"),
            ("a~=1.4.2", "1.4.9", "1.5"),
            ("a>=1,<2", "1.9", "2.0"),
            ("a<2", "1.9", "2.0rc1"),
            ("a>1.0", "1.1", "1.0.post1"),
            ("a!=1.5", "1.4", "1.5.0"),
        ] {
            assert!(spec(text).admits(&inside.parse().unwrap()), "{text} admits {inside}");
            assert!(!spec(text).admits(&outside.parse().unwrap()), "{text} does not admit {outside}");
        }
        assert!(spec("a>=2.0rc1").names_a_prerelease() && !spec("a>=2.0").names_a_prerelease());
    }

    proptest! {
        #[test]
        fn an_accepted_spec_reads_back_the_same(text in "[a-zA-Z0-9._-]{1,12}(\\[[a-z,]{1,6}\\])?(@[0-9.a-z]{1,8}|([<>=!~]{1,2}[0-9.*]{1,5}){0,2})") {
            if let Ok(spec) = text.parse::<PypiSpec>() {
                prop_assert_eq!(spec.to_string().parse::<PypiSpec>().unwrap(), spec);
            }
        }

        #[test]
        fn no_text_makes_the_grammar_panic(text in "\\PC{0,60}") {
            let _ = text.parse::<PypiSpec>();
        }
    }
}
