//! Which local names mean something already?
//!
//! Those of servers that people know by a plain word, kept for the sources that are meant by it, and those that
//! are words of Pinfold's own, kept for nobody. Data: a name, the sources that may have it, whose it is.

/// A name and its like, kept.
struct Kept {
    names: &'static [&'static str],
    /// Source ids, without a version, that may take one of the names.
    sources: &'static [&'static str],
    /// Whose it is, for the message.
    whose: &'static str,
}

const KEPT: &[Kept] = &[
    Kept {
        names: &["filesystem", "file-system", "files"],
        sources: &["npm:@modelcontextprotocol/server-filesystem"],
        whose: "the filesystem server of the Model Context Protocol project",
    },
    Kept {
        names: &["memory"],
        sources: &["npm:@modelcontextprotocol/server-memory"],
        whose: "the memory server of the Model Context Protocol project",
    },
    Kept {
        names: &["everything"],
        sources: &["npm:@modelcontextprotocol/server-everything"],
        whose: "the test server of the Model Context Protocol project",
    },
    Kept {
        names: &["sequential-thinking", "sequentialthinking"],
        sources: &["npm:@modelcontextprotocol/server-sequential-thinking"],
        whose: "the sequential-thinking server of the Model Context Protocol project",
    },
    Kept {
        names: &["fetch"],
        sources: &["pypi:mcp-server-fetch"],
        whose: "the fetch server of the Model Context Protocol project",
    },
    Kept {
        names: &["git"],
        sources: &["pypi:mcp-server-git"],
        whose: "the git server of the Model Context Protocol project",
    },
    Kept {
        names: &["time"],
        sources: &["pypi:mcp-server-time"],
        whose: "the time server of the Model Context Protocol project",
    },
    Kept {
        names: &["github", "git-hub"],
        sources: &["npm:@modelcontextprotocol/server-github", "oci:ghcr.io/github/github-mcp-server"],
        whose: "GitHub's server",
    },
    Kept {
        names: &["google-calendar", "calendar", "gcal", "google"],
        sources: &["npm:@cocal/google-calendar-mcp"],
        whose: "the Google Calendar server",
    },
    Kept {
        names: &["notion", "notion-mcp"],
        sources: &["npm:@notionhq/notion-mcp-server"],
        whose: "Notion's server",
    },
    Kept {
        names: &["browser", "playwright", "navegador", "web-browser"],
        sources: &["npm:@playwright/mcp"],
        whose: "Playwright's server",
    },
    Kept {
        names: &["all", "default", "mcp", "none", "pin", "pinfold", "pins", "server", "servers", "system"],
        sources: &[],
        whose: "pinfold's own use",
    },
];

/// Whether that source may have that name.
pub(super) fn admits(name: &str, source: &str) -> bool {
    row(name).is_none_or(|kept| kept.sources.contains(&source))
}

/// Whose the name is, if it is kept.
pub(super) fn kept_for(name: &str) -> Option<&'static str> {
    row(name).map(|kept| kept.whose)
}

/// Whole names only: `git` does not keep `github` from anyone.
fn row(name: &str) -> Option<&'static Kept> {
    KEPT.iter().find(|kept| kept.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_holds_names_of_the_grammar_each_once() {
        let mut seen = std::collections::BTreeSet::new();
        for name in KEPT.iter().flat_map(|kept| kept.names) {
            assert!(name.parse::<super::super::LocalName>().is_ok(), "{name}");
            assert!(seen.insert(name), "{name} is in two rows");
        }
    }

    #[test]
    fn admits_the_source_that_is_meant_and_no_look_alike() {
        assert!(admits("memory", "npm:@modelcontextprotocol/server-memory"));
        assert!(!admits("memory", "npm:@modelcontextprotocol/server-memory2"));
        assert!(!admits("memory", "pypi:memory"));
        assert!(admits("memories", "npm:memories"));
    }
}
