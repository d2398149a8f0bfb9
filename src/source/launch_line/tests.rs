use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;

use super::flags::{Meaning, Runner, Then};
use super::*;

fn launch(line: &str) -> Launch {
    Launch::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refusal(line: &str) -> LineRefused {
    match Launch::parse(line) {
        Err(SourceError::Line(refused)) => refused,
        other => panic!("{line}: {other:?}"),
    }
}

/// A launch in one line: spec, program, arguments, and what else there is.
fn told(launch: &Launch) -> String {
    let mut told = launch.spec.to_string();
    match &launch.program {
        Some(ProgramChoice::Named(name)) => told.push_str(&format!(" ({name})")),
        Some(ProgramChoice::File(file)) => told.push_str(&format!(" (file {file})")),
        Some(ProgramChoice::Module(module)) => told.push_str(&format!(" (-m {module})")),
        None => {}
    }
    for with in &launch.with {
        told.push_str(&format!(" with {with}"));
    }
    if let Some(python) = launch.python {
        told.push_str(&format!(" on {python}"));
    }
    for env in &launch.env {
        told.push_str(&format!(" {env}"));
    }
    if !launch.arguments.is_empty() {
        told.push_str(&format!(" | {}", launch.arguments.join(" ")));
    }
    told
}

#[track_caller]
fn reads(cases: &[(&str, &str)]) {
    for (line, expected) in cases {
        assert_eq!(told(&launch(line)), *expected, "{line}");
    }
}

/// Each line is refused by the name of a flag.
#[track_caller]
fn refuses_flags(cases: &[(&str, &str)]) {
    for (line, expected) in cases {
        match refusal(line) {
            LineRefused::Flag { flag, .. } | LineRefused::UnknownFlag { flag, .. } => {
                assert_eq!(flag.to_string(), *expected, "{line}");
            }
            other => panic!("{line}: {other}"),
        }
    }
}

#[track_caller]
fn refuses_sources(lines: &[&str]) {
    for line in lines {
        let refused = refusal(line);
        assert!(matches!(refused, LineRefused::Elsewhere { .. }), "{line}: {refused}");
        assert_eq!(Failure::from(refused).code(), Code::LaunchRefused, "{line}");
    }
}

#[test]
fn reads_npx_and_its_kin() {
    reads(&[
        ("npx -y a", "npm:a@latest"),
        ("npx --yes -q --prefer-online @s/a@1.2.3 --flag x", "npm:@s/a@1.2.3 | --flag x"),
        ("npx a@^1 -y --registry=x", "npm:a@^1 | -y --registry=x"),
        ("npx -y a@next", "npm:a@next"),
        ("npx --loglevel silent a", "npm:a@latest"),
        ("npx --cache=/x a", "npm:a@latest"),
        ("npx -y --package=@s/a b c", "npm:@s/a@latest (b) | c"),
        ("npx -p @s/a@2 -- b -p c", "npm:@s/a@2 (b) | -p c"),
        ("npx -- a --x", "npm:a@latest | --x"),
        ("npm exec a", "npm:a@latest"),
        ("npm exec -y -- a --x", "npm:a@latest | --x"),
        ("npm x --package=@s/a -- b --x", "npm:@s/a@latest (b) | --x"),
        ("npm --package @s/a exec -- b", "npm:@s/a@latest (b)"),
        ("npm exec a one -- --two", "npm:a@latest | one --two"),
        ("bunx a --x", "npm:a@latest | --x"),
        ("bunx --bun -y a", "npm:a@latest"),
        ("bunx -p @s/a b", "npm:@s/a@latest (b)"),
        ("bun x a", "npm:a@latest"),
        ("pnpm dlx a --x", "npm:a@latest | --x"),
        ("pnpm --package=@s/a dlx b", "npm:@s/a@latest (b)"),
        ("pnpm --silent dlx a", "npm:a@latest"),
        ("pnpx a", "npm:a@latest"),
        ("yarn dlx -q -p @s/a b", "npm:@s/a@latest (b)"),
    ]);
    assert!(launch("bunx --bun a").notes[0].to_string().contains("Node"));
    assert!(launch("npx -y a").notes.is_empty());
}

#[test]
fn refuses_npms_flags_that_move_the_source_or_run_something_else() {
    refuses_flags(&[
        ("npx -c 'rm -rf /'", "-c"),
        ("npx --call=id a", "--call"),
        ("npx --registry https://x.example a", "--registry"),
        ("npx --registry=https://x.example a", "--registry"),
        ("npx --@s:registry=https://x.example a", "--@s:registry"),
        ("npx --node-options=--require=x a", "--node-options"),
        ("npx --shell bash a", "--shell"),
        ("npx --script-shell=x a", "--script-shell"),
        ("npx --prefix /x a", "--prefix"),
        ("npx --userconfig=/x a", "--userconfig"),
        ("npx --no-install a", "--no-install"),
        ("npx -n --inspect a", "-n"),
        ("npx --new-flag a", "--new-flag"),
        ("npx -yq a", "-yq"),
        ("npx --yes=false a", "--yes"),
        ("npm exec a --x", "--x"),
        ("npm exec --workspace=w a", "--workspace"),
        ("bunx --registry=x a", "--registry"),
        ("pnpm dlx -c a", "-c"),
        ("pnpm dlx --allow-build=x a", "--allow-build"),
        ("yarn dlx --x a", "--x"),
    ]);
    for line in [
        "npm run start",
        "npm start",
        "npm install a",
        "bun run x",
        "bun index.ts",
        "pnpm exec a",
        "yarn start",
    ] {
        assert!(matches!(refusal(line), LineRefused::Program { .. }), "{line}");
    }
    assert!(matches!(refusal("npx -p a -p b c"), LineRefused::Several { .. }));
    assert!(matches!(refusal("npx -p a ./b"), LineRefused::ProgramName { .. }));
    for line in [
        "npx",
        "npx -y",
        "npx -p",
        "npx -p a",
        "npm",
        "npm exec",
        "npm exec --",
        "bunx",
        "pnpm dlx",
        "npx --",
    ] {
        assert!(matches!(refusal(line), LineRefused::Incomplete { .. }), "{line}");
    }
}

#[test]
fn refuses_packages_from_elsewhere_than_an_npm_registry() {
    refuses_sources(&[
        "npx -y github:a/b",
        "npx a/b",
        "npx git+https://x.example/a",
        "npx git@x.example:a/b",
        "npx https://x.example/a.tgz",
        "npx ./a",
        "npx /a",
        "npx ../a",
        "npx a.tgz",
        "npx file:a",
        "npx a@github:b/c",
        "npx a@https://x.example/a.tgz",
        "npx a@npm:b",
        "npx @s/a@npm:b",
        "npx -p github:a/b c",
    ]);
    for line in ["npx a;b", "npx -y 'a b'", "npx a@1;x", "npx -p -x b"] {
        assert!(Launch::parse(line).is_err(), "{line}");
    }
}

#[test]
fn reads_uvx_and_its_kin() {
    reads(&[
        (
            "uvx mcp-server-time --local-timezone=America/New_York",
            "pypi:mcp-server-time (mcp-server-time) | --local-timezone=America/New_York",
        ),
        ("uvx kospi_kosdaq_stock_server", "pypi:kospi-kosdaq-stock-server (kospi_kosdaq_stock_server)"),
        ("uvx -n a", "pypi:a (a)"),
        ("uvx a@latest --x", "pypi:a (a) | --x"),
        ("uvx a@1.2", "pypi:a==1.2 (a)"),
        ("uvx 'a[cli]==1.2' a", "pypi:a[cli]==1.2 (a) | a"),
        ("uvx a==0.2.3 a", "pypi:a==0.2.3 (a) | a"),
        ("uvx --from a b --from c", "pypi:a (b) | --from c"),
        ("uvx --from=a[x]==1 b", "pypi:a[x]==1 (b)"),
        ("uvx --from 'a>=1,<2' b", "pypi:a>=1,<2 (b)"),
        ("uvx --with b --with 'c>=1,<2,d[x,y]' a", "pypi:a (a) with b with c>=1,<2 with d[x,y]"),
        ("uvx -w b@1.0 a", "pypi:a (a) with b==1.0"),
        ("uvx -p 3.11 a", "pypi:a (a) on 3.11"),
        ("uvx -p3.13 a", "pypi:a (a) on 3.13"),
        ("uvx --python=python3.12 a", "pypi:a (a) on 3.12"),
        ("uvx -qn --isolated --refresh a", "pypi:a (a)"),
        ("uvx --from a python -m b x", "pypi:a (-m b) | x"),
        ("uvx --from a python3.11 -u -m b", "pypi:a (-m b) on 3.11"),
        ("uvx --with a-b python -m a_b", "pypi:a-b (-m a_b)"),
        ("uvx -- a --x", "pypi:a (a) | --x"),
        ("uv tool run --from a b", "pypi:a (b)"),
        ("uv -q tool run a", "pypi:a (a)"),
        ("uv run --with a b --x", "pypi:a (b) | --x"),
        ("uv run --with 'mcp[cli]' mcp run /srv/x.py", "pypi:mcp[cli] (mcp) | run /srv/x.py"),
        ("uv run --no-project --isolated --with a --with b --python 3.11 a", "pypi:a (a) with b on 3.11"),
        ("uv run --with a-b python -m a_b --x", "pypi:a-b (-m a_b) | --x"),
        ("uv run --with a -m a", "pypi:a (-m a)"),
        ("pipx run a --x", "pypi:a (a) | --x"),
        ("pipx run --spec a==1 b", "pypi:a==1 (b)"),
        ("pipx run a==1.0", "pypi:a==1.0 (a)"),
        ("pipx run --python python3.13 --with b --no-cache a", "pypi:a (a) with b on 3.13"),
    ]);
}

#[test]
fn refuses_uvs_flags_that_move_the_source_or_read_this_disk() {
    refuses_flags(&[
        ("uvx --index https://x.example a", "--index"),
        ("uvx --index-url=https://x.example a", "--index-url"),
        ("uvx -i https://x.example a", "-i"),
        ("uvx --default-index https://x.example a", "--default-index"),
        ("uvx --extra-index-url https://x.example a", "--extra-index-url"),
        ("uvx --find-links /x a", "--find-links"),
        ("uvx -f/x a", "-f"),
        ("uvx -qf /x a", "-f"),
        ("uvx --index-strategy unsafe-best-match a", "--index-strategy"),
        ("uvx --with-editable . a", "--with-editable"),
        ("uvx --with-requirements x.txt a", "--with-requirements"),
        ("uvx --env-file .env a", "--env-file"),
        ("uvx --config-file x a", "--config-file"),
        ("uvx --constraints x a", "--constraints"),
        ("uvx --allow-insecure-host x a", "--allow-insecure-host"),
        ("uvx --new-flag a", "--new-flag"),
        ("uvx --quiet=no a", "--quiet"),
        ("uv --directory /x run server.py", "--directory"),
        ("uv run --directory /x server.py", "--directory"),
        ("uv run --project /x server", "--project"),
        ("uv run --env-file .env --with a a", "--env-file"),
        ("uv run -s x.py", "-s"),
        ("uv run --extra x --with a a", "--extra"),
        ("pipx run --index-url x a", "--index-url"),
        ("pipx run --pip-args=--index-url=x a", "--pip-args"),
        ("pipx run --path x.py", "--path"),
        ("pipx run --editable a", "--editable"),
    ]);
    refuses_sources(&[
        "uvx git+https://x.example/a",
        "uvx --from git+https://x.example/a b",
        "uvx --from 'a @ git+https://x.example/a' b",
        "uvx --from https://x.example/a-1-py3-none-any.whl a",
        "uvx --from . a",
        "uvx --from /srv/a a",
        "uvx --from ./a-1.0-py3-none-any.whl a",
        "uvx ./a",
        "uvx --with git+https://x.example/b a",
        "uvx --with ./b a",
        "uv run server.py",
        "uv run mcp",
        "uv run --with a server.py",
        "uv run --with a python server.py",
        "uv run --with a ./x",
        "uv run -m a",
        "uvx --from a python b.py",
        "pipx run --spec git+https://x.example/a a",
        "pipx run https://x.example/a.py",
        "pipx run a.py",
        "uvx --from a python -m b.c",
    ]);
    for line in [
        "uv pip install a",
        "uv sync",
        "uv tool install a",
        "pipx install a",
        "uvx python@3.12",
        "uv tool list",
    ] {
        assert!(matches!(refusal(line), LineRefused::Program { .. }), "{line}");
    }
    for line in [
        "uvx",
        "uvx --from a",
        "uvx --with a",
        "uvx --from",
        "uv",
        "uv tool",
        "uv run",
        "pipx",
        "pipx run",
        "uvx python",
    ] {
        assert!(matches!(refusal(line), LineRefused::Incomplete { .. }), "{line}");
    }
    for line in [
        "uvx -p /usr/bin/python3 a",
        "uvx -p 3.11.4 a",
        "uvx -p pypy a",
        "uvx --python '>=3.11' a",
        "pipx run --python /x a",
    ] {
        assert!(matches!(refusal(line), LineRefused::Python { .. }), "{line}");
    }
    assert!(matches!(refusal("uv run --with a --with b c"), LineRefused::Several { .. }));
    assert!(matches!(refusal("uvx --from a --from b c"), LineRefused::Several { .. }));
    assert!(matches!(refusal("uvx --from a ../b"), LineRefused::ProgramName { .. }));
    assert!(matches!(refusal("uvx 'a;b'"), LineRefused::Package(_)));
}

#[test]
fn reads_a_module_and_says_what_it_took_it_for() {
    reads(&[
        ("python -m mcp_server_time --x", "pypi:mcp-server-time (-m mcp_server_time) | --x"),
        ("python3 -u -m a", "pypi:a (-m a)"),
        ("python3.11 -Im a", "pypi:a (-m a) on 3.11"),
        ("/usr/bin/python3 -m a", "pypi:a (-m a)"),
    ]);
    assert!(launch("python -m a_b").notes[0].to_string().contains("package a-b"));
    refuses_flags(&[
        ("python -c x", "-c"),
        ("python -ic x", "-i"),
        ("python -X dev -m a", "-X"),
        ("python -O -m a", "-O"),
        ("python --new -m a", "--new"),
    ]);
    refuses_sources(&[
        "python server.py",
        "python -u /srv/x/server.py",
        "python -m a.b",
        "python -m -x",
        "python -m a-b",
    ]);
    for line in ["python", "python -", "python3 -u"] {
        assert!(matches!(refusal(line), LineRefused::Program { .. }), "{line}");
    }
    assert!(matches!(refusal("python -m"), LineRefused::Incomplete { .. }));
}

#[test]
fn reads_a_file_of_a_package_on_this_disk() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("dist/deep")).unwrap();
    fs::create_dir_all(at("node_modules/b")).unwrap();
    for file in ["package.json", "index.js", "dist/deep/index.mjs", "index.ts", "node_modules/b/x.js"] {
        fs::write(at(file), "{}").unwrap();
    }
    let root = dir.path().display().to_string();
    for (line, expected) in [
        (format!("node {root}/index.js --x"), format!("path:{root} (file index.js) | --x")),
        (
            format!("node --no-warnings '{root}/dist/deep/index.mjs'"),
            format!("path:{root} (file dist/deep/index.mjs)"),
        ),
        (format!("node -- {root}/index.js -r x"), format!("path:{root} (file index.js) | -r x")),
        (format!("/usr/local/bin/node {root}/index.js"), format!("path:{root} (file index.js)")),
        (format!("node --max-old-space-size=4096 {root}/index.js"), format!("path:{root} (file index.js)")),
    ] {
        assert_eq!(told(&launch(&line)), expected, "{line}");
    }
    for (file, why) in [
        ("gone.js", "No such file"),
        ("dist", "folder"),
        ("index.ts", "TypeScript"),
        ("node_modules/b/x.js", "installed"),
    ] {
        let refused = refusal(&format!("node {root}/{file}"));
        assert!(matches!(refused, LineRefused::File { .. }), "{file}: {refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let alone = tempfile::tempdir().unwrap();
    fs::write(alone.path().join("x.js"), "").unwrap();
    let refused = refusal(&format!("node {}/x.js", alone.path().display()));
    assert!(refused.to_string().contains("package.json"), "{refused}");
}

#[test]
fn refuses_nodes_flags_that_load_code_or_open_it() {
    refuses_flags(&[
        ("node -r ./x y.js", "-r"),
        ("node --require=x y.js", "--require"),
        ("node --import x y.js", "--import"),
        ("node --loader x y.js", "--loader"),
        ("node -e 1", "-e"),
        ("node --inspect y.js", "--inspect"),
        ("node --inspect=0.0.0.0 y.js", "--inspect"),
        ("node --env-file=.env y.js", "--env-file"),
        ("node --new y.js", "--new"),
    ]);
    for line in ["node", "node -", "node --"] {
        assert!(matches!(refusal(line), LineRefused::Incomplete { .. }), "{line}");
    }
}

#[test]
fn an_image_is_named_and_its_flags_are_put_in_our_words() {
    let refused = refusal("docker run -i --rm mcp/server --x");
    assert_eq!(refused, LineRefused::Image { image: Shown::new("mcp/server"), here: Vec::new() });
    let failure = Failure::from(refused);
    assert!(failure.hint().to_string().contains("npm:NAME"), "{failure}");

    let line = "docker run -it --name x -e API_KEY=secret --env=B -v /srv:/srv:ro --network host --privileged -- mcp/server";
    let failure = Failure::from(refusal(line));
    let hint = failure.hint().to_string();
    for said in [
        "-e API_KEY, -e B: it is `--env NAME` here",
        "-v: a folder is given by `--mount PATH`",
        "--network: ",
        "--privileged: ",
    ] {
        assert!(hint.contains(said), "{said}: {hint}");
    }
    assert!(!hint.contains("secret"), "{hint}");
    assert!(failure.what().to_string().contains("mcp/server"));

    assert!(matches!(refusal("podman run x"), LineRefused::Image { .. }));
    assert!(matches!(refusal("docker container run x"), LineRefused::Image { .. }));
    for line in ["docker exec -i x y", "docker compose up", "docker", "docker mcp gateway run"] {
        assert!(matches!(refusal(line), LineRefused::Program { .. }), "{line}");
    }
    assert!(matches!(refusal("docker run -i --rm"), LineRefused::Incomplete { .. }));
    refuses_flags(&[("docker run --new x mcp/server", "--new")]);
}

#[test]
fn reads_what_stands_before_the_program() {
    reads(&[
        ("env A=1 B='x y' npx -y a", "npm:a@latest A=1 B=x y"),
        ("A=1 uvx a", "pypi:a (a) A=1"),
        ("cmd /c npx -y a", "npm:a@latest"),
        ("cmd.exe /D /C npx.cmd a", "npm:a@latest"),
        ("/usr/local/bin/npx -y a", "npm:a@latest"),
        ("C:/Programs/uvx.exe a", "pypi:a (a)"),
    ]);
    assert!(launch("cmd /c npx a").notes[0].to_string().contains("cmd /c"));
    assert!(launch("/opt/bin/npx a").notes[0].to_string().contains("/opt/bin/npx"));
    assert!(launch("npx a ~/notes").notes.is_empty(), "told where it is known what it leads to");
    refuses_flags(&[("env -i npx a", "-i"), ("env -S 'npx a'", "-S"), ("env -u X npx a", "-u")]);
    for line in [
        "./npx a",
        "bin/uvx a",
        "/srv/server --x",
        "bash -c 'npx a'",
        "sudo npx a",
        "deno run x",
        "cmd /k x",
        "cmd npx a",
        "my server",
    ] {
        assert!(matches!(refusal(line), LineRefused::Program { .. }), "{line}");
    }
    assert!(matches!(refusal("env A=1"), LineRefused::Incomplete { .. }));
}

#[test]
fn refuses_what_only_a_shell_would_do() {
    for line in [
        "npx a && b",
        "npx a | b",
        "npx -y $PKG",
        "uvx `id`",
        "npx a $HOME",
        "npx a > x",
        "npx 'a",
        "npx a\nb",
    ] {
        let refused = refusal(line);
        assert!(matches!(refused, LineRefused::Words(_)), "{line}: {refused}");
        assert_eq!(Failure::from(refused).code(), Code::LaunchRefused);
    }
    assert!(matches!(refusal(&format!("npx {}", "a ".repeat(20_000))), LineRefused::TooLong));
}

#[test]
fn words_that_come_apart_are_meant_as_they_are() {
    let words = ["npx", "-y", "a", "$HOME", "x | y"].map(str::to_owned);
    let launch = Launch::of_words(&words).unwrap();
    assert_eq!(told(&launch), "npm:a@latest | $HOME x | y");
    assert!(launch.notes.is_empty());
}

#[test]
fn a_spec_is_a_launch_with_nothing_else() {
    for spec in ["npm:a@1.2.3", "pypi:a[x]>=1", "path:./my folder/x.tgz"] {
        assert_eq!(launch(spec), Launch::from(spec.parse::<Spec>().unwrap()));
    }
    for (text, is_a_line) in
        [("npx", true), ("filesystem", false), ("npx a", true), ("npm:a b", false), ("", false)]
    {
        assert_eq!(is_line(text), is_a_line, "{text}");
    }
}

/// The lines of real users' configurations, and what each is read as. Source of the lines: LiveMCPBench (Apache-2.0).
#[test]
fn reads_every_line_of_the_corpus_or_refuses_it_with_advice() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/launch_lines.json");
    let corpus: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut table = String::new();
    for server in corpus["mcpServers"].as_object().unwrap().values() {
        let arguments = server["args"].as_array().unwrap().iter();
        let words: Vec<String> = std::iter::once(&server["command"])
            .chain(arguments)
            .map(|word| word.as_str().unwrap().to_owned())
            .collect();
        let line = words.join(" ");
        let read = match Launch::of_words(&words) {
            Ok(launch) => {
                assert_eq!(Launch::parse(&line), Ok(launch.clone()), "{line}");
                told(&launch)
            }
            Err(error) => {
                let failure = Failure::from(error);
                format!("{}: {} -- {}", failure.what(), failure.why(), failure.hint())
            }
        };
        table.push_str(&format!("{line}\n    {read}\n"));
    }
    insta::assert_snapshot!(table);
}

