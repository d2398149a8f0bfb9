//! Which command, typed again, means this very plan?
//!
//! A yes by digest is a yes to the whole plan, options included, and a command line without them draws another. So
//! whoever tells a person what to type tells all of it.

use super::layout::shell_word;
use crate::plan::{Limits, LocalName, Origin, Plan, Program};
use crate::source::Package;

const MIB: u64 = 1024 * 1024;

/// A command line for `command` (`show`, `mount`) that draws this plan, as one types it in a shell. `last` are further
/// options, before the server's own arguments.
pub fn command_for(plan: &Plan, command: &str, last: &[&str]) -> String {
    command_amended(plan, command, last, &|text| text.to_owned())
}

/// The same, with each argument and each setting's value passed through `amend`: for telling what to type instead.
pub fn command_amended(plan: &Plan, command: &str, last: &[&str], amend: &dyn Fn(&str) -> String) -> String {
    let release = plan.release();
    let mut words = vec!["pinfold".to_owned(), command.to_owned(), spec(plan)];
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);

    // the name that comes of itself is not worth a word
    if LocalName::derive(plan.source(), release.package().name(), |_| None) != *plan.name() {
        option("name", plan.name().to_string());
    }
    if let Program::File(_) | Program::Script(_) = plan.program()
        && !is_by_file(plan)
        && Some(plan.program().name()) != release.package().name().rsplit('/').next()
    {
        option("bin", plan.program().name().to_owned());
    }
    if let (Package::Pypi(_), Some(minor)) = (release.package(), plan.runtime().minor()) {
        option("python", minor);
    }
    for requirement in plan.with() {
        option("with", requirement.to_string());
    }
    for name in plan.credentials() {
        option("env", name.to_string());
    }
    for (name, value) in plan.env() {
        option("env", format!("{name}={}", amend(value.as_str())));
    }
    for rule in plan.egress() {
        option("egress", rule.to_string());
    }
    for way in plan.egress_private() {
        option("egress-private", way.to_string());
    }
    for mount in plan.mounts() {
        option("mount", mount.to_string());
    }
    let (limits, usual) = (plan.limits(), Limits::default());
    if limits.memory() != usual.memory() {
        let mebibytes = limits.memory().is_multiple_of(MIB).then(|| format!("{}m", limits.memory() / MIB));
        option("memory", mebibytes.unwrap_or_else(|| limits.memory().to_string()));
    }
    if limits.milli_cpus() != usual.milli_cpus() {
        let cpus = format!("{}.{:03}", limits.milli_cpus() / 1000, limits.milli_cpus() % 1000);
        option("cpus", cpus.trim_end_matches('0').trim_end_matches('.').to_owned());
    }
    if limits.pids() != usual.pids() {
        option("pids", limits.pids().to_string());
    }
    if let Some(runtime) = plan.cage_runtime() {
        option("runtime", runtime.to_string());
    }
    let switches = [
        ("--allow-build", plan.builds()),
        ("--persist", plan.persists()),
        ("--allow-root", plan.user().is_root()),
    ];
    for (name, given) in switches {
        if given {
            words.push(name.to_owned());
        }
    }
    words.extend(last.iter().map(ToString::to_string));
    if !plan.arguments().is_empty() {
        words.push("--".to_owned());
        words.extend(plan.arguments().iter().map(|argument| amend(argument.as_str())));
    }
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// What stands for the package: its id, or the line that names a program no option can.
fn spec(plan: &Plan) -> String {
    let (release, program) = (plan.release(), plan.program());
    match (release.origin(), program) {
        (Origin::Registry, Program::Module(module)) => {
            format!("uvx --from {} python -m {}", shell_word(&release.package().exact()), module.as_str())
        }
        (Origin::Path(folder), Program::File(bin)) if is_by_file(plan) => {
            format!("node {}", shell_word(&folder.join(bin.path()).display().to_string()))
        }
        _ => release.id(),
    }
}

/// Whether its program is a file of a folder on this disk that its package.json does not name: such a one goes by the
/// file's own name.
fn is_by_file(plan: &Plan) -> bool {
    match plan.program() {
        Program::File(bin) => plan.release().is_local() && bin.path().rsplit('/').next() == Some(bin.name()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{draft, lock, plan};
    use crate::plan::{Access, AllowRoot, Draft, LimitsAsked, Mount, User};

    #[test]
    fn a_plan_without_options_is_typed_without_any() {
        let id = plan().release().id();
        assert_eq!(command_for(&plan(), "show", &[]), format!("pinfold show {id}"));
    }

    #[test]
    fn everything_that_was_asked_for_is_typed_again() {
        let lock = lock();
        let limits = LimitsAsked::default().memory("256m").unwrap().cpus("0.5").unwrap().pids(99).unwrap();
        let plan = Plan::draw(Draft {
            name: "mine".parse().unwrap(),
            arguments: vec!["--x".into(), "a b".into(), "it's".into()],
            env: vec!["TOKEN".parse().unwrap(), "MODE=a b".parse().unwrap()],
            egress: vec!["*.example.com".parse().unwrap()],
            egress_private: vec![crate::plan::PrivateWay::typed("localhost:5432").unwrap()],
            mounts: vec![
                Mount::new("/srv/a b".parse().unwrap(), Access::Write),
                Mount::new("/srv/c".parse().unwrap(), Access::Read),
            ],
            persist: true,
            user: User::root(&AllowRoot::typed(true).unwrap()),
            limits: limits.or(&LimitsAsked::default()),
            cage_runtime: Some("runsc".parse().unwrap()),
            ..draft(&lock)
        })
        .unwrap();
        let (id, typed) = (plan.release().id(), command_for(&plan, "mount", &["--consent", "D"]));
        let expected = r"--name mine --env TOKEN --env 'MODE=a b' --egress '*.example.com:443' --egress-private localhost:5432 --mount '/srv/a b:rw' --mount /srv/c --memory 256m --cpus 0.5 --pids 99 --runtime runsc --persist --allow-root --consent D -- --x 'a b' 'it'\''s'";
        assert_eq!(typed, format!("pinfold mount {id} {expected}"));
    }
}
