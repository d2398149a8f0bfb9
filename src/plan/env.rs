//! Which variables may a server's environment hold?
//!
//! Any but those that steer a loader, an interpreter, a package manager or Pinfold itself: whoever sets one of
//! these decides what code runs, or where its traffic goes, without it being seen on the card. One closed table,
//! the same whoever asks: the command line, a registry entry, a pin.
//!
//! Invariants: an [`EnvName`] is in no refused row; an [`EnvValue`] has no control character, so a value cannot
//! end early and begin a second variable.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::Shown;

/// Bytes a name may have. No limit of the system's; longer ones do not fit a card's line.
const NAME_LIMIT: usize = 128;

/// Bytes a plain setting may have. It is shown whole on the card.
const VALUE_LIMIT: usize = 4096;

/// How a row of the table matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    /// This very name.
    Is(&'static str),
    /// Names that begin so.
    Begins(&'static str),
    /// This very name in any case, because its reader folds it.
    IsAnyCase(&'static str),
    /// Names that begin so in any case, because their reader folds them.
    BeginsAnyCase(&'static str),
    /// Names that end so in any case, because their reader folds them.
    EndsAnyCase(&'static str),
}
use Match::{Begins, BeginsAnyCase, EndsAnyCase, Is, IsAnyCase};

/// A row of the table.
struct Row {
    names: &'static [Match],
    why: &'static str,
}

/// Names that are left out and said so: harmless, and of no use in a cage.
const DROPPED: &[Row] = &[
    Row { names: &[Is("PYTHONUNBUFFERED")], why: "the cage's streams are not buffered anyway" },
    Row { names: &[Is("PYTHONDONTWRITEBYTECODE")], why: "nothing can be written beside the code anyway" },
    Row { names: &[Is("PYTHONIOENCODING"), Is("PYTHONUTF8")], why: "the cage speaks UTF-8 anyway" },
];

/// Names that a row of [`REFUSED`] would take along, and that steer nothing: whose name git writes into a commit.
const HARMLESS: &[&str] =
    &["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// Names that are refused.
const REFUSED: &[Row] = &[
    Row {
        names: &[Begins("LD_"), Begins("DYLD_"), Is("GCONV_PATH"), Is("GLIBC_TUNABLES"), Is("LOCPATH")],
        why: "the dynamic loader and the C library load code or data from where it says",
    },
    Row {
        names: &[Begins("MALLOC_"), Is("HOSTALIASES"), Is("LOCALDOMAIN"), Is("RES_OPTIONS")],
        why: "it changes how the C library keeps memory or finds hosts",
    },
    Row { names: &[Is("PATH")], why: "it decides which program a name means; the cage sets it" },
    Row { names: &[Is("HOME"), Is("TMPDIR"), Begins("XDG_")], why: "the cage says where files go" },
    Row {
        names: &[
            Is("SHELL"),
            Is("BASH_ENV"),
            Is("ENV"),
            Is("IFS"),
            Is("PS4"),
            Is("PROMPT_COMMAND"),
            Begins("BASH_FUNC_"),
        ],
        why: "a shell runs it or reads it before its script",
    },
    Row {
        names: &[
            Is("NODE_OPTIONS"),
            Is("NODE_PATH"),
            Is("NODE_COMPILE_CACHE"),
            Is("NODE_V8_COVERAGE"),
            Is("NODE_REDIRECT_WARNINGS"),
            Is("NODE_ICU_DATA"),
            Begins("NODE_REPL_"),
            Begins("TS_NODE_"),
        ],
        why: "Node loads code or data from where it says, or writes there",
    },
    Row {
        names: &[Is("NODE_TLS_REJECT_UNAUTHORIZED"), Is("NODE_EXTRA_CA_CERTS")],
        why: "it decides whom Node trusts; the cage sets the certificates",
    },
    Row { names: &[Begins("PYTHON")], why: "Python loads code from where it says" },
    Row {
        names: &[Is("JAVA_TOOL_OPTIONS"), Is("_JAVA_OPTIONS"), Is("JDK_JAVA_OPTIONS")],
        why: "a Java machine loads code from where it says",
    },
    Row { names: &[Begins("PERL5"), Is("PERLLIB")], why: "Perl loads code from where it says" },
    Row {
        names: &[Begins("RUBY"), Begins("GEM_"), Begins("BUNDLE_")],
        why: "Ruby loads code from where it says",
    },
    Row {
        names: &[
            BeginsAnyCase("NPM_CONFIG_"),
            BeginsAnyCase("YARN_"),
            Begins("BUN_"),
            Begins("PNPM_"),
            Begins("COREPACK_"),
        ],
        why: "a package manager fetches from where it says",
    },
    Row { names: &[Begins("PIP_"), Begins("UV_")], why: "a package manager fetches from where it says" },
    Row { names: &[Begins("GIT_"), Begins("SSH_")], why: "git and ssh run programs it names" },
    Row { names: &[Begins("DOCKER_")], why: "it points at an engine, which is this machine" },
    Row {
        names: &[EndsAnyCase("_PROXY")],
        why: "it sends traffic elsewhere; the way out of a cage is the plan's egress",
    },
    Row {
        names: &[
            Begins("OPENSSL_"),
            Begins("SSL_CERT_"),
            Is("SSLKEYLOGFILE"),
            Is("REQUESTS_CA_BUNDLE"),
            Is("CURL_CA_BUNDLE"),
            Is("AWS_CA_BUNDLE"),
            Is("HTTPLIB2_CA_CERTS"),
            Is("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
        ],
        why: "it decides whom TLS trusts, or writes its keys down; the cage sets the certificates",
    },
    Row { names: &[IsAnyCase("PINFOLD"), BeginsAnyCase("PINFOLD_")], why: "it steers pinfold itself" },
];

impl Match {
    fn hits(self, name: &str) -> bool {
        let (name, wanted) = (name.as_bytes(), self.text().as_bytes());
        match self {
            Is(_) => name == wanted,
            Begins(_) => name.starts_with(wanted),
            IsAnyCase(_) => name.eq_ignore_ascii_case(wanted),
            BeginsAnyCase(_) => name.get(..wanted.len()).is_some_and(|s| s.eq_ignore_ascii_case(wanted)),
            EndsAnyCase(_) => {
                name.len().checked_sub(wanted.len()).is_some_and(|at| name[at..].eq_ignore_ascii_case(wanted))
            }
        }
    }

    fn text(self) -> &'static str {
        match self {
            Is(s) | Begins(s) | IsAnyCase(s) | BeginsAnyCase(s) | EndsAnyCase(s) => s,
        }
    }

    fn pattern(self) -> String {
        match self {
            Is(s) | IsAnyCase(s) => s.to_owned(),
            Begins(s) | BeginsAnyCase(s) => format!("{s}*"),
            EndsAnyCase(s) => format!("*{s}"),
        }
    }
}

/// The table of refused names for a person: pattern and reason, in the order it is read.
pub fn refused_names() -> impl Iterator<Item = (String, &'static str)> {
    REFUSED.iter().flat_map(|row| row.names.iter().map(|m| (m.pattern(), row.why)))
}

fn row_for<'a>(table: &'a [Row], name: &str) -> Option<&'a Row> {
    table.iter().find(|row| row.names.iter().any(|m| m.hits(name)))
}

/// A variable, or its value, that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvRefused {
    /// Not a name at all.
    #[error("`{0}` is no variable's name: letters, digits and `_`, no digit first, at most {NAME_LIMIT}")]
    NotAName(Shown),
    /// In the table.
    #[error("the variable {name} is refused: {why}")]
    Steers {
        /// The name.
        name: Shown,
        /// The row's reason.
        why: &'static str,
    },
    /// Left out when asked for by itself, but a plan cannot hold it.
    #[error("the variable {name} is left out: {why}")]
    Useless {
        /// The name.
        name: Shown,
        /// The row's reason.
        why: &'static str,
    },
    /// A credential with its value, which would be in the plan for everybody to read.
    #[error("the value of {name} is written out, and by its name it is a credential")]
    Secret {
        /// The name; never the value.
        name: Shown,
    },
    /// A control character, or too long.
    #[error("the value of {name} {why}")]
    Value {
        /// The name.
        name: Shown,
        /// What is wrong; never the value.
        why: &'static str,
    },
}

/// The name of a variable that a plan may hold.
///
/// Source of the grammar: POSIX.1-2017, XBD 3.235 "Name".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EnvName(String);

impl EnvName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether what goes by this name is a credential, going by how programs call theirs.
    ///
    /// The last word decides: `API_KEY` is one, `API_KEY_FILE` says where one is, `TOKEN_LIMIT` is a number.
    fn names_a_secret(&self) -> bool {
        let name = self.0.to_ascii_uppercase();
        let mut words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
        // `TOKEN_V2`, `API_KEY_1`, `SECRET_KEY_BASE`: the same thing, said more closely
        let closer = |word: &str| {
            matches!(word, "BASE" | "BASE64" | "B64" | "JSON" | "PEM" | "VALUE")
                || word.trim_start_matches('V').bytes().all(|b| b.is_ascii_digit())
        };
        while words.len() > 1 && words.last().is_some_and(|word| closer(word)) {
            words.pop();
        }
        let (last, before) = match words[..] {
            [.., before, last] => (last, before),
            [last] => (last, ""),
            [] => return false,
        };
        match last {
            "KEY" => !NO_SECRET_KEYS.contains(&before),
            "PAT" | "PWD" => !before.is_empty(),
            "CREDENTIAL" | "CREDENTIALS" => true,
            last => SECRETS.iter().any(|secret| last.ends_with(secret)),
        }
    }
}

/// What programs call credentials; also as the end of a word, `DBPASSWORD`.
const SECRETS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY"];

/// Keys that open nothing.
const NO_SECRET_KEYS: &[&str] = &[
    "PUBLIC",
    "PUBLISHABLE",
    "SORT",
    "PRIMARY",
    "FOREIGN",
    "PARTITION",
    "CACHE",
    "INDEX",
    "GROUP",
    "HASH",
    "RANGE",
    "HOT",
];

impl FromStr for EnvName {
    type Err = EnvRefused;

    fn from_str(text: &str) -> Result<Self, EnvRefused> {
        let head = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        let name = head && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !name || text.len() > NAME_LIMIT {
            return Err(EnvRefused::NotAName(Shown::new(text)));
        }
        if let Some(row) = row_for(DROPPED, text) {
            return Err(EnvRefused::Useless { name: Shown::new(text), why: row.why });
        }
        if let Some(row) = row_for(REFUSED, text).filter(|_| !HARMLESS.contains(&text)) {
            return Err(EnvRefused::Steers { name: Shown::new(text), why: row.why });
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for EnvName {
    type Error = EnvRefused;

    fn try_from(text: String) -> Result<Self, EnvRefused> {
        text.parse()
    }
}

impl From<EnvName> for String {
    fn from(name: EnvName) -> String {
        name.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The value of a plain setting: no control character, at most 4,096 bytes. On the card and in the pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EnvValue(String);

impl EnvValue {
    /// The value.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is too little to be a credential: nothing, a switch, a small number.
    fn is_no_secret(&self) -> bool {
        let switch = ["true", "false", "yes", "no", "on", "off", "none", "null"];
        let number = self.0.len() <= 7 && self.0.bytes().all(|b| b.is_ascii_digit());
        number || switch.iter().any(|word| self.0.eq_ignore_ascii_case(word))
    }

    fn new(name: &str, text: &str) -> Result<Self, EnvRefused> {
        let refuse = |why| EnvRefused::Value { name: Shown::new(name), why };
        if text.chars().any(char::is_control) {
            return Err(refuse("holds a control character"));
        }
        if text.len() > VALUE_LIMIT {
            return Err(refuse("is longer than 4096 bytes"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for EnvValue {
    type Error = EnvRefused;

    fn try_from(text: String) -> Result<Self, EnvRefused> {
        Self::new("a setting", &text)
    }
}

impl From<EnvValue> for String {
    fn from(value: EnvValue) -> String {
        value.0
    }
}

/// What one `--env` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvAsked {
    /// `NAME`: a credential, its value read at start and written nowhere.
    Credential(EnvName),
    /// `NAME=VALUE`: a plain setting, part of the plan.
    Setting(EnvName, EnvValue),
    /// A harmless name of no use in a cage: left out, and said so.
    Dropped {
        /// The name.
        name: Shown,
        /// Why it is of no use.
        why: &'static str,
    },
}

impl FromStr for EnvAsked {
    type Err = EnvRefused;

    fn from_str(text: &str) -> Result<Self, EnvRefused> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let parsed = match name.parse::<EnvName>() {
            Err(EnvRefused::Useless { name, why }) => return Ok(Self::Dropped { name, why }),
            other => other?,
        };
        Ok(match value {
            None => Self::Credential(parsed),
            Some(value) => {
                let value = EnvValue::new(name, value)?;
                if parsed.names_a_secret() && !value.is_no_secret() {
                    return Err(EnvRefused::Secret { name: Shown::new(name) });
                }
                Self::Setting(parsed, value)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steers(name: &str) -> bool {
        matches!(name.parse::<EnvName>(), Err(EnvRefused::Steers { .. }))
    }

    #[test]
    fn every_row_refuses_what_it_names_and_accepts_its_neighbour() {
        for m in REFUSED.iter().flat_map(|row| row.names) {
            let text = m.text();
            match m {
                Is(_) => {
                    assert!(steers(text), "{text}");
                    // Its neighbours, unless another row has them.
                    let longer = format!("X_{text}_X");
                    assert!(longer.parse::<EnvName>().is_ok(), "{longer}");
                }
                IsAnyCase(_) => assert!(steers(text) && steers(&text.to_lowercase()), "{text}"),
                Begins(_) => {
                    assert!(steers(&format!("{text}X")), "{text}");
                    assert!(format!("X{text}X").parse::<EnvName>().is_ok(), "{text}");
                }
                BeginsAnyCase(_) => {
                    assert!(
                        steers(&format!("{text}x")) && steers(&format!("{}x", text.to_lowercase())),
                        "{text}"
                    );
                    assert!(format!("X{text}X").parse::<EnvName>().is_ok(), "{text}");
                }
                EndsAnyCase(_) => {
                    assert!(
                        steers(&format!("X{text}")) && steers(&format!("x{}", text.to_lowercase())),
                        "{text}"
                    );
                    assert!(format!("X{text}X").parse::<EnvName>().is_ok(), "{text}");
                }
            }
        }
    }

    #[test]
    fn refuses_every_name_the_design_lists() {
        for name in [
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "GCONV_PATH",
            "PATH",
            "HOME",
            "SHELL",
            "BASH_ENV",
            "ENV",
            "NODE_OPTIONS",
            "NODE_PATH",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "NODE_EXTRA_CA_CERTS",
            "NODE_REPL_EXTERNAL_MODULE",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "HTTP_PROXY",
            "https_proxy",
            "no_proxy",
            "NPM_CONFIG_REGISTRY",
            "npm_config_registry",
            "Npm_Config_Registry",
            "YARN_RC_FILENAME",
            "BUN_CONFIG_REGISTRY",
            "PIP_INDEX_URL",
            "UV_INDEX",
            "GIT_SSH_COMMAND",
            "GIT_AUTHOR_NAME_X",
            "GIT_DIR",
            "SSH_AUTH_SOCK",
            "DOCKER_HOST",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "PERL5LIB",
            "RUBYOPT",
            "GEM_HOME",
            "OPENSSL_CONF",
            "SSL_CERT_FILE",
            "SSLKEYLOGFILE",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "XDG_CONFIG_HOME",
            "TMPDIR",
            "PINFOLD_HOME",
        ] {
            assert!(steers(name), "{name}");
        }
    }

    #[test]
    fn accepts_what_servers_really_ask_for() {
        for name in [
            "GITHUB_TOKEN",
            "API_KEY",
            "NODE_ENV",
            "DEBUG",
            "TZ",
            "LANG",
            "_x",
            "DATABASE_URL",
            "PROXY_URL",
            "ENVIRONMENT",
            "HOMEPAGE",
            "GITHUB_HOST",
            "SSHX",
            "MEMORY_FILE_PATH",
            "GIT_AUTHOR_NAME",
            "GIT_COMMITTER_EMAIL",
            "path",
        ] {
            assert!(name.parse::<EnvName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn refuses_what_is_no_name() {
        for text in ["", "1A", "A-B", "A B", "A\n", "É", "A.B", "-A", &"A".repeat(129)] {
            assert!(matches!(text.parse::<EnvName>(), Err(EnvRefused::NotAName(_))), "{text}");
        }
        assert!("A".repeat(128).parse::<EnvName>().is_ok());
    }

    #[test]
    fn a_harmless_name_is_dropped_with_its_reason_and_never_in_a_plan() {
        assert!(matches!("PYTHONUNBUFFERED=1".parse(), Ok(EnvAsked::Dropped { .. })));
        assert!("PYTHONUNBUFFERED".parse::<EnvName>().is_err());
    }

    #[test]
    fn tells_a_credential_from_a_setting() {
        assert_eq!("K".parse(), Ok(EnvAsked::Credential("K".parse().unwrap())));
        let Ok(EnvAsked::Setting(name, value)) = "K=a=b ".parse() else { panic!() };
        assert_eq!((name.as_str(), value.as_str()), ("K", "a=b "));
        assert!(matches!("K=".parse(), Ok(EnvAsked::Setting(..))));
    }

    #[test]
    fn refuses_a_credential_that_is_written_out_and_never_repeats_it() {
        for name in [
            "GITHUB_TOKEN",
            "github_personal_access_token",
            "API_KEY",
            "KEY",
            "AWS_SECRET_ACCESS_KEY",
            "DBPASSWORD",
            "PGPASSWORD",
            "OPENAI_APIKEY",
            "NOTION_TOKEN_V2",
            "SECRET_KEY_BASE",
            "GOOGLE_CREDENTIALS_JSON",
            "GITHUB_PAT",
            "DB_PWD",
            "API_KEY_1",
        ] {
            let error = format!("{name}=hunter-2-hunter").parse::<EnvAsked>().unwrap_err();
            assert_eq!(error, EnvRefused::Secret { name: Shown::new(name) });
            let failure = crate::failure::Failure::from(error);
            assert!(failure.hint().to_string().contains(&format!("--env {name}`")), "{}", failure.hint());
            assert!(!format!("{failure:?}").contains("hunter"));
            assert!(matches!(name.parse(), Ok(EnvAsked::Credential(_))), "{name}");
        }
    }

    #[test]
    fn accepts_settings_that_are_called_nearly_like_a_credential() {
        for setting in [
            "MAX_TOKENS=4096",
            "TOKEN_LIMIT=x",
            "MAX_TOKEN=100000",
            "API_KEY_FILE=/run/secrets/x",
            "TOKEN_URL=https://x.example",
            "KEYBOARD=us",
            "SORT_KEY=name",
            "PUBLIC_KEY=abcdef",
            "MONKEY=a",
            "GITHUB_TOKEN=",
            "USE_TOKEN=true",
            "PWD=/x",
            "PAT=x",
            "SECRETARY=x",
            "PASSWORD_POLICY=strict",
        ] {
            assert!(matches!(setting.parse(), Ok(EnvAsked::Setting(..))), "{setting}");
        }
    }

    #[test]
    fn refuses_a_control_character_in_a_value_and_does_not_repeat_it() {
        for bad in ["K=a\nLD_PRELOAD=x", "K=\0", "K=\u{85}", "K=\u{7f}"] {
            let error = bad.parse::<EnvAsked>().unwrap_err();
            assert!(matches!(error, EnvRefused::Value { .. }), "{bad:?}");
            assert!(!error.to_string().contains("LD_PRELOAD"));
        }
        assert!(format!("K={}", "v".repeat(4097)).parse::<EnvAsked>().is_err());
        assert!(format!("K={}", "v".repeat(4096)).parse::<EnvAsked>().is_ok());
    }

    #[test]
    fn a_plan_that_is_read_back_is_held_to_the_same_table() {
        assert!(serde_json::from_str::<EnvName>("\"LD_PRELOAD\"").is_err());
        assert!(serde_json::from_str::<EnvValue>("\"a\\nb\"").is_err());
    }

    proptest! {
        #[test]
        fn never_panics_and_an_accepted_name_reads_back_the_same(text in "\\PC{0,40}|[A-Za-z_=]{0,20}") {
            if let Ok(name) = text.parse::<EnvName>() {
                prop_assert_eq!(name.as_str().parse::<EnvName>(), Ok(name.clone()));
                prop_assert!(name.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            }
            let _ = text.parse::<EnvAsked>();
        }
    }
}