fn runners() -> impl Iterator<Item = Runner> {
    [npm::RUNNERS, python::RUNNERS, node::RUNNERS, engine::RUNNERS].into_iter().flatten().copied()
}

#[test]
fn every_row_of_every_table_is_sound() {
    for runner in runners() {
        for table in runner.tables {
            let mut seen = BTreeSet::new();
            for name in table.iter().flat_map(|flag| flag.names) {
                assert!(name.starts_with('-') && name.len() > 1, "{}: {name}", runner.name);
                assert!(seen.insert(*name), "{}: {name} has two rows", runner.name);
            }
        }
        for flag in runner.flags() {
            assert!(!flag.why.is_empty() && !flag.names.is_empty());
            let sentence = |text: &str| !text.is_empty() && !text.ends_with('.');
            assert!(sentence(flag.why), "{}: {:?}", runner.name, flag.names);
            if let Then::Refused(said) | Then::Noted(said) | Then::Told(said) = flag.then {
                assert!(sentence(said), "{}: {:?}", runner.name, flag.names);
            }
        }
    }
}

#[test]
fn every_refused_flag_is_refused_by_its_name_wherever_it_stands_before_the_package() {
    let lines = [
        ("npx", "npx -y", "a"),
        ("npm exec", "npm exec", "a"),
        ("bunx", "bunx", "a"),
        ("pnpm dlx", "pnpm dlx", "a"),
        ("yarn dlx", "yarn dlx", "a"),
        ("uvx", "uvx -q", "a"),
        ("uv run", "uv run --with a", "a"),
        ("pipx run", "pipx run", "a"),
        ("python", "python", "-m a"),
        ("node", "node", "/x.js"),
    ];
    let mut refused_flags = 0;
    for (name, before, after) in lines {
        let runner = runners().find(|runner| runner.name == name).unwrap();
        for flag in runner.flags().filter(|flag| matches!(flag.then, Then::Refused(_))) {
            for flag in flag.names {
                // A table that comes first may have another row for the name.
                if !matches!(
                    runner.flags().find(|row| row.names.contains(flag)).unwrap().then,
                    Then::Refused(_)
                ) {
                    continue;
                }
                // A short flag's value follows it at once, if at all.
                let long = flag.starts_with("--").then(|| format!("{before} {flag}=x {after}"));
                for line in std::iter::once(format!("{before} {flag} {after}")).chain(long) {
                    match refusal(&line) {
                        LineRefused::Flag { flag: named, .. } => {
                            assert_eq!(named.to_string(), *flag, "{line}")
                        }
                        other => panic!("{line}: {other}"),
                    }
                }
                refused_flags += 1;
            }
        }
    }
    assert!(refused_flags > 100, "{refused_flags}");
}

