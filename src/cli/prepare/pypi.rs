//! Which release and tree does an index of Python packages have for what was typed?

use std::path::Path;

use super::Resolved;
use crate::cli::asked::Asked;
use crate::cli::host::Host;
use crate::cli::out::Out;
use crate::failure::{Code, Failure};
use crate::install::Progress;
use crate::install::pypi::{Places, Programs, Wanted, Wheel};
use crate::install::runtime::Recipe;
use crate::plan::{ModuleName, Program, ScriptName};
use crate::source::{
    Ask, CarriedPython, FoundRelease, Package, ProgramChoice, PypiName, PypiSpec, PythonMinor, Release,
    Requirement, WheelFile, path, pypi,
};
use crate::text::Shown;

/// A package of an index's.
pub(super) async fn published(
    host: &Host,
    out: &Out,
    asked: &Asked,
    spec: &PypiSpec,
) -> Result<Resolved, Failure> {
    let index = host.index(out).await?;
    out.step(&format!("looking up {}", spec.name()));
    let ask = Ask { spec, carried: &carried(host).await?, python: asked.python, build: asked.build };
    let FoundRelease { release, python, files } = pypi::find(host.client(), &index, &ask).await?;
    let places = Places { index: index.registry().clone(), files };
    let mut remarks: Vec<Shown> = index.notes().to_vec();
    remarks.extend(release.facts().passed_over.iter().cloned());
    resolved(host, out, asked, places, python, Found { release, wheel: None, remarks }).await
}

/// A wheel on this disk; what it depends on comes from the index, which does not learn its name.
pub(super) async fn local(host: &Host, out: &Out, asked: &Asked, path: &Path) -> Result<Resolved, Failure> {
    let bytes = path::read(path)?;
    let wheel = WheelFile::read(path, &bytes)?;
    let python = wheel.python(&carried(host).await?, asked.python)?;
    let remarks = host.index(out).await?.notes().to_vec();
    let with = asked.with.iter().map(Requirement::name);
    let places = host.places(out, wheel.depends_on().iter().chain(with)).await?;
    let (release, file) = (wheel.release().clone(), wheel.file().to_owned());
    let found = Found { release, wheel: Some((file, bytes)), remarks };
    resolved(host, out, asked, places, python, found).await
}

/// The Pythons that this version has a recipe for: exactly, where an image is made already.
async fn carried(host: &Host) -> Result<Vec<CarriedPython>, Failure> {
    let mut carried = Vec::new();
    for recipe in Recipe::pythons() {
        let made = host.runtime_made(&recipe).await?;
        carried.extend(CarriedPython::new(made.as_ref().map_or(recipe.series(), |made| made.version())));
    }
    Ok(carried)
}

/// A release, and what belongs to it.
struct Found {
    release: Release,
    /// The name and bytes of its wheel, where that is on this disk.
    wheel: Option<(String, Vec<u8>)>,
    remarks: Vec<Shown>,
}

async fn resolved(
    host: &Host,
    out: &Out,
    asked: &Asked,
    places: Places,
    python: PythonMinor,
    found: Found,
) -> Result<Resolved, Failure> {
    let Found { release, wheel, mut remarks } = found;
    let runtime = host.runtime_of(&Recipe::python(python)?, out).await?;
    let uv = host.pypi(runtime.clone(), places).await?;
    out.step(&format!("resolving the dependencies of {}", release.package().exact()));
    let Package::Pypi(package) = release.package() else {
        return Err(Failure::new(
            Code::Other,
            "an index of Python packages gave another ecosystem's",
            "this is a fault of Pinfold's own",
            "please report it",
        ));
    };
    let given = wheel.as_ref().map(|(file, bytes)| Wheel { file, bytes });
    let tree = uv.resolve(&Wanted { package, with: &asked.with, wheel: given, build: asked.build }).await?;
    out.pause();
    let program = choose(&package.name, &tree.programs, asked.program.as_ref(), &mut remarks)?;
    let (lock, archive) = (tree.lock, wheel.map(|(_, bytes)| bytes));
    Ok(Resolved { release, archive, lock, runtime, program, remarks, summary: tree.summary })
}

