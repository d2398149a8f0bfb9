//! Which entries of a lock travel inside another entry's archive?
//!
//! Those need no hash of their own: the hash of the archive they are in holds them. The lock marks them
//! `inBundle`, but npm decides for itself from the dependencies, so a mark alone would let an entry without a
//! hash be fetched. Only entries that npm too must take for bundled are proven here.
//!
//! Source: `Node#getBundler` in npm's arborist: a package is bundled if its parent lists it, if its parent is
//! bundled itself, or if a bundled package depends on it.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Map, Value};

/// The paths that are marked and proven.
pub(super) fn proven(packages: &Map<String, Value>) -> BTreeSet<&str> {
    let marked = |path: &str| flag(packages.get(path), "inBundle");
    let mut proven = BTreeSet::new();
    let mut queue: VecDeque<&str> = VecDeque::new();

    // Listed by a parent that is an archive of its own.
    for (path, entry) in
        packages.iter().filter(|(path, entry)| !path.is_empty() && !flag(Some(entry), "inBundle"))
    {
        for name in bundle_list(entry) {
            queue.extend(packages.get_key_value(&inside(path, name)).map(|(p, _)| p.as_str()));
        }
    }
    while let Some(path) = queue.pop_front() {
        if !marked(path) || !proven.insert(path) {
            continue;
        }
        let Some(bundler) = archive_of(packages, path) else { continue };
        // Its dependencies, looked up as Node does: from inside it up to the archive, never beyond.
        for name in dependencies(packages.get(path)) {
            let mut from = Some(path);
            while let Some(at) = from.filter(|at| at.len() >= bundler.len()) {
                if let Some((found, _)) = packages.get_key_value(&inside(at, name)) {
                    queue.push_back(found);
                    break;
                }
                from = parent(at);
            }
        }
        // Its children. Found by a scan only for what is bundled, which is rare and small.
        let prefix = inside(path, "");
        queue.extend(packages.keys().filter(|p| p.starts_with(&prefix)).map(String::as_str));
    }
    proven
}

fn flag(entry: Option<&Value>, key: &str) -> bool {
    entry.and_then(|e| e.get(key)) == Some(&Value::Bool(true))
}

fn inside(path: &str, name: &str) -> String {
    format!("{path}/node_modules/{name}")
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once("/node_modules/").map(|(parent, _)| parent)
}

/// The nearest package around `path` that is an archive of its own.
fn archive_of<'a>(packages: &Map<String, Value>, path: &'a str) -> Option<&'a str> {
    let mut at = parent(path)?;
    while flag(packages.get(at), "inBundle") {
        at = parent(at)?;
    }
    Some(at)
}

fn bundle_list(entry: &Value) -> Vec<&str> {
    match entry.get("bundleDependencies") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::Bool(true)) => dependencies(Some(entry)),
        _ => Vec::new(),
    }
}

fn dependencies(entry: Option<&Value>) -> Vec<&str> {
    let of = |key| entry.and_then(|e| e.get(key)).and_then(Value::as_object);
    ["dependencies", "optionalDependencies", "peerDependencies"]
        .into_iter()
        .filter_map(of)
        .flat_map(|map| map.keys().map(String::as_str))
        .collect()
}
