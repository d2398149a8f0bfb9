//! Compiles init statically and puts it where `src/cage/init_binary.rs` includes it from.
//!
//! A cargo within cargo: with a target directory of its own (the outer one is locked while this runs), shared by
//! all profiles so that init is compiled once, and without what the outer cargo, clippy or a user's flags put
//! into the environment, so that the same source gives the same init.

#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target = env::var("TARGET")?;
    if !target.contains("-linux-") {
        return Err(format!("cages run Linux, and there is no init for {target} yet").into());
    }
    for path in ["images/init/src", "images/init/Cargo.toml", "Cargo.lock", "Cargo.toml", "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }

    let own_target = init_target(&out)?;
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("CARGO is not set")?);
    cargo.current_dir(&root);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(steers_cargo) {
            cargo.env_remove(name);
        }
    }
    // glibc's static library needs no other file at run time as long as nothing looks up users or hosts, and
    // init does neither.
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "init",
        "-p",
        "pinfold-init",
        "--bin",
        "pinfold-init",
    ]);
    cargo.args(["--target", &target]).arg("--target-dir").arg(&own_target);
    let status = cargo.status()?;
    if !status.success() {
        return Err(format!("init did not compile: {status}").into());
    }
    let built = own_target.join(&target).join("init").join("pinfold-init");
    std::fs::copy(&built, out.join("pinfold-init"))?;
    Ok(())
}

/// `TARGET_DIR/init`, from `TARGET_DIR[/TRIPLE]/PROFILE/build/pinfold-HASH/out`.
fn init_target(out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut dir = out.ancestors().nth(4).ok_or("OUT_DIR is too short")?;
    if !dir.join("CACHEDIR.TAG").exists() {
        dir = dir.parent().ok_or("OUT_DIR is too short")?;
    }
    Ok(dir.join("init"))
}

/// Does this variable change what a cargo compiles?
fn steers_cargo(name: &str) -> bool {
    let kept =
        ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
    let steers = ["CARGO", "RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC", "CLIPPY_", "PROFILE", "OPT_LEVEL", "DEBUG"];
    let starts_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    starts_with(&steers) && !starts_with(&kept) && !name.ends_with("_LINKER")
}
