//! Which release does an index of Python packages have for this?
//!
//! One question, the project's page, and one answer. The page is a stranger's: bounded, read into what is needed and
//! no more, held to its own claims. The version is chosen as uv would choose it, from wheels alone unless building was
//! allowed, and with it the Python that runs it, so that the card shows what will be installed.
//!
//! Sources: PEP 503, PEP 691, PEP 700 and PEP 592 for the page; PEP 658 and PEP 714 for a file's metadata.

pub(super) mod choice;
mod page;

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use url::Url;

pub(super) use self::choice::Offered;
pub use self::choice::PassedOver;
use self::choice::{Choice, choose};
pub(super) use self::page::Requires;
use self::page::{File, Page};
use super::SourceError;
use super::metadata::{METADATA_BYTES, Metadata};
use super::package::{Ecosystem, PypiPackage};
use super::pip_config::Index;
use super::pypi_spec::PypiSpec;
use super::python::{PypiName, PypiVersion, PythonMinor};
use super::release::{Facts, Origin, Release};
use crate::digest::Digest;
use crate::net::{Client, Limits, NetError, OperatorUrl, Target};
use crate::text::Shown;

/// What a page is asked for as: JSON, of the first version of the interface.
const JSON: &str = "application/vnd.pypi.simple.v1+json";
/// Bytes of a source archive, as many as are read of one before a consent.
const ARCHIVE_BYTES: u64 = 128 * 1024 * 1024;
/// On how many hosts an index may keep a project's files.
const HOSTS: usize = 16;

/// A Python that a runtime image has, or will have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CarriedPython {
    minor: PythonMinor,
    version: PypiVersion,
}

impl CarriedPython {
    /// A Python by its version, `3.13.9`; `3.13` where the last number is not known yet.
    pub fn new(version: &str) -> Option<Self> {
        let version: PypiVersion = version.parse().ok()?;
        let minor = match version.as_version().release() {
            [3, minor, ..] => PythonMinor::of_3(u8::try_from(*minor).ok()?),
            _ => return None,
        };
        Some(Self { minor, version })
    }

    /// Its minor version.
    pub fn minor(&self) -> PythonMinor {
        self.minor
    }

    /// The version that packages are held to.
    pub fn version(&self) -> &PypiVersion {
        &self.version
    }
}

/// What is asked of an index.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The package, and which of its versions.
    pub spec: &'a PypiSpec,
    /// The Pythons there are.
    pub carried: &'a [CarriedPython],
    /// The one that the user wants.
    pub python: Option<PythonMinor>,
    /// Whether a source distribution will do where there is no wheel that fits.
    pub build: bool,
}

/// What a package may be built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceArchive {
    /// How its name ends, which says what it is: `.tar.gz` (PEP 625) or `.zip`.
    pub ending: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What an index has.
#[derive(Debug, Clone)]
pub struct FoundRelease {
    /// The release.
    pub release: Release,
    /// The Python it is to be installed for.
    pub python: PythonMinor,
    /// Where the index keeps its files: a URL a host, for [`crate::cage::egress::Egress::index`].
    pub files: Vec<Target>,
}

