//! Where is the Docker engine?
//!
//! Where the user's own docker client would find it: DOCKER_HOST, then the client's current context, then the
//! sockets of the usual places, desktop and rootless engines included. No client program is asked: inside an
//! editor's environment there is often none on PATH.
//!
//! Invariant: an address that the user set is the only one tried. Falling back to another engine would start a
//! server where nobody looks for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, Docker};
use serde::Deserialize;

use crate::cage::engine::EngineError;
use crate::state::read_plain;
use crate::text::Shown;

/// Bytes of a file of the docker client's.
const SETTINGS_BYTES: u64 = 1024 * 1024;

/// An address, and who named it.
struct Candidate {
    address: String,
    named_by: &'static str,
    /// Set by the user: no other is tried.
    only: bool,
}

/// The first engine that answers, with an API version agreed, and its address.
pub(super) async fn connect(patience: Duration) -> Result<(Docker, String), EngineError> {
    let mut looked = Vec::new();
    for candidate in candidates() {
        let tried = format!("{} ({})", candidate.address, candidate.named_by);
        match open(&candidate.address, patience).await {
            Ok(api) => return Ok((api, candidate.address)),
            Err(Closed::Forbidden) => {
                return Err(EngineError::Forbidden { address: Shown::new(&candidate.address) });
            }
            Err(Closed::Absent(why)) => looked.push(Shown::new(&format!("{tried}: {why}"))),
        }
        if candidate.only {
            break;
        }
    }
    Err(EngineError::Missing { looked })
}

enum Closed {
    Forbidden,
    Absent(String),
}

async fn open(address: &str, patience: Duration) -> Result<Docker, Closed> {
    let absent = |why: &dyn std::fmt::Display| Closed::Absent(why.to_string());
    let api = if let Some(path) = address.strip_prefix("unix://") {
        // asked of the socket itself, so that "not there" and "not allowed" are told apart
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(Closed::Forbidden);
            }
            Err(error) => return Err(absent(&error)),
        }
        Docker::connect_with_unix(path, patience.as_secs(), API_DEFAULT_VERSION).map_err(|e| absent(&e))?
    } else if address.starts_with("tcp://") || address.starts_with("http://") {
        Docker::connect_with_http(address, patience.as_secs(), API_DEFAULT_VERSION).map_err(|e| absent(&e))?
    } else {
        return Err(absent(&"only unix:// and tcp:// addresses are understood"));
    };
    let greeting = tokio::time::timeout(Duration::from_secs(10), api.negotiate_version()).await;
    greeting.map_err(|_| absent(&"no answer in 10 s"))?.map_err(|e| absent(&e))
}

fn candidates() -> Vec<Candidate> {
    if let Some(address) = variable("DOCKER_HOST") {
        return vec![Candidate { address, named_by: "DOCKER_HOST", only: true }];
    }
    if let Some(address) = home().and_then(|home| context(&home, variable("DOCKER_CONTEXT"))) {
        return vec![Candidate { address, named_by: "docker context", only: true }];
    }
    let usual = usual().map(|(address, named_by)| Candidate { address, named_by, only: false });
    usual.collect()
}

/// The addresses of the usual places, desktop and rootless engines included, and whose they are.
fn usual() -> impl Iterator<Item = (String, &'static str)> {
    let mut paths: Vec<(PathBuf, &'static str)> = vec![("/var/run/docker.sock".into(), "Docker")];
    if let Some(run) = variable("XDG_RUNTIME_DIR").map(PathBuf::from) {
        paths.push((run.join("docker.sock"), "rootless Docker"));
        paths.push((run.join("podman/podman.sock"), "rootless Podman"));
    }
    if let Some(home) = home() {
        paths.push((home.join(".docker/run/docker.sock"), "Docker Desktop"));
        paths.push((home.join(".docker/desktop/docker.sock"), "Docker Desktop"));
        paths.push((home.join(".colima/default/docker.sock"), "Colima"));
        paths.push((home.join(".orbstack/run/docker.sock"), "OrbStack"));
        paths.push((home.join(".rd/docker.sock"), "Rancher Desktop"));
    }
    paths.into_iter().map(|(path, named_by)| (format!("unix://{}", path.display()), named_by))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// The sockets among the places where an engine may be, and those of the usual places where another is set.
pub(super) fn sockets() -> Vec<PathBuf> {
    let all =
        candidates().into_iter().map(|candidate| candidate.address).chain(usual().map(|(path, _)| path));
    all.filter_map(|address| address.strip_prefix("unix://").map(PathBuf::from)).collect()
}

/// The endpoint of the docker client's current context; none for the context `default`.
///
/// Source: the docker client keeps a context's metadata under the SHA-256 of its name.
fn context(home: &Path, chosen: Option<String>) -> Option<String> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(rename = "currentContext")]
        current: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Meta {
        endpoints: Endpoints,
    }
    #[derive(Deserialize)]
    struct Endpoints {
        docker: Endpoint,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Endpoint {
        host: String,
    }
    let docker = home.join(".docker");
    let current = || {
        let config = read_plain(&docker.join("config.json"), SETTINGS_BYTES).ok()?;
        serde_json::from_slice::<Config>(&config).ok()?.current
    };
    let name = chosen.or_else(current).filter(|name| name != "default" && !name.is_empty())?;
    let folder = crate::digest::Digest::of(name.as_bytes()).hex();
    let meta =
        read_plain(&docker.join("contexts/meta").join(folder).join("meta.json"), SETTINGS_BYTES).ok()?;
    Some(serde_json::from_slice::<Meta>(&meta).ok()?.endpoints.docker.host)
}
