//! What did a user write where the other program reads it?
//!
//! Pinfold's own option behind the `--`, where the server gets it; a launch line without its quotes, whose flags
//! Pinfold then reads as its own. Which options there are is asked of the command line's own declaration.

use std::collections::BTreeSet;

use clap::CommandFactory;

use super::Cli;
use crate::consent::shell_word;
use crate::failure::{Code, Failure};
use crate::source::Launch;
use crate::text::Shown;

/// The commands that take a launch line and options of a plan.
const COMMANDS: [&str; 2] = ["show", "mount"];

/// Their own options, such as `--mount`; those of every command, which servers have too, are not among them.
fn own_options() -> BTreeSet<String> {
    let cli = Cli::command();
    let commands = COMMANDS.iter().filter_map(|name| cli.find_subcommand(name));
    let names = commands.flat_map(|command| command.get_arguments().filter_map(|option| option.get_long()));
    names.map(|name| format!("--{name}")).collect()
}

/// What a card says of Pinfold's own options among what stands behind the `--`.
pub fn behind_the_dashes(arguments: &[String]) -> Vec<Shown> {
    let own = own_options();
    let name = |argument: &String| argument.split('=').next().unwrap_or_default().to_owned();
    let found: BTreeSet<String> = arguments.iter().map(name).filter(|name| own.contains(name)).collect();
    let said = |name| {
        Shown::new(&format!(
            "`{name}` stands behind `--` and goes to the server; if it is meant for Pinfold, write it before the `--`"
        ))
    };
    found.iter().map(said).collect()
}

/// What to say where a command line could not be read because a launch line in it has no quotes; none where that is not
/// the reason. `words` are those behind the program's name.
pub fn without_quotes(words: &[String]) -> Option<Failure> {
    let at = words.iter().position(|word| COMMANDS.contains(&word.as_str()))?;
    let (before, line) = words.split_at(at + 1);
    let mut begin = line.iter().position(|word| Launch::is_runner(word))?;
    // variables before it are the line's, unless an option took one
    let is_option = |at: usize| line.get(at).is_some_and(|word| word.starts_with('-') && word != "--");
    while begin > 0
        && line[begin - 1].contains('=')
        && !is_option(begin - 1)
        && !(begin > 1 && is_option(begin - 2))
    {
        begin -= 1;
    }
    let (options, line) = line.split_at(begin);
    if line.len() < 2 {
        return None;
    }
    let quoted = line.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let quoted = match quoted.contains(['"', '$', '`', '\\', '!']) {
        true => shell_word(&quoted),
        false => format!("\"{quoted}\""),
    };
    let options = options.iter().filter(|word| *word != "--");
    let typed = before.iter().chain(options).map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    Some(Failure::new(
        Code::Usage,
        "the launch line is not in quotes",
        "without them each of its words is read as one of Pinfold's own",
        format!("`pinfold {typed} {quoted}`; options for Pinfold itself stand outside the quotes"),
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn an_option_of_ours_behind_the_dashes_is_told_once_and_a_servers_own_is_not() {
        let said =
            behind_the_dashes(&words("--mount /x --mount=/y --root /z --read-only --json --verbose mount"));
        let [said] = &said[..] else { panic!("{said:?}") };
        assert!(said.to_string().starts_with("`--mount` stands behind `--`"), "{said}");
        for option in own_options() {
            assert_eq!(behind_the_dashes(std::slice::from_ref(&option)).len(), 1, "{option}");
        }
        assert!(own_options().contains("--consent") && own_options().contains("--persist"));
    }

    #[test]
    fn a_launch_line_without_quotes_is_told_with_them() {
        for (typed, told) in [
            ("mount npx -y @x/y", r#"`pinfold mount "npx -y @x/y"`"#),
            ("show uvx mcp-server-time --zone=UTC", r#"`pinfold show "uvx mcp-server-time --zone=UTC"`"#),
            ("--json mount --name n -- npx -y a", r#"`pinfold --json mount --name n "npx -y a"`"#),
            ("mount --env A=b npx -y a", r#"`pinfold mount --env A=b "npx -y a"`"#),
            ("mount A=b npx -y a", r#"`pinfold mount "A=b npx -y a"`"#),
            ("mount npx -y a $x", r"`pinfold mount 'npx -y a '\''$x'\'''`"),
        ] {
            assert!(Cli::try_parse_from(words(&format!("pinfold {typed}"))).is_err(), "{typed}");
            let failure = without_quotes(&words(typed)).unwrap();
            assert!(failure.hint().to_string().starts_with(told), "{}", failure.hint());
        }
    }

    #[test]
    fn another_mistake_is_not_taken_for_a_launch_line() {
        for typed in
            ["mount", "mount npm:a --nope", "mount npx", "run npx -y a", "mount --mount", "list npx a"]
        {
            assert!(without_quotes(&words(typed)).is_none(), "{typed}");
        }
    }
}