/// Asks the index for the release that `ask` stands for.
///
/// # Errors
/// No such package or version, or none that can be installed, and why; the index cannot be reached, wants a
/// credential, or answers nonsense.
pub async fn find(client: &Client, index: &Index, ask: &Ask<'_>) -> Result<FoundRelease, SourceError> {
    choice::carries(ask.carried, ask.python)?;
    let at = page_of(index, ask.spec.name());
    let document = document(client, index, ask.spec.name()).await?;
    let page = read(&document, index, ask.spec.name())?;
    let Choice { version, python, build, passed_over } = choose(&page, ask)?;
    let chosen = page.installable(&version, build);
    let files = hosts(client, &at, &page, &chosen).await.map_err(|why| unreachable(index, why))?;

    let hashes: BTreeSet<Digest> = chosen.iter().filter_map(|file| file.sha256).collect();
    let (name, extras) = (ask.spec.name().clone(), ask.spec.extras().clone());
    let told = format!("{name}=={version}");
    let hashes = hashes
        .try_into()
        .map_err(|_| SourceError::HashMissing { ecosystem: Ecosystem::Pypi, package: Shown::new(&told) })?;
    let mut facts = Facts {
        published: chosen.iter().filter_map(|file| file.uploaded).min(),
        first_published: page.first_upload(),
        requires_python: chosen.iter().find_map(|file| file.requires.shown()),
        download_bytes: chosen.iter().filter_map(|file| file.size).max(),
        latest: page
            .newest()
            .filter(|newest| *newest != version)
            .map(|newest| Shown::new(&newest.to_string())),
        passed_over,
        ..Facts::default()
    };
    let text = metadata(client, &at, &chosen, index).await?;
    if let Some(metadata) = text.as_deref().and_then(Metadata::read) {
        metadata.facts(&mut facts);
    }
    let package = PypiPackage { name, version, extras, hashes };
    let release = Release::pypi(package, Origin::Registry(index.registry().clone()), None, facts);
    Ok(FoundRelease { release, python, files })
}

/// Where the index keeps the files of a package: for a wheel on this disk, whose dependencies come from there.
///
/// # Errors
/// As [`find`].
pub async fn files(client: &Client, index: &Index, name: &PypiName) -> Result<Vec<Target>, SourceError> {
    let document = document(client, index, name).await?;
    let page = read(&document, index, name)?;
    hosts(client, &page_of(index, name), &page, &[]).await.map_err(|why| unreachable(index, why))
}

/// One file of the index, held to its bytes.
///
/// # Errors
/// As [`find`]; and [`SourceError::OtherBytes`] where what was served is not what `sha256` names.
pub async fn file(
    client: &Client,
    index: &Index,
    name: &PypiName,
    filename: &str,
    sha256: Digest,
) -> Result<Vec<u8>, SourceError> {
    let document = document(client, index, name).await?;
    let page = read(&document, index, name)?;
    let unknown = || SourceError::UnknownVersion { package: Shown::new(filename), newest: Vec::new() };
    let url = page.url(filename).ok_or_else(unknown)?;
    fetched(client, index, name, (url, filename), sha256, Limits::TARBALL).await
}

/// The source archive with these bytes.
///
/// # Errors
/// As [`file`]; [`SourceError::OtherBytes`] too where the index has no file of these bytes any more.
pub async fn archive(
    client: &Client,
    index: &Index,
    name: &PypiName,
    sha256: Digest,
) -> Result<SourceArchive, SourceError> {
    let document = document(client, index, name).await?;
    let page = read(&document, index, name)?;
    let (url, filename) = page.of_bytes(sha256).ok_or_else(|| other_bytes(name.as_str()))?;
    let ending = if filename.ends_with(".zip") { ".zip" } else { ".tar.gz" };
    let bytes = fetched(
        client,
        index,
        name,
        (url, filename),
        sha256,
        Limits { bytes: ARCHIVE_BYTES, ..Limits::TARBALL },
    )
    .await?;
    Ok(SourceArchive { ending, bytes })
}

async fn fetched(
    client: &Client,
    index: &Index,
    name: &PypiName,
    (url, filename): (&str, &str),
    sha256: Digest,
    limits: Limits,
) -> Result<Vec<u8>, SourceError> {
    let target = client.resolver().file_of(&page_of(index, name), url).await;
    let target = target.map_err(|why| unreachable(index, why))?;
    let bytes = client.get(target, "*/*", limits).await.map_err(|why| unreachable(index, why))?;
    if Digest::of(&bytes) != sha256 {
        return Err(other_bytes(filename));
    }
    Ok(bytes)
}

/// A project's page. Source: PEP 503, by its normalised name, with a slash at the end.
fn page_of(index: &Index, name: &PypiName) -> OperatorUrl {
    index.registry().url().child(name.as_str()).child("")
}