#[test]
fn what_is_left_out_leaves_the_launch_as_it_is() {
    for (name, before, after) in [
        ("npx", "npx", "a --x"),
        ("bunx", "bunx", "a --x"),
        ("uvx", "uvx", "a --x"),
        ("pipx run", "pipx run", "a --x"),
    ] {
        let plain = told(&launch(&format!("{before} {after}")));
        let runner = runners().find(|runner| runner.name == name).unwrap();
        for flag in runner.flags().filter(|flag| matches!(flag.then, Then::LeftOut | Then::Noted(_))) {
            let value = if flag.takes == flags::Takes::Value { " x" } else { "" };
            for name in flag.names {
                let line = format!("{before} {name}{value} {after}");
                assert_eq!(told(&launch(&line)), plain, "{line}");
            }
        }
        assert!(runner.flags().any(|flag| matches!(flag.then, Then::Means(Meaning::Package))));
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}") {
        let _ = Launch::parse(&text);
    }

    #[test]
    fn no_line_makes_it_panic_and_arguments_stay_as_they_are(
        program in "(env |cmd /c )?(npx|npm exec|npm|bunx|pnpm dlx|yarn dlx|uvx|uv tool run|uv run|uv|pipx run|node|python -m|docker run)",
        flags in "( (-y|-p|--package|--with|--from|--python|-|--|-m|a|a==1|=|-qn|--x=y|@s/a|'b c')){0,6}",
        argument in "[a-z*?&:/.=-]{0,12}",
    ) {
        let line = format!("{program}{flags} '{argument}'");
        if let Ok(launch) = Launch::parse(&line) {
            prop_assert!(launch.arguments.last().is_none_or(|last| *last == argument));
        }
    }
}

