//! What else does a person want to know, that does not decide what runs?
//!
//! What a registry tells about a package: how old, by whom, in their own words. None of it is in a plan's digest:
//! a registry that words a description anew has not changed what was consented to.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::text::Shown;

/// What is told about a release. All of it is others' word, each part possibly absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
    /// The package's description of itself.
    #[serde(deserialize_with = "read", skip_serializing_if = "Option::is_none")]
    pub description: Option<Shown>,
    /// When the version was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Timestamp>,
    /// The account that published it.
    #[serde(deserialize_with = "read", skip_serializing_if = "Option::is_none")]
    pub publisher: Option<Shown>,
    /// Whether the registry holds a provenance statement for it; `None` where it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<bool>,
    /// Why its publisher says not to use it any more.
    #[serde(deserialize_with = "read", skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Shown>,
    /// Variables that were asked for and left out, each with the reason.
    #[serde(deserialize_with = "read_pairs", skip_serializing_if = "Vec::is_empty")]
    pub dropped_env: Vec<(Shown, Shown)>,
    /// What was understood or chosen otherwise than one might think from what was typed, a sentence each.
    #[serde(deserialize_with = "read_all", skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Shown>,
    /// What was seen of the plan's folders when it was drawn, in the order they were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<FolderFacts>,
}

/// What was seen of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FolderFactsFile")]
pub struct FolderFacts {
    /// The folder, as the plan has it.
    pub path: Shown,
    /// What was typed, where that is a link which leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed: Option<Shown>,
    /// Names in it that stay read-only, though the server may write to the rest.
    pub held: Vec<Shown>,
    /// Names in it that should stay so, and cannot, since they are links.
    pub loose: Vec<Shown>,
    /// Those of read-only files that have a second name, by which they can be written to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub twice: Vec<Shown>,
    /// Whether it belongs to root, whom the server is nobody to.
    pub roots: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FolderFactsFile {
    path: String,
    typed: Option<String>,
    held: Vec<String>,
    loose: Vec<String>,
    #[serde(default)]
    twice: Vec<String>,
    roots: bool,
}

impl From<FolderFactsFile> for FolderFacts {
    fn from(file: FolderFactsFile) -> Self {
        let all = |texts: Vec<String>| texts.iter().map(|text| Shown::new(text)).collect();
        Self {
            path: Shown::new(&file.path),
            typed: file.typed.as_deref().map(Shown::new),
            held: all(file.held),
            loose: all(file.loose),
            twice: all(file.twice),
            roots: file.roots,
        }
    }
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Shown>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(|text| Shown::new(&text)))
}

fn read_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Shown>, D::Error> {
    Ok(Vec::<String>::deserialize(deserializer)?.iter().map(|text| Shown::new(text)).collect())
}

fn read_pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Shown, Shown)>, D::Error> {
    let pairs = Vec::<[String; 2]>::deserialize(deserializer)?;
    Ok(pairs.iter().map(|[name, why]| (Shown::new(name), Shown::new(why))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_read_back_the_same_and_stay_safe_to_draw() {
        let facts = Facts {
            description: Some(Shown::new("a\u{1b}[2Kb")),
            published: Some(Timestamp::UNIX_EPOCH),
            dropped_env: vec![(Shown::new("A"), Shown::new("b"))],
            folders: vec![FolderFacts {
                path: Shown::new("/srv/x"),
                typed: Some(Shown::new("x")),
                held: vec![Shown::new(".git/config")],
                loose: Vec::new(),
                twice: vec![Shown::new(".git/config")],
                roots: true,
            }],
            ..Facts::default()
        };
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
        let planted = text.replace("a [2Kb", "a\\u001b[2Kb");
        assert_ne!(planted, text);
        assert_eq!(serde_json::from_str::<Facts>(&planted).unwrap(), facts);
    }
}
