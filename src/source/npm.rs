//! Which release does an npm registry have for this?
//!
//! One question, the package's full document, and one answer. The document is a stranger's: bounded, parsed into
//! what is needed and no more, and held to its own claims (the name asked for, the version chosen, a SHA-512). A
//! tag or range is decided here as npm decides it, so what the card shows is what `npm install` would have picked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::SourceError;
use super::manifest::text;
use super::name::{NpmName, NpmVersion};
use super::npm_config::Registries;
use super::package::{Ecosystem, NpmPackage};
use super::registry::Registry;
use super::release::{Integrity, Manifest, Origin, Release};
use super::spec::{NpmSpec, Tag, Wanted};
use crate::net::{Client, Limits, NetError};
use crate::text::Shown;

/// How many versions an error suggests.
const SUGGESTED: usize = 5;

/// Asks the package's registry for the release that `spec` stands for.
///
/// # Errors
/// No such package or version; the registry cannot be reached, wants a credential, or answers nonsense; the release
/// has no SHA-512 or offers a program outside its own folder.
pub async fn find(client: &Client, registries: &Registries, spec: &NpmSpec) -> Result<Release, SourceError> {
    let registry = registries.of(spec.name());
    let url = registry.url().child(spec.name().as_str());
    let document =
        client.get(url, "application/json", Limits::DOCUMENT).await.map_err(|error| match error {
            NetError::Status { status: 404, .. } => SourceError::UnknownPackage {
                ecosystem: Ecosystem::Npm,
                name: Shown::new(spec.name().as_str()),
                registry: shown(registry),
            },
            NetError::Status { status: status @ (401 | 403), .. } => SourceError::Denied {
                ecosystem: Ecosystem::Npm,
                registry: shown(registry),
                status,
                credential_held: registries.has_credential(registry),
            },
            why => unreachable(registry, why),
        })?;
    choose(&document, registry, spec)
}

/// The tarball of one exact version, held to the bytes the caller knows.
///
/// # Errors
/// As [`find`]; and [`SourceError::OtherBytes`] where what was served is not what `integrity` names.
pub async fn tarball(
    client: &Client,
    registries: &Registries,
    name: &NpmName,
    version: &NpmVersion,
    integrity: Integrity,
) -> Result<Vec<u8>, SourceError> {
    #[derive(Deserialize)]
    struct Version {
        dist: Dist,
    }
    #[derive(Deserialize)]
    struct Dist {
        tarball: String,
    }
    let registry = registries.of(name);
    let unreachable = |why| unreachable(registry, why);
    let url = registry.url().child(name.as_str()).child(&version.to_string());
    let document = client.get(url, "application/json", Limits::DOCUMENT).await.map_err(unreachable)?;
    let document: Version = serde_json::from_slice(&document)
        .map_err(|error| nonsense(registry, &format!("its document is unreadable: {error}")))?;
    let target = registry.url().leads_to(&document.dist.tarball).map_err(|why| unreachable(why.into()))?;
    let bytes = client.get(target, "*/*", Limits::TARBALL).await.map_err(unreachable)?;
    if Integrity::of(&bytes) != integrity {
        return Err(SourceError::OtherBytes {
            ecosystem: Ecosystem::Npm,
            package: Shown::new(&format!("{name}@{version}")),
        });
    }
    Ok(bytes)
}

fn shown(registry: &Registry) -> Shown {
    Shown::new(&registry.to_string())
}

fn unreachable(registry: &Registry, why: NetError) -> SourceError {
    SourceError::Unreachable { ecosystem: Ecosystem::Npm, registry: shown(registry), why }
}

fn nonsense(registry: &Registry, why: &str) -> SourceError {
    SourceError::Nonsense { ecosystem: Ecosystem::Npm, registry: shown(registry), why: Shown::new(why) }
}

/// As much of a registry's document as is needed; each version stays text until it is chosen.
#[derive(Deserialize)]
struct Document<'a> {
    name: Value,
    #[serde(rename = "dist-tags", default)]
    tags: Value,
    #[serde(borrow)]
    versions: BTreeMap<String, &'a RawValue>,
    #[serde(default)]
    time: Value,
    #[serde(default)]
    maintainers: Value,
}

