//! How does what a user typed become a plan?
//!
//! One way for every command that makes one: find the release, resolve its tree in a cage, draw the plan. Nothing
//! third-party is unpacked on this host or run anywhere.

use super::host::Host;
use super::out::Out;
use crate::cage::egress::EgressRule;
use crate::digest::Digest;
use crate::failure::{Code, Failure};
use crate::install::Progress;
use crate::install::npm::Wanted;
use crate::plan::{
    Bin, Draft, EnvAsked, Facts, LimitsAsked, LocalName, Lock, Plan, PrivateWay, Program, Released, Runtime,
    User, WayOut,
};
use crate::source::{Package, Release, Spec, npm, path};
use crate::text::Shown;

/// What decides a plan besides the package.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub struct PlanOptions {
    /// The name it will go by here; made from the package's name otherwise
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Which program of the package to start, where it has several
    #[arg(long, value_name = "PROGRAM")]
    pub bin: Option<String>,
    /// A variable for the server: NAME takes its value from the environment at each start and keeps it nowhere;
    /// NAME=VALUE is a plain setting, shown and kept
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// A host the server may reach (port 443 unless given), `*.DOMAIN`, or `public`; none otherwise
    #[arg(long = "egress", value_name = "HOST[:PORT]")]
    pub egress: Vec<String>,
    /// A port of this machine (`localhost:PORT`) or of a host of your own network that the server may reach, under that
    /// name
    #[arg(long = "egress-private", value_name = "HOST:PORT")]
    pub egress_private: Vec<String>,
    /// Memory limit, such as 512m or 2g
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Processor limit, such as 0.5 or 2
    #[arg(long, value_name = "NUMBER")]
    pub cpus: Option<String>,
    /// Process and thread limit
    #[arg(long, value_name = "NUMBER")]
    pub pids: Option<u64>,
    /// Arguments for the server itself
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// A plan, and what belongs to it.
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// Its lock.
    pub lock: Lock,
    /// What is told about the package.
    pub facts: Facts,
    /// Its own bytes, where it comes from this disk.
    pub archive: Option<Vec<u8>>,
}

/// Makes the plan of what was typed.
pub async fn prepare(host: &Host, out: &Out, text: &str, options: &PlanOptions) -> Result<Prepared, Failure> {
    let spec: Spec = text.parse().map_err(Failure::from)?;
    // refused before anything is looked up: the user learns of all typing errors at once
    let asked = Asked::read(host, options)?;
    let runtime = host.runtime(out).await?;
    let npm = host.npm(runtime.clone()).await?;

    let (release, archive) = match &spec {
        Spec::Npm(spec) => {
            out.step(&format!("looking up {}", spec.name()));
            (npm::find(host.client(), npm.registries(), spec).await?, None)
        }
        Spec::Pypi(_) => {
            let (what, carried) = ("a Python package", "`npm:` packages and `path:` files and folders");
            return Err(crate::source::SourceError::NotYet { text: Shown::new(text), what, carried }.into());
        }
        Spec::Path(spec) => {
            let origin =
                std::path::absolute(spec.as_path()).map_err(|error| unreadable(spec.as_path(), &error))?;
            let archive = match path::look(&origin)? {
                path::Kind::File => path::read(&origin)?,
                path::Kind::Dir => {
                    out.step("packing the folder");
                    npm.pack(&folder(&origin)?).await?
                }
            };
            (path::release(&origin, &archive)?, Some(archive))
        }
    };
    out.step(&format!("resolving the dependencies of {}", release.package().exact()));
    let version = release.package().version();
    let wanted = Wanted { name: release.package().name(), version: &version, tarball: archive.as_deref() };
    let lock = npm.resolve(&wanted).await?;
    out.pause();

    let released = Released::from(&release);
    let lock = Lock::read(&lock, &released)?;
    let program = choose_bin(&release, options.bin.as_deref())?;
    let runtime = Runtime::new(runtime.name(), runtime.version(), runtime.recipe())?;
    let facts = asked.facts(&release);
    let plan = asked.draw(host, released, &lock, runtime, program)?;
    Ok(Prepared { plan, lock, facts, archive })
}

/// The plan of what was typed, over a release and a tree that were shown before: nothing is looked up.
///
/// Gives none where what was shown is another package than was typed.
pub fn prepare_again(
    host: &Host,
    text: &str,
    options: &PlanOptions,
    digest: &Digest,
) -> Result<Option<Prepared>, Failure> {
    let shown = crate::consent::ShownPlans::of(host.home())?;
    let Some(kept) = shown.find(digest, jiff::Timestamp::now())? else { return Ok(None) };
    let spec: Spec = text.parse().map_err(Failure::from)?;
    let released = kept.plan.release();
    let same = match &spec {
        Spec::Npm(spec) => {
            let admitted = match released.package() {
                Package::Npm(package) => spec.wanted().admits(&package.version),
                Package::Pypi(_) => false,
            };
            admitted && released.source() == format!("npm:{}", spec.name())
        }
        Spec::Pypi(_) => false,
        Spec::Path(spec) => {
            let origin =
                std::path::absolute(spec.as_path()).map_err(|error| unreadable(spec.as_path(), &error))?;
            released.source() == format!("path:{}", origin.display())
        }
    };
    if !same || options.bin.as_deref().is_some_and(|bin| bin != kept.plan.program().name()) {
        return Ok(None);
    }
    let asked = Asked::read(host, options)?;
    let (runtime, program) = (kept.plan.runtime().clone(), kept.plan.program().clone());
    let plan = asked.draw(host, released.clone(), &kept.lock, runtime, program)?;
    Ok(Some(Prepared { plan, lock: kept.lock, facts: kept.facts, archive: kept.archive }))
}