/// The tables as a person reads them, a section a table, headed by the runners that it is for.
fn reference() -> String {
    let mut tables: Vec<(&[flags::Flag], Vec<String>)> = Vec::new();
    for runner in runners() {
        for table in runner.tables {
            let name = format!("`{}`", runner.name);
            match tables.iter_mut().find(|(known, _)| known[0].names == table[0].names) {
                Some((_, names)) => names.push(name),
                None => tables.push((table, vec![name])),
            }
        }
    }
    let mut page = String::new();
    for (table, names) in tables {
        page.push_str(&format!(
            "### {}\n\n| flags | what it does there | here |\n|---|---|---|\n",
            names.join(", ")
        ));
        for flag in table {
            let names: Vec<String> = flag.names.iter().map(|name| format!("`{name}`")).collect();
            let here = match flag.then {
                Then::LeftOut => "left out".to_owned(),
                Then::Noted(note) => format!("left out, and said: {note}"),
                Then::Means(_) => "followed".to_owned(),
                Then::Refused(instead) => format!("**refused**: {instead}"),
                Then::Told(here) => here.to_owned(),
            };
            page.push_str(&format!("| {} | {} | {here} |\n", names.join(" "), flag.why));
        }
        page.push('\n');
    }
    page
}

#[test]
fn the_page_about_launch_lines_lists_every_flag() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/launch-lines.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, written) = page.split_once("## Every flag\n\n").unwrap();
    assert_eq!(written.trim_end(), reference().trim_end());
}