fn choose(document: &[u8], registry: &Registry, spec: &NpmSpec) -> Result<Release, SourceError> {
    let nonsense = |why: String| nonsense(registry, &why);
    let document: Document<'_> = serde_json::from_slice(document)
        .map_err(|error| nonsense(format!("its document is unreadable: {error}")))?;
    let name = spec.name();
    if document.name.as_str() != Some(name.as_str()) {
        return Err(nonsense(format!("asked for {name} it answered with another package")));
    }

    let version = document.pick(spec.wanted()).ok_or_else(|| SourceError::UnknownVersion {
        package: Shown::new(&format!("{name}@{}", spec.wanted())),
        newest: document.newest().iter().map(|version| Shown::new(&version.to_string())).collect(),
    })?;
    let entry = document
        .entry(&version)
        .ok_or_else(|| nonsense(format!("its entry for {name}@{version} is unreadable")))?;
    let says = |field: &str| entry.get(field).and_then(Value::as_str);
    if says("name") != Some(name.as_str()) || says("version") != Some(version.to_string().as_str()) {
        return Err(nonsense(format!("its entry for {name}@{version} is another package's")));
    }
    let package = || Shown::new(&format!("{name}@{version}"));
    let listed = entry.pointer("/dist/integrity").and_then(Value::as_str).unwrap_or_default();
    let integrity = Integrity::of_list(listed)
        .map_err(|_| SourceError::HashMissing { ecosystem: Ecosystem::Npm, package: package() })?;

    let mut manifest = Manifest::read(name, &version, &entry)?;
    let facts = &mut manifest.facts;
    facts.deprecated = deprecation(&entry);
    facts.publisher = text(entry.pointer("/_npmUser/name"));
    facts.maintainers =
        entry.get("maintainers").and_then(Value::as_array).or(document.maintainers.as_array()).map(Vec::len);
    facts.attested = entry.pointer("/dist/attestations").is_some_and(Value::is_object);
    facts.unpacked_bytes = entry.pointer("/dist/unpackedSize").and_then(Value::as_u64);
    facts.published = document.at(&version.to_string());
    facts.first_published = document.first_published();
    let latest = document.tagged("latest").filter(|latest| *latest != version);
    facts.latest = latest.map(|latest| Shown::new(&latest.to_string()));
    let package = NpmPackage { name: name.clone(), version, integrity };
    Ok(Release::npm(package, Origin::Registry(registry.clone()), manifest))
}

impl Document<'_> {
    /// npm's choice (`npm-pick-manifest`): a range prefers what `latest` stands at, then versions that are not
    /// deprecated, then the highest.
    fn pick(&self, wanted: &Wanted) -> Option<NpmVersion> {
        match wanted {
            Wanted::Version(version) => self.has(version).then(|| version.clone()),
            Wanted::Tag(tag) => self.tagged(tag.as_str()),
            Wanted::Range(range) => {
                let fits = |version: &NpmVersion| range.holds(version);
                let latest = self.tagged(Tag::latest().as_str());
                if let Some(latest) = latest.filter(|version| fits(version) && !self.is_deprecated(version)) {
                    return Some(latest);
                }
                let mut fitting: Vec<NpmVersion> = self.all().filter(fits).collect();
                fitting.sort_unstable_by(|a, b| b.cmp(a));
                // The newest first, so the first that is not deprecated is the one, without reading every entry.
                let sound = fitting.iter().find(|version| !self.is_deprecated(version));
                sound.or(fitting.first()).cloned()
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = NpmVersion> + '_ {
        self.versions.keys().filter_map(|version| version.parse().ok())
    }

    fn has(&self, version: &NpmVersion) -> bool {
        self.versions.contains_key(&version.to_string())
    }

    fn tagged(&self, tag: &str) -> Option<NpmVersion> {
        self.tags.get(tag)?.as_str()?.parse().ok().filter(|version| self.has(version))
    }

    fn entry(&self, version: &NpmVersion) -> Option<Value> {
        serde_json::from_str(self.versions.get(&version.to_string())?.get()).ok()
    }

    fn is_deprecated(&self, version: &NpmVersion) -> bool {
        self.entry(version).is_none_or(|entry| deprecation(&entry).is_some())
    }

    fn at(&self, what: &str) -> Option<Timestamp> {
        self.time.get(what)?.as_str()?.parse().ok()
    }

    /// Mirrors leave out `created`; the earliest of the versions they know is near enough.
    fn first_published(&self) -> Option<Timestamp> {
        self.at("created").or_else(|| self.versions.keys().filter_map(|version| self.at(version)).min())
    }

    fn newest(&self) -> Vec<NpmVersion> {
        let mut all: Vec<NpmVersion> = self.all().collect();
        all.sort_unstable_by_key(|version| Reverse(version.clone()));
        all.truncate(SUGGESTED);
        all
    }
}

/// The publisher's words; registries also write `true`, and `false` or an empty text for a deprecation taken back.
fn deprecation(entry: &Value) -> Option<Shown> {
    match entry.get("deprecated")? {
        Value::Bool(true) => Some(Shown::new("deprecated, no reason given")),
        value => text(Some(value)),
    }
}

#[cfg(test)]
mod tests;
