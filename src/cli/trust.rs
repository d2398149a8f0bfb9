//! Which files of this host say whom it trusts?
//!
//! The system's store, or the file that `SSL_CERT_FILE` names instead of it; on top of it what is named for Node
//! (`NODE_EXTRA_CA_CERTS`), for Python's requests (`REQUESTS_CA_BUNDLE`) and in `config.toml` (`extra_ca`). Read when a
//! command first needs them: most starts do not.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Code, Failure};
use crate::net::Roots;
use crate::state::read_plain;

/// Where Linux distributions keep the certificates they trust, as one PEM file.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// What adds to the system's store, by variable.
const ADDING: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"];

/// Longest file of certificates read, in bytes.
const LIMIT: u64 = 16 * 1024 * 1024;

/// Files in a directory of certificates.
const MOST_FILES: usize = 2_000;

/// The files to look at.
#[derive(Debug, Clone)]
pub struct Trust {
    extra_ca: Option<PathBuf>,
}

impl Trust {
    /// With the file that the configuration names, if it does.
    pub fn new(extra_ca: Option<&Path>) -> Self {
        Self { extra_ca: extra_ca.map(Path::to_owned) }
    }

    /// Reads them all.
    ///
    /// # Errors
    /// A file that the user named cannot be read or holds no certificate.
    pub fn read(&self) -> Result<Roots, Failure> {
        self.read_in(|name| std::env::var_os(name))
    }

    fn read_in(&self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Roots, Failure> {
        // an empty variable is how a shell takes one back
        let set = |name: &str| variable(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let roots = match set("SSL_CERT_FILE") {
            Some(path) => Roots::of_system(&read("SSL_CERT_FILE", &path)?),
            None => {
                Roots::of_system(&SYSTEM.iter().find_map(|path| std::fs::read(path).ok()).unwrap_or_default())
            }
        };
        let named = ADDING.iter().filter_map(|name| Some((*name, set(name)?)));
        let named = named.chain(self.extra_ca.clone().map(|path| ("extra_ca", path)));
        let mut roots = roots;
        for (name, path) in named {
            let pem = read(name, &path)?;
            roots = roots.and(&pem).map_err(|why| unusable(name, &path, why))?;
        }
        Ok(roots)
    }
}

/// A file, or all files of a directory one after the other, which requests takes too.
fn read(name: &'static str, path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error: io::Error| unusable(name, path, error);
    if !path.is_dir() {
        return read_plain(path, LIMIT).map_err(failed);
    }
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)?.take(MOST_FILES) {
        let entry = entry.map_err(failed)?.path();
        // links by hash lie beside the files they lead to; each certificate counts once
        if entry.is_file() {
            all.extend(read_plain(&entry, LIMIT).map_err(failed)?);
            all.push(b'\n');
        }
    }
    Ok(all)
}

fn unusable(name: &'static str, path: &Path, why: impl std::fmt::Display) -> Failure {
    let hint = match name {
        "extra_ca" => "correct `extra_ca` in config.toml, or take it out".to_owned(),
        variable => format!("correct or unset {variable}"),
    };
    Failure::new(
        Code::Usage,
        format!("{name} cannot be followed"),
        format!("{}: {why}", path.display()),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> String {
        rcgen::generate_simple_self_signed(vec!["x.example".to_owned()]).unwrap().cert.pem()
    }

    fn count(roots: &Roots) -> usize {
        String::from_utf8(roots.pem()).unwrap().matches("BEGIN").count()
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = crate::state::pipe(dir.path());
        let set = |name: &str| (name == "NODE_EXTRA_CA_CERTS").then(|| pipe.clone().into());
        let failure = Trust::new(None).read_in(set).err().unwrap();
        assert!(failure.why().to_string().contains("a pipe"), "{failure}");
    }

    #[test]
    fn everything_that_is_named_is_read_and_what_stands_for_the_system_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, certificate()).unwrap();
            path
        };
        let (system, node, config) = (file("system"), file("node"), file("config"));
        let many = dir.path().join("many");
        std::fs::create_dir(&many).unwrap();
        std::fs::write(many.join("a"), certificate()).unwrap();
        std::fs::write(many.join("b"), certificate()).unwrap();
        let set = |name: &str| {
            let path = match name {
                "SSL_CERT_FILE" => &system,
                "NODE_EXTRA_CA_CERTS" => &node,
                "REQUESTS_CA_BUNDLE" => &many,
                _ => return None,
            };
            Some(path.clone().into_os_string())
        };
        let roots = Trust::new(Some(&config)).read_in(set).unwrap();
        assert_eq!((count(&roots), roots.added().len()), (5, 4));
        let alone = Trust::new(None).read_in(|name| set(name).filter(|_| name == "SSL_CERT_FILE")).unwrap();
        assert_eq!((count(&alone), alone.added().len()), (1, 0));
        let empty = Trust::new(None).read_in(|name| match name {
            "SSL_CERT_FILE" => set(name),
            _ => Some(OsString::new()),
        });
        assert_eq!(count(&empty.unwrap()), 1);
    }

    #[test]
    fn refuses_a_file_that_was_named_and_cannot_be_followed() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("text");
        std::fs::write(&text, "no certificate").unwrap();
        let gone = dir.path().join("gone");
        for (name, path) in [
            ("SSL_CERT_FILE", &gone),
            ("NODE_EXTRA_CA_CERTS", &gone),
            ("NODE_EXTRA_CA_CERTS", &text),
            ("REQUESTS_CA_BUNDLE", &text),
        ] {
            let set = |asked: &str| (asked == name).then(|| path.clone().into_os_string());
            let failure = Trust::new(None).read_in(set).err().unwrap();
            assert_eq!(failure.code(), Code::Usage);
            assert!(failure.what().to_string().contains(name) && failure.hint().to_string().contains(name));
        }
        let failure = Trust::new(Some(&text)).read_in(|_| None).err().unwrap();
        assert!(failure.hint().to_string().contains("config.toml"), "{failure}");
    }
}
