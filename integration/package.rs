//! What packages do the tests mount?
//!
//! The probe from `integration/servers/probe`, in a copy of its own with its program compiled into it; and packages as
//! small as can be. Every copy has a version no other has, and so a tree digest of its own: tests do not share images
//! by accident.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Where the servers of these tests are.
const SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/integration/servers");

/// A package on this disk, gone at its end.
pub struct Package {
    directory: TempDir,
}

/// Where all packages are. A package that lives as long as this program is not dropped at its end.
static ALL: LazyLock<TempDir> =
    LazyLock::new(|| tempfile::Builder::new().prefix("pinfold-packages-").tempdir().unwrap());

/// Removes every package there was.
pub fn clean_up() {
    let _ = fs::remove_dir_all(ALL.path());
}

/// The probe's own program. Static, so that it needs nothing of the image it runs in.
static NATIVE: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("probe-native");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args([
        "--edition",
        "2024",
        "-C",
        "target-feature=+crt-static",
        "-C",
        "panic=abort",
        "-C",
        "strip=symbols",
    ]);
    rustc.args(["-O", "-o"]).arg(&program).arg(format!("{SERVERS}/probe/native.rs"));
    let compiled = rustc.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
});

impl Package {
    /// The probe.
    pub fn probe() -> Self {
        let manifest = fs::read(format!("{SERVERS}/probe/package.json")).unwrap();
        let package = Self::new(serde_json::from_slice(&manifest).unwrap());
        for file in ["server.js", "tools.js"] {
            fs::copy(format!("{SERVERS}/probe/{file}"), package.path().join(file)).unwrap();
        }
        fs::copy(&*NATIVE, package.path().join("native")).unwrap();
        package
    }

    /// A package of this manifest and nothing else. It gets a version of its own.
    pub fn new(mut manifest: Value) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        manifest["version"] = format!("1.0.0-t{}.{number}", std::process::id()).into();
        let directory = tempfile::Builder::new().prefix("package-").tempdir_in(ALL.path()).unwrap();
        fs::write(directory.path().join("package.json"), manifest.to_string()).unwrap();
        Self { directory }
    }

    /// The least that is a server: it answers every opener of the handshake era and offers one tool.
    pub fn least(name: &str) -> Self {
        let package = Self::new(json!({"name": name, "bin": "server.js"}));
        package.write("server.js", LEAST)
    }

    /// Changes its manifest.
    pub fn manifest(self, change: impl FnOnce(&mut Value)) -> Self {
        let file = self.path().join("package.json");
        let mut manifest = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        change(&mut manifest);
        fs::write(&file, manifest.to_string()).unwrap();
        self
    }

    /// Packs it as npm would; how a user names the tarball, which is gone with the package.
    pub fn tarball(&self) -> String {
        let mut tar = tar::Builder::new(Vec::new());
        for file in ["package.json", "server.js"] {
            tar.append_path_with_name(self.path().join(file), format!("package/{file}")).unwrap();
        }
        let packed = tar.into_inner().unwrap();
        let path = self.path().join("packed.tgz");
        let mut gzip =
            flate2::write::GzEncoder::new(fs::File::create(&path).unwrap(), flate2::Compression::fast());
        gzip.write_all(&packed).unwrap();
        gzip.finish().unwrap();
        format!("path:{}", path.display())
    }

    /// Adds a file.
    pub fn write(self, name: &str, contents: &str) -> Self {
        fs::write(self.path().join(name), contents).unwrap();
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How a user names it.
    pub fn spec(&self) -> String {
        format!("path:{}", self.path().display())
    }
}

const LEAST: &str = r#"#!/usr/bin/env node
"use strict";
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "least", version: "1" },
    }),
    "tools/list": () => ({ tools: [{ name: "hello", description: "Says hello", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: "hello" }] }),
  };
  const answer = results[method];
  const rest = answer ? { result: answer() } : { error: { code: -32601, message: "no such method" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`);
});
"#;
