//! `pinfold images`: what do servers run on?

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::host::Host;
use super::out::{Out, counted};
use crate::cage::engine::{ImageId, Labels, label};
use crate::cage::init_binary;
use crate::failure::{Code, Failure};
use crate::install::runtime::{self, Recipe};
use crate::pin::Pin;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Images>,
}

#[derive(Debug, Subcommand)]
enum Images {
    /// The runtime images and sealed images on this host
    List,
    /// Remove the images that nothing uses any more
    Prune,
    /// Make runtime images
    Build {
        /// Which: `node`, `python3.13`, `python3.11`
        #[arg(required = true, value_name = "RUNTIME")]
        runtimes: Vec<String>,
    },
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Images::List) => list(host, out).await,
        Some(Images::Prune) => prune(host, out).await,
        Some(Images::Build { runtimes }) => {
            let mut made = Vec::new();
            for runtime in runtimes {
                made.push(build(runtime, host, out).await?);
            }
            if out.is_json() {
                out.document(&json!({"runtimes": made}));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// An image, and what it is for.
struct Row {
    kind: &'static str,
    what: String,
    used_by: Vec<String>,
    /// What is to be said of one that nothing uses.
    unused: Option<&'static str>,
    megabytes: u64,
    id: ImageId,
}

/// Every image of this state directory, each once.
async fn rows(host: &Host) -> Result<Vec<Row>, Failure> {
    let engine = host.engine().await?;
    let stamp = host.stamp()?;
    let state = host.home().id()?.as_str().to_owned();
    // with a pin that cannot be read it is not known what is needed, so nothing is called unused
    let pins = host.store()?.all().ok();
    let init = init_binary::digest().to_string();
    let mut rows: Vec<Row> = Vec::new();
    for kind in ["runtime", "sealed"] {
        let wanted = Labels::from([(label::MARK.into(), kind.into())]);
        for image in stamp.genuine(engine.images(&wanted).await?) {
            let get = |name: &str| image.labels.get(name).cloned().unwrap_or_default();
            let known = rows.iter().any(|row| row.id == image.id);
            if known || (kind == "sealed" && get(label::STATE) != state) {
                continue;
            }
            let of_this_build = get(label::INIT) == init;
            let (mut what, mut used_by) = (String::new(), Vec::new());
            let unused = if kind == "runtime" {
                what = format!("{} {} ({})", get(label::RUNTIME), get(label::VERSION), get(label::RECIPE));
                let uses = |pin: &&Pin| {
                    let runtime = pin.plan().runtime();
                    runtime.name() == get(label::RUNTIME)
                        && runtime.version() == get(label::VERSION)
                        && runtime.recipe() == get(label::RECIPE)
                };
                if of_this_build {
                    used_by.extend(pins.iter().flatten().filter(uses).map(|pin| pin.name().to_string()));
                }
                // one that another state directory made is that one's to call unused
                (!of_this_build && get(label::STATE) == state).then_some("of another build of Pinfold")
            } else {
                let uses = |pin: &&Pin| pin.plan().tree_digest().to_string() == get(label::TREE);
                for pin in pins.iter().flatten().filter(uses) {
                    what = pin.plan().release().id();
                    used_by.push(pin.name().to_string());
                }
                if what.is_empty() {
                    what = get(label::TREE);
                }
                if !get(label::USER).is_empty() {
                    what.push_str(&format!(", for the user {}", get(label::USER)));
                }
                (pins.is_some() && used_by.is_empty()).then_some("no mounted server's")
            };
            rows.push(Row { kind, what, used_by, unused, megabytes: image.size / 1_000_000, id: image.id });
        }
    }
    Ok(rows)
}

async fn list(host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let rows = rows(host).await?;
    if out.is_json() {
        let told = |row: &Row| {
            json!({
                "kind": row.kind, "what": row.what, "used_by": row.used_by, "unused": row.unused.is_some(),
                "megabytes": row.megabytes, "id": row.id.as_str(),
            })
        };
        out.document(&json!({"images": rows.iter().map(told).collect::<Vec<_>>()}));
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        out.note("no images yet; `pinfold images build node` makes the Node runtime image");
    }
    for row in &rows {
        let use_ = match (row.unused, row.used_by.is_empty()) {
            (Some(why), _) => format!("; unused: {why}"),
            (None, true) => String::new(),
            (None, false) => format!("; of {}", row.used_by.join(", ")),
        };
        out.line(format!("{:8} {:>5} MB  {}{use_}", row.kind, row.megabytes, row.what));
    }
    if rows.iter().any(|row| row.unused.is_some()) {
        out.note("`pinfold images prune` removes what is unused; an image that others lie on stays as long as they do");
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes what nothing uses. One that others lie on, or that a cage runs on, is the engine's to keep.
async fn prune(host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let engine = host.engine().await?;
    // all of them, or it would not be known what is needed
    let pins = host.store()?.all()?;
    let mut removed = host.prune(&pins).await?.removed;
    for row in rows(host).await?.iter().filter(|row| row.kind == "runtime" && row.unused.is_some()) {
        removed += usize::from(engine.remove_image(&row.id).await.is_ok());
    }
    if out.is_json() {
        out.document(&json!({"removed": removed}));
    } else {
        out.line(format!("{} removed", counted(removed, "image")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes one, unless it is here; what there is to say of it.
async fn build(name: &str, host: &Host, out: &Out) -> Result<serde_json::Value, Failure> {
    let recipe = Recipe::named(name).ok_or_else(|| {
        let all: Vec<String> = Recipe::all().iter().map(|recipe| format!("`{}`", recipe.name())).collect();
        Failure::new(
            Code::Usage,
            format!("there is no recipe for a runtime called `{name}`"),
            format!("this version has recipes for {}", all.join(", ")),
            "run for example `pinfold images build node`",
        )
    })?;
    host.sweep().await?;
    let found = runtime::find(host.engine().await?.as_ref(), &host.stamp()?, &recipe).await?;
    let (made, built) = match found {
        Some(runtime) => (runtime, false),
        None => (host.build_runtime(&recipe, out).await?, true),
    };
    out.pause();
    if !out.is_json() {
        let word = if built { "is ready" } else { "is here already" };
        out.line(format!("the {} {} runtime image ({}) {word}", made.name(), made.version(), made.recipe()));
    }
    Ok(json!({"runtime": made.name(), "version": made.version(), "recipe": made.recipe(), "built": built}))
}
