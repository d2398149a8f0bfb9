//! What would help a server that failed?
//!
//! Its last words, the plan and this machine are looked at for what is commonly missing in a cage. A stranger's words
//! only choose which advice is given, and what they name is quoted from a narrow grammar.

use std::sync::LazyLock;

use regex::Regex;

use super::host::Host;
use super::outside::Outsiders;
use crate::cage::profile::HOME;
use crate::consent::command_for;
use crate::pin::Pin;
use crate::plan::{Access, EnvName, Plan};
use crate::text::Shown;

/// What to do about a server that failed with these last words.
pub fn on_failure(host: &Host, pin: &Pin, said: &[Shown]) -> String {
    let plan = pin.plan();
    let wanters: Vec<String> = pin.lock().script_wanters().iter().map(ToString::to_string).collect();
    let mut advice = Vec::new();
    if port_taken(said) && plan.has_way_out() {
        let ways = plan.egress().iter().map(ToString::to_string);
        let ways: Vec<String> = ways.chain(plan.egress_private().iter().map(ToString::to_string)).collect();
        advice.push(format!(
            "inside its cage the port of each way out is taken ({}): have the server listen on another, if an argument or a setting of its own says which",
            ways.join(", ")
        ));
    }
    advice.extend(Outsiders::look(host, plan).hint(plan));
    advice.extend(on_read_only(plan, said));
    if !wanters.is_empty() && advice.is_empty() {
        // the commonest reason by far: a native module whose script would have fetched or built it
        advice.push(format!(
            "{} wanted to run install scripts, which are off; look for a version of the server that ships prebuilt files, or does without",
            wanters.join(", ")
        ));
    }
    if advice.is_empty() {
        advice.push(format!(
            "its last words are below, if it had any; `{}` shows what it was started with",
            command_for(plan, "show", &[])
        ));
    }
    advice.join("; also: ")
}

/// Whether last words tell of a port that is in use, as Node, Python and the C library put it.
fn port_taken(said: &[Shown]) -> bool {
    said.iter().any(|line| {
        let line = line.to_string().to_ascii_lowercase();
        line.contains("eaddrinuse") || line.contains("address already in use")
    })
}

/// A variable that says where a file is, as an error may name it.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    let ends = "PATH|FILE|DIR|DIRECTORY|FOLDER|LOCATION|ROOT|DB|DATABASE";
    Regex::new(&format!(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:{ends})\b")).expect("a literal pattern")
});

/// The name of a file at the end of a path in quotes: `open '/opt/server/x/memory.jsonl'`.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"['"`]/[^'"`]*?/([A-Za-z0-9][A-Za-z0-9._-]{0,99})['"`]"#).expect("a literal pattern")
});

/// What a file is called while it is written: `memory.jsonl.e916e618.tmp`.
static PASSING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:[.-][0-9a-f]{6,})?\.(?:tmp|temp|part)$").expect("a literal pattern"));

/// What to do where a server's words tell that it could not write, as Node, Python and the C library put it; none where
/// they do not.
pub fn on_read_only(plan: &Plan, said: &[Shown]) -> Option<String> {
    let lines: Vec<String> = said.iter().map(ToString::to_string).collect();
    let tells = |line: &&String| {
        line.contains("EROFS") || line.to_ascii_lowercase().contains("read-only file system")
    };
    let line = lines.iter().find(tells)?;
    let read = plan.mounts().iter().find(|mount| {
        mount.access() == Access::Read && line.contains(&format!("{}/", mount.path().as_str()))
    });
    if let Some(mount) = read {
        let path = mount.path();
        return Some(format!(
            "{path} was mounted to be read; where it is to write there, mount it with `--mount {path}:rw`",
            path = path.as_str()
        ));
    }
    let persist: &[&str] = if plan.persists() { &[] } else { &["--persist"] };
    let file = FILE.captures(line).and_then(|found| found.get(1)).map_or("FILE", |name| name.as_str());
    // written beside it first, under a name of the moment
    let file = PASSING.replace(file, "");
    // named by the error, and one that a plan may set
    let variable = lines.iter().flat_map(|line| VARIABLE.find_iter(line)).map(|found| found.as_str());
    let variable =
        variable.filter_map(|name| name.parse::<EnvName>().ok()).find(|name| !plan.env().contains_key(name));
    let setting = variable.as_ref().map(|name| format!("{name}={HOME}/{file}"));
    let mut options = persist.to_vec();
    if let Some(setting) = &setting {
        options.extend(["--env", setting]);
    }
    let which = match &variable {
        Some(name) => format!("{name} moves it there"),
        None => format!(
            "an argument or a variable of its own moves the file there (`--env NAME={HOME}/{file}`; its documentation says which)"
        ),
    };
    Some(format!(
        "the root of a cage is read-only, the server's own folder included; it can write in {HOME}, which is kept with `--persist`, and {which}: `{}`",
        command_for(plan, "mount", &options)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{draft, lock, plan};
    use crate::plan::{Draft, Mount};

    fn advice(plan: &Plan, lines: &[&str]) -> Option<String> {
        on_read_only(plan, &lines.iter().map(|line| Shown::new(line)).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_that_writes_beside_its_own_code_is_told_where_it_can() {
        let error =
            "Error: EROFS: read-only file system, open '/opt/server/node_modules/m/dist/memory.jsonl'";
        let said = advice(&plan(), &["starting", error]).unwrap();
        assert!(said.contains("--env NAME=/home/cage/memory.jsonl") && said.contains("--persist`"), "{said}");
        let said = advice(&plan(), &[&format!("{error} (set MEMORY_FILE_PATH)")]).unwrap();
        let command = format!(
            "`pinfold mount {} --persist --env MEMORY_FILE_PATH=/home/cage/memory.jsonl`",
            plan().release().id()
        );
        assert!(said.ends_with(&command), "{said}");
        let passing = error.replace("memory.jsonl", "memory.jsonl.e916e61828ffc940.tmp");
        assert!(advice(&plan(), &[&passing]).unwrap().contains("/home/cage/memory.jsonl`"));
        let python = "OSError: [Errno 30] Read-only file system: 'data'";
        assert!(advice(&plan(), &[python]).unwrap().contains("/home/cage/FILE"));
        assert_eq!(advice(&plan(), &["all is well", "LD_LIBRARY_PATH"]), None);
    }

    #[test]
    fn a_variable_that_no_plan_holds_is_not_named() {
        let said =
            advice(&plan(), &["EROFS: read-only file system; PYTHONPYCACHE_DIR, LD_LIBRARY_PATH"]).unwrap();
        assert!(!said.contains("LD_LIBRARY_PATH") && !said.contains("PYTHONPYCACHE_DIR"), "{said}");
    }

    #[test]
    fn a_folder_that_was_mounted_to_be_read_is_told_with_the_way_to_write() {
        let mounts = vec![Mount::new("/srv/notes".parse().unwrap(), Access::Read)];
        let plan = Plan::draw(Draft { mounts, ..draft(&lock()) }).unwrap();
        let said = advice(&plan, &["EROFS: read-only file system, open '/srv/notes/a.md'"]).unwrap();
        assert!(said.contains("`--mount /srv/notes:rw`"), "{said}");
    }
}
