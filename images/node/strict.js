// A file that cannot be written is an error.
//
// npm's unpacker takes it for a warning: on a full disk it leaves files out or cut short, goes on with the next, and
// may end well with half a package laid down. Loaded into npm, this listens to what npm logs (the events of its
// `proc-log`, whatever the log level) and turns that one warning into a failure.
"use strict";

const fs = require("node:fs");

const TOLD = 10;
const errors = [];

process.on("log", (level, prefix, code, what) => {
  if (level !== "warn" || prefix !== "tar" || code !== "TAR_ENTRY_ERROR") return;
  // not before the first: npm sets the exit status in a listener of its own, and this one has to come after it
  if (errors.length === 0) process.on("exit", fail);
  if (errors.length < TOLD) errors.push(String(what?.message ?? what).split("\n")[0]);
});

function fail() {
  for (const error of errors) fs.writeSync(2, `npm error unpacking: ${error}\n`);
  process.exitCode = 1;
}
