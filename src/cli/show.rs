//! `pinfold show`: what would run?

use std::process::ExitCode;

use jiff::Timestamp;

use super::asked::PlanOptions;
use super::host::Host;
use super::out::Out;
use super::outside::Outsiders;
use super::prepare::prepare;
use super::start;
use crate::consent::{self, Card, ShownPlans};
use crate::failure::{Code, Failure};
use crate::pin::PinError;
use crate::plan::{Facts, LocalName};
use crate::source::Spec;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// `npm:NAME[@VERSION]`, `pypi:NAME[==VERSION]`, `path:FILE.tgz|FILE.whl|DIR`, a launch line in quotes, or the name of a
    /// mounted server
    #[arg(value_name = "SPEC|NAME")]
    spec: String,
    #[command(flatten)]
    options: PlanOptions,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let now = Timestamp::now();
    if let Ok(name) = args.spec.parse::<LocalName>() {
        return match host.store()?.load(&name) {
            // its plan is what it is; with other options it would be another
            Ok(pin) if args.options != PlanOptions::default() => Err(Failure::new(
                Code::Usage,
                format!("{name} is mounted, and options do not change its plan"),
                "with a mounted server's name, the plan that was agreed to is shown",
                format!(
                    "to see another plan, begin with what it is: `{}`, and these options",
                    consent::command_for(pin.plan(), "show", &[])
                ),
            )),
            Ok(pin) => {
                // what its arguments lead to is a fact of today, as little as that is
                let remarks = Outsiders::look(host, pin.plan()).remarks().collect();
                let facts = Facts { remarks, ..Facts::default() };
                draw(out, &Card::new(pin.plan(), pin.lock(), &facts, now));
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Err(not_mounted(error, &args.spec)),
        };
    }
    host.sweep().await?;
    let prepared = prepare(host, out, &args.spec, &args.options).await?;
    let shown = ShownPlans::of(host.home())?;
    shown.sweep(now)?;
    shown.keep(&prepared.plan, &prepared.lock, &prepared.facts, prepared.archive.as_deref(), now)?;
    draw(out, &Card::new(&prepared.plan, &prepared.lock, &prepared.facts, now));
    Ok(ExitCode::SUCCESS)
}

fn draw(out: &Out, card: &Card<'_>) {
    if out.is_json() { out.document(&card.json()) } else { out.card(card) }
}

/// A word that is neither a mounted server's name nor a spec; perhaps a package's name.
fn not_mounted(error: PinError, word: &str) -> Failure {
    let unknown = start::Unknown {
        why: "nothing is mounted under that name",
        hint: "`pinfold list` shows what is mounted",
    };
    let failure = start::not_mounted(error, &unknown);
    let specs: Vec<String> = Spec::of_plain_name(word).iter().map(|spec| format!("`{spec}`")).collect();
    if failure.code() != Code::NotMounted || specs.is_empty() {
        return failure;
    }
    let package = format!("if a package is meant, write {}", specs.join(" or "));
    let hint = match failure.hint().to_string() {
        near if near.starts_with("did you") => format!("{near}; {package}"),
        list => format!("{package}; {list}"),
    };
    Failure::new(Code::NotMounted, failure.what(), failure.why(), hint)
}
