//! What did the user ask for?
//!
//! The spec or launch line and the options beside it, each through its own grammar, made one: what a line says and
//! what an option says may not contradict each other. Everything is read before anything is looked up, so a typing
//! error costs no wait.

use super::folders::{FolderOptions, FoldersAsked};
use super::host::Host;
use super::packing::unreadable;
use crate::cage::egress::EgressRule;
use crate::failure::{Code, Failure};
use crate::plan::{
    CageRuntime, Draft, EnvAsked, Facts, Limits, LimitsAsked, LocalName, Lock, Plan, PrivateWay, Program,
    Released, Runtime, WayOut,
};
use crate::source::{Launch, Package, ProgramChoice, PythonMinor, Release, Requirement, Spec};
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
    /// A Python package to install beside the server, or a bound on one of its dependencies: `mcp<2`
    #[arg(long = "with", value_name = "REQUIREMENT")]
    pub with: Vec<String>,
    /// The Python to run it on; the newest that the package admits otherwise
    #[arg(long, value_name = "3.N")]
    pub python: Option<String>,
    /// Build Python packages that have no wheel from source, with code of their own, in a cage of its own
    #[arg(long)]
    pub allow_build: bool,
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
    #[command(flatten)]
    pub folders: FolderOptions,
    /// Memory limit, such as 512m or 2g
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Processor limit, such as 0.5 or 2
    #[arg(long, value_name = "NUMBER")]
    pub cpus: Option<String>,
    /// Process and thread limit
    #[arg(long, value_name = "NUMBER")]
    pub pids: Option<u64>,
    /// A runtime of the engine's that the server's cage runs under, such as runsc or kata; the engine's own otherwise
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<String>,
    /// Arguments for the server itself
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// What was asked for, every part through its grammar.
pub struct Asked {
    /// The package; a path is absolute.
    pub spec: Spec,
    /// The program of it, where one was named.
    pub program: Option<ProgramChoice>,
    /// What else is to be in a Python server's tree.
    pub with: Vec<Requirement>,
    /// The Python it is to run on, where one was named.
    pub python: Option<PythonMinor>,
    /// Whether source archives will do where there is no wheel.
    pub build: bool,
    name: Option<String>,
    env: Vec<EnvAsked>,
    egress: Vec<WayOut>,
    egress_private: Vec<PrivateWay>,
    folders: FoldersAsked,
    limits: LimitsAsked,
    /// The runtime of the engine's, where one was named.
    pub cage_runtime: Option<CageRuntime>,
    arguments: Vec<String>,
    notes: Vec<Shown>,
}

impl Asked {
    /// Reads what was typed.
    ///
    /// # Errors
    /// Whatever a grammar refuses, an option for another ecosystem, or an option that contradicts the line.
    pub fn read(host: &Host, text: &str, options: &PlanOptions) -> Result<Self, Failure> {
        let line = Launch::parse(text)?;
        let spec = match line.spec {
            Spec::Path(path) => {
                let absolute = std::path::absolute(path.as_path())
                    .map_err(|error| unreadable(path.as_path(), &error))?;
                Spec::Path(absolute.into())
            }
            spec => spec,
        };
        let program = match (line.program, &options.bin) {
            (program, None) => program,
            (None, Some(bin)) => Some(ProgramChoice::Named(bin.clone())),
            (Some(ProgramChoice::Named(named)), Some(bin)) if named == *bin => {
                Some(ProgramChoice::Named(named))
            }
            (Some(_), Some(_)) => return Err(twice("--bin", "a program")),
        };
        let python = options.python.as_ref().map(|text| {
            text.parse::<PythonMinor>().map_err(|rule| {
                let what = format!("`--python {}` is not understood", Shown::new(text));
                Failure::new(Code::Usage, what, rule, "write for example `--python 3.13`")
            })
        });
        let python = match (line.python, python.transpose()?) {
            (Some(one), Some(other)) if one != other => return Err(twice("--python", "a Python")),
            (one, other) => other.or(one),
        };
        let mut with = line.with;
        for text in &options.with {
            let requirement = text.parse::<Requirement>().map_err(|rule| {
                let what = format!("`--with {}` is refused", Shown::new(text));
                Failure::new(Code::SourceRefused, what, rule, "write for example `--with 'mcp<2'`")
            })?;
            if !with.contains(&requirement) {
                with.push(requirement);
            }
        }
        if let Spec::Npm(_) = spec {
            let asked = [
                (!with.is_empty(), "--with"),
                (python.is_some(), "--python"),
                (options.allow_build, "--allow-build"),
            ];
            if let Some((_, option)) = asked.into_iter().find(|(asked, _)| *asked) {
                return Err(Failure::new(
                    Code::Usage,
                    format!("`{option}` means nothing here"),
                    "it is for Python packages, and this is one of npm's",
                    "leave it out",
                ));
            }
        }
        let env = line.env.iter().chain(&options.env).map(|text| text.parse()).collect::<Result<_, _>>()?;
        // held to the cage's own grammar too, which knows the names that lead to this machine: a plan with one could
        // be consented to and would never start
        let way = |text: &String| -> Result<WayOut, Failure> {
            text.parse::<EgressRule>()?;
            Ok(text.parse()?)
        };
        let egress = options.egress.iter().map(way).collect::<Result<_, _>>()?;
        // the one place where a way to this machine is made: from an option, which nobody but the user types
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
        let folders = FoldersAsked::read(host, &options.folders)?;
        Ok(Self {
            spec,
            program,
            with,
            python,
            build: options.allow_build,
            name: options.name.clone(),
            env,
            egress,
            egress_private,
            folders,
            limits,
            cage_runtime: options.runtime.as_deref().map(str::parse).transpose()?,
            arguments: line.arguments.into_iter().chain(options.args.iter().cloned()).collect(),
            notes: line.notes,
        })
    }

