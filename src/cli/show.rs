//! `pinfold show`: what would run?

use std::process::ExitCode;

use jiff::Timestamp;

use super::asked::PlanOptions;
use super::host::Host;
use super::out::Out;
use super::prepare::prepare;
use crate::consent::{Card, ShownPlans};
use crate::failure::{Code, Failure};
use crate::plan::{Facts, LocalName};

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
                    "to see another plan, run `pinfold show {}` with these options",
                    pin.plan().release().id()
                ),
            )),
            Ok(pin) => {
                draw(out, &Card::new(pin.plan(), pin.lock(), &Facts::default(), now));
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Err(error.into()),
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
