//! What is a sound lock of npm's?
//!
//! The whole tree as npm's own lock, every entry held by a sha512 hash, none with an address. npm installs an
//! entry *without* a hash silently, and would fetch one with an address from there, so both are refused here,
//! once, before anybody is asked. What is kept is written anew from what was checked, key by key, so nothing
//! that was not looked at reaches the installer, and the same tree always has the same bytes and digest.
//!
//! Format: npm's `package-lock.json`, version 3 (npm 7 and later).

mod bundle;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{LockEntry, MOST_ENTRIES, refuse};
use crate::plan::refused::PlanRefused;
use crate::plan::release::is_npm_name;
use crate::source::{Integrity, NpmPackage};
use crate::text::Shown;

/// The one address a lock may hold, and for which entry: a package from this disk, which resolve and install
/// place beside the lock under this name.
pub const OWN_TARBALL: &str = "file:package.tgz";

/// Levels of `node_modules` inside each other.
const DEEPEST: usize = 64;

/// Keys of an entry that say what depends on what, or where it may be installed. The rest (licence, funding,
/// engines) does not decide what is installed and is left out.
const KEPT_MAPS: &[&str] = &["dependencies", "optionalDependencies", "peerDependencies"];
const KEPT_LISTS: &[&str] = &["os", "cpu", "libc", "bundleDependencies"];
/// Of those, the ones that a package may also write as one string.
const KEPT_PLATFORMS: &[&str] = &["os", "cpu", "libc"];
const KEPT_FLAGS: &[&str] =
    &["dev", "optional", "devOptional", "peer", "inBundle", "hasInstallScript", "hasShrinkwrap"];

/// What npm's installer needs to know of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmTree {
    manifest: Vec<u8>,
    packages: Map<String, Value>,
}

/// Checks a `package-lock.json` of the release: its root depends on the release and nothing else. Gives it as it is
/// written anew.
pub(super) fn read(
    bytes: &[u8],
    release: &NpmPackage,
    local: bool,
) -> Result<(Vec<u8>, Vec<LockEntry>, NpmTree), PlanRefused> {
    let root: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|e| refuse(format_args!("it is no JSON object: {e}")))?;
    if root.get("lockfileVersion").and_then(Value::as_u64) != Some(3) {
        return Err(refuse("it is not a lock of version 3"));
    }
    let Some(Value::Object(packages)) = root.get("packages") else {
        return Err(refuse("it lists no packages"));
    };
    if packages.len() > MOST_ENTRIES + 1 {
        return Err(refuse(format_args!("it has more than {MOST_ENTRIES} packages")));
    }

    // The root: ours, so it is checked for the one dependency and then written as we would.
    check_root(packages.get(""), release)?;
    let own_path = format!("node_modules/{}", release.name);
    let spec = if local { OWN_TARBALL.to_owned() } else { release.version.to_string() };
    let manifest = json!({ "dependencies": { release.name.as_str(): spec } });

    let bundled = bundle::proven(packages);
    let mut kept = BTreeMap::new();
    let mut entries = BTreeMap::new();
    for (path, entry) in packages.iter().filter(|(path, _)| !path.is_empty()) {
        let own = (path == &own_path).then_some(Own { release, local });
        let (entry, normal) = read_entry(path, entry, own.as_ref(), bundled.contains(path.as_str()))?;
        kept.insert(path.clone(), normal);
        entries.insert(path, entry);
    }
    if !kept.contains_key(&own_path) {
        return Err(refuse(format_args!("{} itself is not in it", release.name)));
    }
    let packages = kept.clone().into_iter().collect();
    kept.insert(String::new(), manifest.clone());
    let normal = json!({ "lockfileVersion": 3, "packages": kept, "requires": true });
    let tree = NpmTree { manifest: written(&manifest)?, packages };
    Ok((written(&normal)?, entries.into_values().collect(), tree))
}