/// The options, each through its own grammar.
struct Asked {
    name: Option<String>,
    env: Vec<EnvAsked>,
    egress: Vec<WayOut>,
    egress_private: Vec<PrivateWay>,
    limits: LimitsAsked,
    arguments: Vec<String>,
}

impl Asked {
    fn read(host: &Host, options: &PlanOptions) -> Result<Self, Failure> {
        let env = options.env.iter().map(|text| text.parse::<EnvAsked>()).collect::<Result<_, _>>()?;
        // held to the cage's own grammar too, which knows the names that lead to this machine: a plan with one could
        // be consented to and would never start
        let way = |text: &String| -> Result<WayOut, Failure> {
            text.parse::<EgressRule>()?;
            Ok(text.parse()?)
        };
        let egress = options.egress.iter().map(way).collect::<Result<_, _>>()?;
        // the one place where a way to this machine is made: from the command line, which nobody but the user types
        let egress_private =
            options.egress_private.iter().map(|text| PrivateWay::typed(text)).collect::<Result<_, _>>()?;
        let mut limits = *host.config().limits();
        if let Some(memory) = &options.memory {
            limits = limits.memory(memory)?;
        }
        if let Some(cpus) = &options.cpus {
            limits = limits.cpus(cpus)?;
        }
        if let Some(pids) = options.pids {
            limits = limits.pids(pids)?;
        }
        Ok(Self {
            name: options.name.clone(),
            env,
            egress,
            egress_private,
            limits,
            arguments: options.args.clone(),
        })
    }

    fn facts(&self, release: &Release) -> Facts {
        let told = release.facts();
        let dropped = self.env.iter().filter_map(|asked| match asked {
            EnvAsked::Dropped { name, why } => Some((name.clone(), Shown::new(why))),
            _ => None,
        });
        Facts {
            description: told.description.clone(),
            published: told.published,
            publisher: told.publisher.clone(),
            provenance: release.path().is_none().then_some(told.attested),
            deprecated: told.deprecated.clone(),
            dropped_env: dropped.collect(),
        }
    }

    fn draw(
        self,
        host: &Host,
        release: Released,
        lock: &Lock,
        runtime: Runtime,
        program: Program,
    ) -> Result<Plan, Failure> {
        let holders = host.store()?.holders()?;
        let holder = |name: &LocalName| holders.get(name).cloned();
        let source = release.source();
        let name = match &self.name {
            Some(name) => LocalName::given(name, &source, holder)?,
            None => LocalName::derive(&source, release.package().name(), holder),
        };
        Ok(Plan::draw(Draft {
            name,
            release,
            lock,
            runtime,
            with: Vec::new(),
            build: false,
            program,
            arguments: self.arguments,
            env: self.env,
            egress: self.egress,
            egress_private: self.egress_private,
            limits: self.limits.or(&LimitsAsked::default()),
            user: User::NOBODY,
        })?)
    }
}

/// The program to start: the one asked for, the only one, or the one that bears the package's name.
fn choose_bin(release: &Release, asked: Option<&str>) -> Result<Program, Failure> {
    let (bins, package) = (release.bins(), release.package().name());
    let names = || bins.iter().map(|bin| bin.name().to_owned()).collect::<Vec<_>>().join(", ");
    let found = match asked {
        Some(asked) => bins.iter().find(|bin| bin.name() == asked),
        None if bins.len() == 1 => bins.first(),
        None => bins.iter().find(|bin| Some(bin.name()) == package.rsplit('/').next()),
    };
    let bin = found.ok_or_else(|| match (bins.is_empty(), asked) {
        (true, _) => Failure::new(
            Code::LaunchRefused,
            format!("{package} has nothing to start"),
            "its package.json lists no program (`bin`)",
            "it is a library: look in its documentation for the server's own package",
        ),
        (false, Some(asked)) => Failure::new(
            Code::LaunchRefused,
            format!("{package} has no program `{asked}`"),
            format!("it has {}", names()),
            "name one of them with `--bin`",
        ),
        (false, None) => Failure::new(
            Code::LaunchRefused,
            format!("{package} has several programs"),
            format!("it has {}, and none bears its name", names()),
            "name one with `--bin`",
        ),
    })?;
    Ok(Program::File(Bin::new(bin.name(), bin.file())?))
}

/// Bytes of a folder's files at most.
const FOLDER_LIMIT: u64 = 256 * 1024 * 1024;

/// A folder as a tar archive, for npm to pack in a cage. What no package holds stays out: `.git`, `node_modules`, and
/// every `.npmrc`, which would be npm's configuration while it packs.
fn folder(root: &std::path::Path) -> Result<Vec<u8>, Failure> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|error| unreadable(&dir, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&dir, &error))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            if kind.is_dir() {
                if entry.file_name() != ".git" && entry.file_name() != "node_modules" {
                    waiting.push(path);
                }
                continue;
            }
            // a link could lead out of the folder; npm leaves links out of packages too
            if !kind.is_file() || entry.file_name().eq_ignore_ascii_case(".npmrc") {
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let length = entry.metadata().map_err(|error| unreadable(&path, &error))?.len();
            if archive.get_ref().len() as u64 + length > FOLDER_LIMIT {
                return Err(Failure::new(
                    Code::NotFound,
                    format!("{} is too large to pack", root.display()),
                    "its files are more than 256 MiB",
                    "pack it with `npm pack` and mount the tarball",
                ));
            }
            archive.append_path_with_name(&path, inside).map_err(|error| unreadable(&path, &error))?;
        }
    }
    archive.into_inner().map_err(|error| unreadable(root, &error))
}

fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Code::NotFound,
        format!("{} cannot be read", path.display()),
        error,
        "see that the path is right and readable by you",
    )
}