async fn document(client: &Client, index: &Index, name: &PypiName) -> Result<Vec<u8>, SourceError> {
    let registry = || Shown::new(&index.registry().to_string());
    client.get(page_of(index, name), JSON, Limits::DOCUMENT).await.map_err(|error| match error {
        NetError::Status { status: 404, .. } => SourceError::UnknownPackage {
            ecosystem: Ecosystem::Pypi,
            name: Shown::new(name.as_str()),
            registry: registry(),
        },
        NetError::Status { status: status @ (401 | 403), .. } => SourceError::Denied {
            ecosystem: Ecosystem::Pypi,
            registry: registry(),
            status,
            credential_held: false,
        },
        // What an index that only has HTML may answer when it is asked for JSON.
        NetError::Status { status: 406, .. } => html(index),
        why => unreachable(index, why),
    })
}

fn read<'d>(document: &'d [u8], index: &Index, name: &PypiName) -> Result<Page<'d>, SourceError> {
    if document.trim_ascii_start().starts_with(b"<") {
        return Err(html(index));
    }
    Page::read(document, name).map_err(|why| nonsense(index, &why))
}

fn html(index: &Index) -> SourceError {
    SourceError::HtmlOnly { registry: Shown::new(&index.registry().to_string()) }
}

fn nonsense(index: &Index, why: &str) -> SourceError {
    SourceError::Nonsense {
        ecosystem: Ecosystem::Pypi,
        registry: Shown::new(&index.registry().to_string()),
        why: Shown::new(why),
    }
}

fn unreachable(index: &Index, why: NetError) -> SourceError {
    SourceError::Unreachable {
        ecosystem: Ecosystem::Pypi,
        registry: Shown::new(&index.registry().to_string()),
        why,
    }
}

fn other_bytes(file: &str) -> SourceError {
    SourceError::OtherBytes { ecosystem: Ecosystem::Pypi, package: Shown::new(file) }
}

/// A target a host that the page's files lie on. Those of the chosen files must do; another one that is refused is
/// left out, and what lies there is not reached.
async fn hosts(
    client: &Client,
    at: &OperatorUrl,
    page: &Page<'_>,
    chosen: &[&File<'_>],
) -> Result<Vec<Target>, NetError> {
    let base = Url::parse(at.as_str()).ok();
    // A URL stands for its origin; one that cannot be read stands for itself and is refused.
    let origin = |url: &str| {
        let read = base.as_ref().and_then(|base| base.join(url).ok());
        read.map_or_else(|| url.to_owned(), |url| url.origin().ascii_serialization())
    };
    let (mut known, mut targets) = (BTreeSet::new(), Vec::new());
    let all = page.files().map(|file| (file.url.as_ref(), false));
    for (url, must) in chosen.iter().map(|file| (file.url.as_ref(), true)).chain(all) {
        if known.len() < HOSTS && known.insert(origin(url)) {
            match client.resolver().file_of(at, url).await {
                Ok(target) => targets.push(target),
                Err(error) if must => return Err(error),
                Err(_) => {}
            }
        }
    }
    Ok(targets)
}

/// What a chosen file says of itself, where the index has that apart. A claim of the author's, for a person to read:
/// where it cannot be fetched there is none, but other bytes than its hash names refuse.
async fn metadata(
    client: &Client,
    at: &OperatorUrl,
    chosen: &[&File<'_>],
    index: &Index,
) -> Result<Option<String>, SourceError> {
    let Some((file, sha256)) = chosen.iter().find_map(|file| Some((file, file.metadata?))) else {
        return Ok(None);
    };
    let url = file.url.split('#').next().unwrap_or_default();
    let Ok(target) = client.resolver().file_of(at, &format!("{url}.metadata")).await else { return Ok(None) };
    let limits = Limits { bytes: METADATA_BYTES, ..Limits::DOCUMENT };
    let Ok(bytes) = client.get(target, "*/*", limits).await else { return Ok(None) };
    if Digest::of(&bytes) != sha256 {
        return Err(other_bytes(&format!("{}.metadata of {index}", file.name, index = index.registry())));
    }
    Ok(String::from_utf8(bytes).ok())
}

/// A part of a document that may be of the wrong shape, and then counts as absent.
fn lenient<T: DeserializeOwned>(value: Option<&serde_json::value::RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

#[cfg(test)]
mod tests;