impl NpmTree {
    /// The `package.json` that belongs beside the lock; npm refuses to install from a lock whose root differs.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// Of the packages an installer says it laid down, by path and with npm's keys, one that is not as locked.
    ///
    /// A package that is not in the lock is as locked if it travelled in the archive of one that is: the lock's own
    /// entries say which archives bundle what, and the hash of the archive holds it. npm marks as bundled also what
    /// it missed in the archive and fetched; that has a hash or an address of its own, and is not as locked.
    pub fn not_laid_as_locked<'a>(&self, laid: &'a Map<String, Value>) -> Option<&'a str> {
        let mut whole = self.packages.clone();
        for (path, entry) in laid {
            whole.entry(path.as_str()).or_insert_with(|| entry.clone());
        }
        let bundled = bundle::proven(&whole);
        let as_locked = |path: &str, entry: &Value| match self.packages.get(path) {
            Some(locked) => ["version", "integrity"].iter().all(|key| locked.get(key) == entry.get(key)),
            None => {
                bundled.contains(path)
                    && check_path(path).is_ok()
                    && ["integrity", "resolved", "link"].iter().all(|key| entry.get(key).is_none())
            }
        };
        laid.iter().find(|(path, entry)| !as_locked(path, entry)).map(|(path, _)| path.as_str())
    }
}

/// The release that the tree is of, at its own entry.
struct Own<'a> {
    release: &'a NpmPackage,
    /// Whether its archive comes from this disk.
    local: bool,
}

/// Two-space JSON with a newline at the end, so that a committed lock can be reviewed line by line.
fn written(value: &Value) -> Result<Vec<u8>, PlanRefused> {
    // Keys are sorted: every object in it was built sorted.
    let mut bytes = serde_json::to_vec_pretty(value).map_err(refuse)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn check_root(root: Option<&Value>, release: &NpmPackage) -> Result<(), PlanRefused> {
    let Some(Value::Object(root)) = root else { return Err(refuse("it has no root")) };
    for key in
        ["devDependencies", "optionalDependencies", "peerDependencies", "workspaces", "bundleDependencies"]
    {
        if root.contains_key(key) {
            return Err(refuse(format_args!("its root has {key}")));
        }
    }
    match root.get("dependencies") {
        Some(Value::Object(deps)) if deps.len() == 1 && deps.contains_key(release.name.as_str()) => Ok(()),
        _ => Err(refuse(format_args!("its root depends on more than {}", release.name))),
    }
}

fn read_entry(
    path: &str,
    value: &Value,
    own: Option<&Own<'_>>,
    bundled: bool,
) -> Result<(LockEntry, Value), PlanRefused> {
    let path_name = check_path(path)?;
    let Value::Object(entry) = value else { return Err(refuse(format_args!("{path} is no entry"))) };
    let name = match entry.get("name") {
        None => path_name,
        Some(Value::String(name)) if is_npm_name(name) => name,
        Some(_) => return Err(refuse(format_args!("{path} has no package name"))),
    };
    let elsewhere = |from: &str| PlanRefused::Source { package: Shown::new(name), from: Shown::new(from) };
    if entry.contains_key("link") {
        return Err(elsewhere("a directory on this disk"));
    }
    let version = match entry.get("version") {
        Some(Value::String(v)) if is_version(v) => v,
        _ => return Err(refuse(format_args!("{name} has no version"))),
    };
    let integrity = match entry.get("integrity") {
        Some(Value::String(text)) => Some(
            text.parse::<Integrity>().map_err(|_| PlanRefused::HashMissing { package: Shown::new(name) })?,
        ),
        Some(_) => return Err(PlanRefused::HashMissing { package: Shown::new(name) }),
        None => None,
    };
    match entry.get("resolved") {
        None => {}
        Some(Value::String(from)) => match own {
            Some(own) if own.local && from == OWN_TARBALL => {}
            _ => return Err(elsewhere(from)),
        },
        Some(_) => return Err(elsewhere("an address that is none")),
    }
    if flag(entry, "hasShrinkwrap") {
        return Err(PlanRefused::OwnLock { package: Shown::new(&format!("{name}@{version}")) });
    }
    if integrity.is_none() && !bundled {
        return Err(PlanRefused::HashMissing { package: Shown::new(&format!("{name}@{version}")) });
    }
    if let Some(Own { release, local }) = own {
        let same = name == release.name.as_str()
            && version == &release.version.to_string()
            && integrity == Some(release.integrity);
        if !same {
            return Err(PlanRefused::OtherBytes { package: Shown::new(name) });
        }
        if *local && !entry.contains_key("resolved") {
            return Err(elsewhere("the registry, and it should be from this disk"));
        }
    }
    if !bundled {
        check_specs(entry, name)?;
    }

    let normal = normal_entry(entry, name)?;
    let install_scripts = flag(entry, "hasInstallScript");
    let entry = LockEntry {
        name: name.to_owned(),
        version: version.clone(),
        has_hash: integrity.is_some(),
        install_scripts,
    };
    Ok((entry, normal))
}

fn flag(entry: &Map<String, Value>, key: &str) -> bool {
    entry.get(key) == Some(&Value::Bool(true))
}

/// The name at the end of a path made of `node_modules/NAME` and nothing else.
fn check_path(path: &str) -> Result<&str, PlanRefused> {
    let refused = || refuse(format_args!("it installs to `{}`", Shown::new(path)));
    let inner = path.strip_prefix("node_modules/").ok_or_else(refused)?;
    let mut last = "";
    for (depth, name) in inner.split("/node_modules/").enumerate() {
        if !is_npm_name(name) || depth >= DEEPEST {
            return Err(refused());
        }
        last = name;
    }
    Ok(last)
}

/// Versions in a tree are npm's own spelling; read for display and comparison only.
fn is_version(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".+-".contains(&b))
}

