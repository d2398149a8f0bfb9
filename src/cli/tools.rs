//! `pinfold tools`: what does a mounted server offer, and what does the screen say to it?

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::host::Host;
use super::mount::word;
use super::out::Out;
use super::start;
use super::trial::{Look, look};
use super::{egress, first_seen};
use crate::cage::egress::{History, Tally};
use crate::failure::Failure;
use crate::proxy::{Era, Item, Survey};
use crate::screen::Kind;
use crate::text::Shown;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pin = start::pin(host, &args.name, &start::NOT_STARTED)?;
    host.sweep().await?;
    let image = start::sealed(host, &pin).await?;
    start::no_new_second_name(host, &pin)?;
    let mut failure = None;
    let mut survey = None;
    let mut tried = Tally::default();
    for era in Era::ALL {
        match look(host, out, &pin, &image, era, era.widest(), &mut tried).await? {
            Look::Seen(seen) => {
                survey = Some(seen);
                break;
            }
            Look::OtherEra => {}
            Look::Failed(why) => {
                failure.get_or_insert(why);
            }
        }
    }
    egress::report(out, &pin, &tried);
    History::keep(host.home(), pin.plan(), &tried, Timestamp::now())?;
    let Some(survey) = survey else {
        return Err(failure.unwrap_or_else(|| super::trial::no_era(pin.name())));
    };
    let surface = first_seen::surface(std::slice::from_ref(&survey));
    first_seen::tell(out, &pin, first_seen::save(host, &pin, surface));
    if out.is_json() {
        out.document(&document(&survey));
    } else {
        draw(out, &survey);
    }
    Ok(ExitCode::SUCCESS)
}

fn document(survey: &Survey) -> Value {
    let of = |kind: Kind| -> Vec<Value> {
        survey.items().iter().filter(|item| item.kind() == kind).map(row).collect()
    };
    json!({
        "tools": of(Kind::Tool),
        "prompts": of(Kind::Prompt),
        "resources": of(Kind::Resource),
        "resourceTemplates": of(Kind::ResourceTemplate),
        "instructions": survey.instructions().map(row),
        "server": row(survey.about()),
    })
}

fn row(item: &Item) -> Value {
    let verdict = item.verdict();
    json!({"name": item.name(), "verdict": verdict.word(), "hits": verdict.hits(), "digest": item.digest()})
}

fn draw(out: &Out, survey: &Survey) {
    let all = survey.instructions().into_iter().chain(survey.items());
    for item in all {
        let name = if item.name().is_empty() { "(for the model)" } else { item.name() };
        out.line(format!("{:7} {:12} {}", item.verdict().word(), word(item.kind()), Shown::new(name)));
        for hit in item.verdict().hits() {
            out.line(format!("{:20} {}: “{}”{}", "", hit.rule(), hit.excerpt(), place(hit.place())));
        }
    }
}

fn place(place: &Shown) -> String {
    let place = place.to_string();
    if place.is_empty() { place } else { format!(" in {place}") }
}