/// The program to start: the one asked for, the one that bears the package's name, the only one, or the package itself
/// as a module.
fn choose(
    package: &PypiName,
    programs: &Programs,
    asked: Option<&ProgramChoice>,
    remarks: &mut Vec<Shown>,
) -> Result<Program, Failure> {
    let refused =
        |what: String, why: String, hint: &str| Err(Failure::new(Code::LaunchRefused, what, why, hint));
    let (scripts, modules) = match programs {
        Programs::Known { scripts, modules } => (scripts, modules),
        Programs::Unknown { why } => {
            let program = match asked {
                Some(ProgramChoice::Named(name)) => Program::Script(name.clone().try_into()?),
                Some(ProgramChoice::Module(name)) => Program::Module(name.clone().try_into()?),
                _ => Program::Script(package.as_str().to_owned().try_into()?),
            };
            remarks.push(Shown::new(&format!(
                "its programs are not known before it is installed ({why}); if `{}` is none of them, nothing is mounted",
                program.name()
            )));
            return Ok(program);
        }
    };
    // a script's name may be spelled as loosely as the package's
    let is = |script: &ScriptName, name: &str| {
        script.as_str() == name || script.as_str().parse::<PypiName>().is_ok_and(|script| script == *package)
    };
    let listed = |names: Vec<&str>| match names.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", names.join(", ")),
    };
    let scripts_told = || listed(scripts.iter().map(ScriptName::as_str).collect());
    match asked {
        Some(ProgramChoice::File(file)) => refused(
            format!("{package} is not started by a file"),
            format!("`{}` is one, and a Python package has programs and modules", Shown::new(file)),
            "name a program with `--bin`",
        ),
        Some(ProgramChoice::Module(name)) => match modules.iter().find(|module| module.as_str() == name) {
            Some(module) => Ok(Program::Module(module.clone())),
            None => refused(
                format!("{package} has no module `{}` to run", Shown::new(name)),
                listed(modules.iter().map(ModuleName::as_str).collect()),
                "name the package that has the module: \"uvx --from PACKAGE python -m MODULE\"",
            ),
        },
        Some(ProgramChoice::Named(name)) => match scripts.iter().find(|script| script.as_str() == name) {
            Some(script) => Ok(Program::Script(script.clone())),
            None => refused(
                format!("{package} has no program `{}`", Shown::new(name)),
                scripts_told(),
                "name one of them with `--bin`, or in the line: \"uvx --from PACKAGE PROGRAM\"",
            ),
        },
        None => {
            let own = scripts.iter().find(|script| is(script, package.as_str()));
            let only = if scripts.len() == 1 { scripts.first() } else { None };
            let module = package.as_str().replace('-', "_");
            if let Some(script) = own.or(only) {
                return Ok(Program::Script(script.clone()));
            }
            match modules.iter().find(|known| known.as_str() == module) {
                Some(module) if scripts.is_empty() => Ok(Program::Module(module.clone())),
                _ if scripts.is_empty() => refused(
                    format!("{package} has nothing to start"),
                    "it has no console script, and no module that is a program".to_owned(),
                    "it is a library: look in its documentation for the server's own package",
                ),
                _ => refused(
                    format!("{package} has several programs"),
                    format!("{}, and none bears its name", scripts_told()),
                    "name one with `--bin`",
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(scripts: &[&str], modules: &[&str], asked: Option<ProgramChoice>) -> Result<Program, Code> {
        let programs = Programs::Known {
            scripts: scripts.iter().map(|name| (*name).to_owned().try_into().unwrap()).collect(),
            modules: modules.iter().map(|name| (*name).to_owned().try_into().unwrap()).collect(),
        };
        let package = "mcp-server-x".parse().unwrap();
        choose(&package, &programs, asked.as_ref(), &mut Vec::new()).map_err(|failure| failure.code())
    }

    fn named(name: &str) -> Option<ProgramChoice> {
        Some(ProgramChoice::Named(name.to_owned()))
    }

    #[test]
    fn starts_the_one_asked_for_the_packages_own_or_the_only_one() {
        let script = |name: &str| Ok(Program::Script(name.to_owned().try_into().unwrap()));
        assert_eq!(chosen(&["a", "mcp-server-x"], &[], None), script("mcp-server-x"));
        assert_eq!(chosen(&["a", "mcp_server_x"], &[], None), script("mcp_server_x"));
        assert_eq!(chosen(&["a"], &["mcp_server_x"], None), script("a"));
        assert_eq!(chosen(&["a", "b"], &[], named("b")), script("b"));
        let module = Program::Module("mcp_server_x".to_owned().try_into().unwrap());
        assert_eq!(chosen(&[], &["mcp_server_x"], None), Ok(module.clone()));
        let asked = Some(ProgramChoice::Module("mcp_server_x".to_owned()));
        assert_eq!(chosen(&["a"], &["mcp_server_x"], asked), Ok(module));
    }

    #[test]
    fn starts_nothing_in_place_of_what_was_asked_for() {
        for (scripts, modules, asked) in [
            (&["a", "b"][..], &["mcp_server_x"][..], None),
            (&[], &[], None),
            (&[], &["other"], None),
            (&["mcp-server-x"], &[], named("mcp-server-y")),
            (&["a"], &[], named("")),
            (&["a"], &["b"], Some(ProgramChoice::Module("a".to_owned()))),
            (&["a"], &["b"], Some(ProgramChoice::File("a".to_owned()))),
        ] {
            assert_eq!(chosen(scripts, modules, asked), Err(Code::LaunchRefused), "{scripts:?} {modules:?}");
        }
    }

    #[test]
    fn programs_that_are_not_known_yet_are_remarked_upon() {
        let unknown = Programs::Unknown { why: Shown::new("x") };
        let mut remarks = Vec::new();
        let program = choose(&"a-b".parse().unwrap(), &unknown, None, &mut remarks).unwrap();
        assert_eq!((program.name(), remarks.len()), ("a-b", 1));
    }
}