/// What an entry asks for has to be something a registry answers: a range, a tag, an alias of one.
fn check_specs(entry: &Map<String, Value>, name: &str) -> Result<(), PlanRefused> {
    for key in ["dependencies", "optionalDependencies"] {
        let Some(Value::Object(specs)) = entry.get(key) else { continue };
        for (wanted, spec) in specs {
            let spec = spec.as_str().unwrap_or_default();
            let registry = spec.starts_with("npm:") || !spec.contains([':', '/']);
            if !registry {
                let (package, from) = (format!("{wanted}, which {name} asks for,"), spec);
                return Err(PlanRefused::Source { package: Shown::new(&package), from: Shown::new(from) });
            }
        }
    }
    Ok(())
}

/// The entry with the keys we know, each of the shape we know.
fn normal_entry(entry: &Map<String, Value>, name: &str) -> Result<Value, PlanRefused> {
    let odd = |key: &str| refuse(format_args!("{name} has an odd `{key}`"));
    let mut kept = BTreeMap::new();
    for (key, value) in entry {
        let key = key.as_str();
        let normal = match value {
            _ if ["name", "version", "integrity", "resolved"].contains(&key) => value.clone(),
            Value::Object(map) if KEPT_MAPS.contains(&key) => sorted(map).ok_or_else(|| odd(key))?,
            Value::Object(map) if key == "bin" => sorted(map).ok_or_else(|| odd(key))?,
            Value::String(_) if key == "bin" || KEPT_PLATFORMS.contains(&key) => value.clone(),
            Value::Object(_) if key == "peerDependenciesMeta" => peer_meta(value).ok_or_else(|| odd(key))?,
            Value::Array(list) if KEPT_LISTS.contains(&key) => {
                list.iter().all(Value::is_string).then(|| value.clone()).ok_or_else(|| odd(key))?
            }
            Value::Bool(_) if key == "bundleDependencies" || KEPT_FLAGS.contains(&key) => value.clone(),
            _ if KEPT_MAPS.contains(&key) || KEPT_LISTS.contains(&key) || KEPT_FLAGS.contains(&key) => {
                return Err(odd(key));
            }
            _ => continue,
        };
        kept.insert(key, normal);
    }
    Ok(json!(kept))
}

/// A map of strings, sorted.
fn sorted(map: &Map<String, Value>) -> Option<Value> {
    let strings: Option<BTreeMap<_, _>> = map.iter().map(|(k, v)| Some((k, v.as_str()?))).collect();
    Some(json!(strings?))
}

/// `{"name": {"optional": true}}`, sorted, anything else in it left out.
fn peer_meta(value: &Value) -> Option<Value> {
    let optional = |v: &Value| v.get("optional").and_then(Value::as_bool).unwrap_or(false);
    let names: BTreeMap<_, _> = value
        .as_object()?
        .iter()
        .filter(|(_, v)| optional(v))
        .map(|(k, _)| (k, json!({ "optional": true })))
        .collect();
    Some(json!(names))
}

#[cfg(test)]
mod tests;
