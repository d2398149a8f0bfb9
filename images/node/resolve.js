// Which packages, to the byte, would npm install here?
//
// npm's own resolver, asked for the tree without its last step: `npm install --package-lock-only` wants a complete
// tree, and so downloads and unpacks the archive of every package that bundles others or brings a lock of its own.
// Before a consent only metadata is read. What such an archive holds besides is covered by the archive's hash, and
// looked at when it is laid down.
//
// Reads `resolve.json` beside itself: {"path", "registries", "cache"}. Writes `package-lock.json` into the path.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const NPM = "/usr/local/lib/node_modules/npm";
const Arborist = require(`${NPM}/node_modules/@npmcli/arborist`);
const npmVersion = require(`${NPM}/package.json`).version;

async function resolve() {
  const asked = JSON.parse(fs.readFileSync(path.join(__dirname, "resolve.json"), "utf8"));
  const arborist = new Arborist({
    ...asked.registries,
    path: asked.path,
    cache: asked.cache,
    // npm's defaults, written out: no configuration file is read here
    installStrategy: "hoisted",
    legacyPeerDeps: false,
    strictPeerDeps: false,
    preferDedupe: false,
    installLinks: false,
    engineStrict: false,
    force: false,
    omit: [],
    packageLock: true,
    save: true,
    defaultTag: "latest",
    npmVersion,
    nodeVersion: process.version,
    userAgent: `npm/${npmVersion} node/${process.version} ${process.platform} ${process.arch} workspaces/false`,
    npmCommand: "install",
    maxSockets: 15,
    strictSSL: true,
    // ours
    timeout: 60_000,
    retry: { retries: 1, factor: 10, minTimeout: 2_000, maxTimeout: 60_000 },
    ignoreScripts: true,
    lockfileVersion: 3,
    omitLockfileRegistryResolved: true,
    packageLockOnly: true,
    // the metadata of these is inside what they name: it cannot be read without a download
    allowGit: "none",
    allowRemote: "none",
    allowDirectory: "none",
    allowFile: "root",
  });
  const tree = await arborist.buildIdealTree({ complete: false });
  fs.writeFileSync(path.join(asked.path, "package-lock.json"), tree.meta.toString());
}

// As npm itself words it, for whoever knows npm.
function words(error) {
  const lines = [`code ${error.code || error.name}`, ...String(error.message).split("\n")];
  if (error.code === "ERESOLVE") {
    const plain = new Proxy((text) => text, { get: () => plain });
    try {
      const { report } = require(`${NPM}/lib/utils/explain-eresolve.js`);
      const [explanation] = report(error, plain, plain).explanation.split("\n\nFix the upstream");
      lines.push(...explanation.split("\n"));
    } catch {
      // the message alone, then
    }
  }
  if (error.package) lines.push(`wanted: ${error.package}`);
  return lines.filter((line) => line.trim()).map((line) => `npm error ${line}\n`).join("");
}

resolve().catch((error) => {
  process.stderr.write(words(error));
  process.exitCode = 1;
});
