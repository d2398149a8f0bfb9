//! `pinfold images`: what do servers run on?

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::host::Host;
use super::out::Out;
use crate::cage::engine::{Labels, label};
use crate::failure::{Code, Failure};
use crate::install::runtime::{self, Recipe};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Images>,
}

#[derive(Debug, Subcommand)]
enum Images {
    /// The runtime images and sealed images on this host
    List,
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

async fn list(host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let engine = host.engine().await?;
    let stamp = host.stamp()?;
    let mut rows = Vec::new();
    for kind in ["runtime", "sealed"] {
        let wanted = Labels::from([(label::MARK.into(), kind.into())]);
        for image in stamp.genuine(engine.images(&wanted).await?) {
            let get = |name: &str| image.labels.get(name).cloned().unwrap_or_default();
            let what = match kind {
                "runtime" => {
                    format!("{} {} ({})", get(label::RUNTIME), get(label::VERSION), get(label::RECIPE))
                }
                _ => get(label::TREE),
            };
            rows.push((kind, what, image.size / 1_000_000, image.id));
        }
    }
    if out.is_json() {
        let images: Vec<_> = rows
            .iter()
            .map(|(kind, what, megabytes, id)| json!({"kind": kind, "what": what, "megabytes": megabytes, "id": id.as_str()}))
            .collect();
        out.document(&json!({"images": images}));
    } else {
        if rows.is_empty() {
            out.note("no images yet; `pinfold images build node` makes the Node runtime image");
        }
        for (kind, what, megabytes, _) in rows {
            out.line(format!("{kind:8} {megabytes:>5} MB  {what}"));
        }
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
