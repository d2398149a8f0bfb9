//! Which release and tree does npm have for what was typed?

use std::path::Path;

use super::Resolved;
use crate::cli::asked::Asked;
use crate::cli::host::Host;
use crate::cli::out::Out;
use crate::cli::packing;
use crate::failure::{Code, Failure};
use crate::install::Progress;
use crate::install::npm::{Npm, Wanted};
use crate::install::runtime::Runtime;
use crate::plan::{Bin, Program};
use crate::source::{NpmSpec, ProgramChoice, Release, npm, path};
use crate::text::Shown;

/// A package of a registry's.
pub(super) async fn published(
    host: &Host,
    out: &Out,
    asked: &Asked,
    spec: &NpmSpec,
) -> Result<Resolved, Failure> {
    let runtime = host.runtime(out).await?;
    let npm = host.npm(runtime.clone()).await?;
    out.step(&format!("looking up {}", spec.name()));
    let release = npm::find(host.client(), npm.registries(), spec).await?;
    resolved(out, asked, &npm, runtime, release, None).await
}

/// A package on this disk: a tarball, or a folder that is packed into one first.
pub(super) async fn local(host: &Host, out: &Out, asked: &Asked, path: &Path) -> Result<Resolved, Failure> {
    let runtime = host.runtime(out).await?;
    let npm = host.npm(runtime.clone()).await?;
    let archive = if path.is_dir() {
        out.step("packing the folder");
        npm.pack(&packing::archive(path)?).await?
    } else {
        path::read(path)?
    };
    let release = path::release(path, &archive)?;
    resolved(out, asked, &npm, runtime, release, Some(archive)).await
}

async fn resolved(
    out: &Out,
    asked: &Asked,
    npm: &Npm,
    runtime: Runtime,
    release: Release,
    archive: Option<Vec<u8>>,
) -> Result<Resolved, Failure> {
    // before the tree is resolved: what cannot be started need not be
    let program = choose(&release, asked.program.as_ref())?;
    out.step(&format!("resolving the dependencies of {}", release.package().exact()));
    let version = release.package().version();
    let wanted = Wanted { name: release.package().name(), version: &version, tarball: archive.as_deref() };
    let lock = npm.resolve(&wanted).await?;
    out.pause();
    Ok(Resolved { release, archive, lock, runtime, program, remarks: Vec::new(), summary: None })
}

/// The program to start: the one asked for, the only one, or the one that bears the package's name.
fn choose(release: &Release, asked: Option<&ProgramChoice>) -> Result<Program, Failure> {
    let (bins, package) = (release.bins(), release.package().name());
    let own = package.rsplit('/').next().unwrap_or(package);
    let refused = |what: String, why: String, hint| Err(Failure::new(Code::LaunchRefused, what, why, hint));
    let names = || bins.iter().map(|bin| bin.name().to_owned()).collect::<Vec<_>>().join(", ");
    let found = match asked {
        // one that its package.json does not name goes by the file's own name
        Some(ProgramChoice::File(file)) => {
            let listed = bins.iter().find(|bin| bin.file() == file).map(|bin| bin.name());
            let name = listed.unwrap_or_else(|| file.rsplit('/').next().unwrap_or(file));
            return Ok(Program::File(Bin::new(name, file)?));
        }
        Some(ProgramChoice::Module(module)) => {
            return refused(
                format!("{package} has no module `{}`", Shown::new(module)),
                "it is a package of npm's, and modules are Python's".to_owned(),
                "mount the Python package: `pypi:NAME`",
            );
        }
        Some(ProgramChoice::Named(name)) => bins.iter().find(|bin| bin.name() == name),
        None if bins.len() == 1 => bins.first(),
        None => bins.iter().find(|bin| bin.name() == own),
    };
    match (found, asked) {
        (Some(bin), _) => Ok(Program::File(Bin::new(bin.name(), bin.file())?)),
        (None, _) if bins.is_empty() => refused(
            format!("{package} has nothing to start"),
            "its package.json lists no program (`bin`)".to_owned(),
            "it is a library: look in its documentation for the server's own package",
        ),
        (None, Some(ProgramChoice::Named(name))) => refused(
            format!("{package} has no program `{}`", Shown::new(name)),
            format!("it has {}", names()),
            "name one of them with `--bin`",
        ),
        (None, _) => refused(
            format!("{package} has several programs"),
            format!("it has {}, and none bears its name", names()),
            "name one with `--bin`",
        ),
    }
}