    /// What is told about the release, and what was understood in another way than it was typed.
    pub fn facts(&self, release: &Release) -> Facts {
        let told = release.facts();
        let dropped = self.env.iter().filter_map(|asked| match asked {
            EnvAsked::Dropped { name, why } => Some((name.clone(), Shown::new(why))),
            _ => None,
        });
        Facts {
            description: told.description.clone(),
            published: told.published,
            publisher: told.publisher.clone(),
            provenance: match release.package() {
                Package::Npm(_) => release.path().is_none().then_some(told.attested),
                // an index has a statement of its own kind, which is not asked for
                Package::Pypi(_) => None,
            },
            deprecated: told.deprecated.clone(),
            dropped_env: dropped.collect(),
            remarks: self.notes.clone(),
            folders: self.folders.facts(),
        }
    }

    /// Whether a plan that was shown is one of the package, program and tree that is asked for now.
    pub fn is_of(&self, plan: &Plan) -> bool {
        let released = plan.release();
        let package = match (&self.spec, released.package()) {
            (Spec::Npm(spec), Package::Npm(package)) => {
                !released.is_local() && *spec.name() == package.name && spec.wanted().admits(&package.version)
            }
            (Spec::Pypi(spec), Package::Pypi(package)) => {
                !released.is_local()
                    && *spec.name() == package.name
                    && *spec.extras() == package.extras
                    && spec.admits(&package.version)
            }
            (Spec::Path(spec), _) => released.source() == format!("path:{}", spec.as_path().display()),
            _ => false,
        };
        let program = self.program.as_ref().is_none_or(|choice| match (choice, plan.program()) {
            (ProgramChoice::Named(name), Program::File(bin)) => name == bin.name(),
            (ProgramChoice::File(file), Program::File(bin)) => file == bin.path(),
            (ProgramChoice::Named(name), Program::Script(script)) => name == script.as_str(),
            (ProgramChoice::Module(name), Program::Module(module)) => name == module.as_str(),
            _ => false,
        });
        let python = self.python.is_none_or(|minor| plan.runtime().minor() == Some(minor.to_string()));
        let build = self.build || !plan.builds();
        package && program && python && build && self.with == plan.with()
    }

    /// Draws the plan.
    ///
    /// # Errors
    /// A name that is another's, or what [`Plan::draw`] refuses.
    pub fn draw(
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
        let limits: Limits = self.limits.or(&LimitsAsked::default());
        Ok(Plan::draw(Draft {
            name,
            release,
            lock,
            runtime,
            with: self.with,
            program,
            arguments: self.arguments,
            env: self.env,
            egress: self.egress,
            egress_private: self.egress_private,
            mounts: self.folders.mounts,
            persist: self.folders.persist,
            limits,
            user: self.folders.user,
            cage_runtime: self.cage_runtime,
        })?)
    }
}

fn twice(option: &str, what: &str) -> Failure {
    Failure::new(
        Code::Usage,
        format!("`{option}` contradicts the launch line"),
        format!("the line names {what} already"),
        "give it in one place",
    )
}
