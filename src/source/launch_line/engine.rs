//! What does `docker run IMAGE` ask for?
//!
//! A container image, which is not carried yet. The line is read as far as the image's name all the same, so that
//! the answer can say what it is and how each of its flags is put here. Source: the Docker documentation,
//! "docker container run".

use super::LineRefused;
use super::flags::{Flag, Line, Meaning, Next, Runner, Takes, left_out, means, told};
use crate::text::Shown;
use Takes::{Attached, Nothing, Value};

#[rustfmt::skip]
const RUN: &[Flag] = &[
    left_out(&["-i", "--interactive", "-t", "--tty", "--rm", "--init", "-d", "--detach", "--sig-proxy", "--no-healthcheck", "-q", "--quiet"],
        Attached, "how a container is attached and ends"),
    left_out(&["--name", "--pull", "-l", "--label", "--restart", "--log-driver", "--log-opt", "--stop-timeout", "--stop-signal", "--cidfile",
        "--hostname", "-h", "--annotation", "--detach-keys", "-a", "--attach", "--label-file"], Value, "how a container is kept and called"),
    left_out(&["--platform"], Value, "for which machine the image is"),
    means(&["-e", "--env"], Meaning::Variable, "a variable of the server's"),
    told(&["--env-file"], Value, "it reads a file of variables", "give each variable by `--env NAME` or `--env NAME=VALUE`"),
    told(&["-v", "--volume", "--mount", "--volumes-from", "--volume-driver"], Value, "it hands over a folder of this machine", "a folder is given by `--mount PATH`"),
    told(&["--tmpfs", "--shm-size", "--storage-opt"], Value, "it gives room to write", "a cage has a `/tmp` of its own"),
    told(&["--network", "--net", "--network-alias", "--net-alias", "--link", "--ip", "--ip6", "--mac-address"], Value, "it opens a network",
        "hosts are opened by name: `--egress HOST`"),
    told(&["--add-host", "--dns", "--dns-search", "--dns-opt", "--dns-option"], Value, "it changes what names mean", "there is no such option: names are looked up on this machine"),
    told(&["-p", "--publish", "--expose"], Value, "it opens a port to others", "a server is reached by its standard input and output alone"),
    told(&["-P", "--publish-all"], Nothing, "it opens ports to others", "a server is reached by its standard input and output alone"),
    told(&["--privileged", "--oom-kill-disable", "--use-api-socket"], Attached, "it takes the walls away", "there is no such option"),
    told(&["--read-only"], Attached, "the root file system is read-only", "a cage's is anyway"),
    told(&["--cap-add", "--security-opt", "--device", "--device-cgroup-rule", "--device-read-bps", "--device-write-bps", "--gpus", "--pid", "--ipc",
        "--uts", "--userns", "--cgroupns", "--cgroup-parent", "--sysctl", "--group-add", "--isolation", "--ulimit", "--oom-score-adj"], Value,
        "it takes a wall away", "there is no such option"),
    told(&["--runtime"], Value, "it chooses a runtime of the engine's", "it is `--runtime` here, and part of the plan"),
    told(&["--cap-drop"], Value, "it takes privileges away", "a cage has none"),
    told(&["-u", "--user"], Value, "it chooses a user", "a cage has one of its own, never root"),
    told(&["-w", "--workdir"], Value, "it chooses a folder to start in", "there is no such option yet"),
    told(&["--entrypoint"], Value, "it starts another program", "a package's program is chosen by `--bin`"),
    told(&["-m", "--memory", "--memory-swap", "--memory-reservation", "--memory-swappiness", "--kernel-memory"], Value, "memory", "it is `--memory` here"),
    told(&["--cpus", "-c", "--cpu-shares", "--cpuset-cpus", "--cpuset-mems", "--cpu-period", "--cpu-quota"], Value, "processors", "it is `--cpus` here"),
    told(&["--pids-limit"], Value, "processes", "it is `--pids` here"),
];

const DOCKER: Runner = Runner { name: "docker run", tables: &[RUN], clusters: true };

#[cfg(test)]
pub(super) const RUNNERS: &[Runner] = &[DOCKER];

/// Why such a line is not launched, with as much as can be said of it.
pub(super) fn run(program: &str, line: &mut Line<'_>) -> LineRefused {
    image(program, line).unwrap_or_else(|refused| refused)
}

fn image(program: &str, line: &mut Line<'_>) -> Result<LineRefused, LineRefused> {
    let no_run = |words: &str| LineRefused::Program {
        program: Shown::new(words),
        why: "it runs no image that the line names",
        instead: "look for the server's own package: `npm:NAME` or `pypi:NAME`",
    };
    let mut words = program.to_owned();
    loop {
        let Some(word) = line.word() else { return Ok(no_run(&words)) };
        words.push_str(&format!(" {}", word.text));
        match word.text.as_str() {
            "run" => break,
            "container" | "image" => {}
            _ => return Ok(no_run(&words)),
        }
    }
    let mut variables = Vec::new();
    let image = loop {
        match line.next(&DOCKER)? {
            Next::Means(_, value) => variables.push(value),
            Next::Word(word) => break word.text.clone(),
            Next::Dashes => {}
            Next::End => {
                let wanted = Shown::new("an image");
                return Ok(LineRefused::Incomplete { runner: DOCKER.name, wanted });
            }
        }
    };
    let mut here: Vec<(Shown, &'static str)> = Vec::new();
    let names: Vec<&str> = variables.iter().filter_map(|one| one.split('=').next()).collect();
    if !names.is_empty() {
        // Names alone: a value may be a credential, and an error is no place for one.
        here.push((Shown::new(&format!("-e {}", names.join(", -e "))), "it is `--env NAME` here"));
    }
    for (flag, said) in line.told.drain(..) {
        if !here.iter().any(|(known, _)| *known == flag) {
            here.push((flag, said));
        }
    }
    Ok(LineRefused::Image { image: Shown::new(&image), here })
}
