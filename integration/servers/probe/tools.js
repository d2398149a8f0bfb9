// What the probe can be asked to do. Whatever needs system calls is in the program `native`, beside this file.

"use strict";

const dns = require("node:dns");
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { execFile, spawn } = require("node:child_process");

const NATIVE = path.join(__dirname, "native");
const NONE = { type: "object", properties: {} };
const schema = (properties) => ({ type: "object", properties });

/** Runs `native` to its end; how it ended, and what it said. */
function native(...words) {
  return new Promise((done) => {
    const options = { maxBuffer: 64 << 20 };
    execFile(NATIVE, words, options, (error, stdout, stderr) => {
      done({ code: error?.code ?? 0, signal: error?.signal ?? null, stdout, stderr });
    });
  });
}

/** What came of a promise, as data. */
async function outcome(promise) {
  try {
    return { ok: await promise };
  } catch (error) {
    return { error: error.cause?.code ?? error.code ?? String(error) };
  }
}

/** A TCP connection: the first bytes that arrive after `say`, or what went wrong. */
function connect(host, port, say) {
  return new Promise((done) => {
    const socket = net.connect({ host, port, timeout: 3000 });
    socket.on("connect", () => (say ? socket.write(say) : (socket.destroy(), done({ ok: "connected" }))));
    socket.on("data", (data) => (socket.destroy(), done({ ok: data.toString() })));
    socket.on("end", () => done({ error: "ended" }));
    socket.on("timeout", () => (socket.destroy(), done({ error: "timeout" })));
    socket.on("error", (error) => done({ error: error.code ?? String(error) }));
  });
}

async function report() {
  const said = await native("report");
  if (said.code !== 0) throw new Error(`native ended with ${JSON.stringify(said)}`);
  const seen = JSON.parse(said.stdout);
  seen.node = {
    version: process.version,
    // without netlink Node cannot list them, and says so
    interfaces: await outcome((async () => Object.keys(os.networkInterfaces()))()),
    home: os.homedir(),
    user: os.userInfo().username,
    argv: process.argv,
    cwd: process.cwd(),
    stdio: [0, 1, 2].map((fd) => fs.readlinkSync(`/proc/self/fd/${fd}`)),
    environment: Object.keys(process.env).sort(),
  };
  return seen;
}

async function resolve({ name }) {
  const { lookup, resolve4, resolve6 } = dns.promises;
  return {
    lookup: await outcome(lookup(name)),
    resolve4: await outcome(resolve4(name)),
    resolve6: await outcome(resolve6(name)),
    // glibc answers this with nothing where only `lo` exists, unless it cannot see that
    family4: await outcome(lookup(name, { family: 4, hints: dns.ADDRCONFIG })),
  };
}

/** Writes files into a directory until it is full; how many bytes fitted. */
function fill({ directory }) {
  const piece = Buffer.alloc(1 << 20);
  const file = fs.openSync(path.join(directory, "full"), "w");
  let bytes = 0;
  try {
    while (bytes < 1 << 30) bytes += fs.writeSync(file, piece);
    return { bytes, stopped: null };
  } catch (error) {
    return { bytes, stopped: error.code };
  } finally {
    fs.closeSync(file);
    fs.unlinkSync(path.join(directory, "full"));
  }
}

/** Opens files until no more can be; how many there were. */
function files() {
  const open = [];
  try {
    for (;;) open.push(fs.openSync("/proc/self/status", "r"));
  } catch (error) {
    return { open: open.length, stopped: error.code };
  } finally {
    for (const file of open) fs.closeSync(file);
  }
}

/** One thing done to a file or folder; what came of it, or what went wrong. */
function disk({ what, path: file, to, text }) {
  const { promises: files } = fs;
  const things = {
    read: () => files.readFile(file, "utf8"),
    list: async () => (await files.readdir(file)).sort(),
    stat: async () => {
      const { uid, gid, mode } = await files.stat(file);
      return { uid, gid, mode: (mode & 0o7777).toString(8) };
    },
    write: () => files.writeFile(file, text),
    append: () => files.appendFile(file, text),
    mkdir: () => files.mkdir(file),
    rename: () => files.rename(file, to),
    remove: () => files.rm(file, { recursive: true }),
    link: () => files.link(file, to),
    symlink: () => files.symlink(to, file),
    chmod: () => files.chmod(file, 0o777),
    "set-id": () => files.chmod(file, 0o4755),
    "set-group-id": () => files.open(file, "r+").then((open) => open.chmod(0o2755).finally(() => open.close())),
    "write set-id": () => files.writeFile(file, text, { mode: 0o4755 }),
    close: () => files.chmod(file, 0),
    truncate: () => files.truncate(file, 0),
  };
  return outcome(things[what]().then((value) => value ?? "done"));
}

/** Runs git; how it ended, and what it said. */
function git({ words, directory }) {
  return new Promise((done) => {
    const env = { ...process.env, GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
    execFile("git", words, { cwd: directory, env }, (error, stdout, stderr) => {
      done({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

/** Whether a socket that is a file can be connected to, or made. */
function socketFile({ path: file, make }) {
  return new Promise((done) => {
    const end = (error) => done(error ? { error: error.code } : { ok: "open" });
    if (make) {
      const server = net.createServer().on("error", end);
      server.listen(file, () => (server.close(), end()));
    } else {
      const socket = net.connect({ path: file });
      socket.on("error", end).on("connect", () => (socket.destroy(), end()));
    }
  });
}

exports.tools = [
  {
    name: "report",
    description: "What this server sees from inside: ids, capabilities, files, sockets, system calls",
    inputSchema: NONE,
    run: report,
  },
  {
    name: "echo",
    description: "Says it back",
    inputSchema: schema({ text: { type: "string", description: "What to say" } }),
    run: ({ text }) => `echo: ${text}`,
  },
  {
    name: "env",
    description: "Names of environment variables, and the value of the one that is asked for",
    inputSchema: schema({ name: { type: "string" } }),
    run: ({ name }) => ({ names: Object.keys(process.env).sort(), value: process.env[name] ?? null }),
  },
  {
    name: "argv",
    description: "The arguments of this process",
    inputSchema: NONE,
    run: () => process.argv.slice(2),
  },
  {
    name: "exit",
    description: "Ends this server with an exit code, without an answer",
    inputSchema: schema({ code: { type: "integer" } }),
    run: ({ code }) => process.exit(code ?? 0),
  },
  {
    name: "abort",
    description: "Ends this server by a signal, without an answer",
    inputSchema: NONE,
    run: () => process.abort(),
  },
  {
    name: "wait",
    description: "Answers after so many milliseconds",
    inputSchema: schema({ ms: { type: "integer" } }),
    run: ({ ms }) => new Promise((done) => setTimeout(() => done("waited"), ms)),
  },
  {
    name: "hang",
    description: "From now on neither the end of the input nor SIGTERM ends this server",
    inputSchema: NONE,
    run: () => {
      process.on("SIGTERM", () => {});
      setInterval(() => {}, 1000);
      return "hanging";
    },
  },
  {
    name: "spawn",
    description: "Leaves orphans behind that ignore every signal they can, and hold the output open",
    inputSchema: schema({ count: { type: "integer" } }),
    run: ({ count }) => {
      for (let n = 0; n < count; n += 1) {
        spawn(NATIVE, ["orphan"], { detached: true, stdio: "inherit" }).unref();
      }
      return "spawned";
    },
  },
  {
    name: "daemon",
    description: "Leaves a daemon behind that forked twice, ignores every signal it can, and holds the output open",
    inputSchema: NONE,
    run: () =>
      new Promise((done) => {
        spawn(NATIVE, ["daemon"], { stdio: "inherit" }).on("exit", () => done("left one"));
      }),
  },
  {
    name: "noise",
    description: "Writes lines that are no messages to standard output",
    inputSchema: schema({ text: { type: "string" } }),
    run: ({ text }) => {
      process.stdout.write(`${text}\n`);
      return "made noise";
    },
  },
  {
    name: "say",
    description: "Writes a line to standard error",
    inputSchema: schema({ text: { type: "string" } }),
    run: ({ text }) => {
      process.stderr.write(`${text}\n`);
      return "said";
    },
  },
  {
    name: "big",
    description: "A result of so many characters",
    inputSchema: schema({ bytes: { type: "integer" } }),
    run: ({ bytes }) => "x".repeat(bytes),
  },
  {
    name: "resolve",
    description: "Looks a name up in every way that Node has",
    inputSchema: schema({ name: { type: "string" } }),
    run: resolve,
  },
  {
    name: "fetch",
    description: "Gets a URL; the status, or what went wrong",
    inputSchema: schema({ url: { type: "string" } }),
    run: ({ url }) =>
      outcome(fetch(url, { redirect: "manual", signal: AbortSignal.timeout(10_000) }).then((seen) => seen.status)),
  },
  {
    name: "place",
    description: "The time zone and language it lives in; the offset of the first of January, in minutes west",
    inputSchema: NONE,
    run: () => {
      const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
      return { zone: timeZone, locale, offset: new Date(2026, 0, 1).getTimezoneOffset() };
    },
  },
  {
    name: "connect",
    description: "Opens a TCP connection",
    inputSchema: schema({ host: { type: "string" }, port: { type: "integer" }, say: { type: "string" } }),
    run: ({ host, port, say }) => connect(host, port, say),
  },
  {
    name: "hog",
    description: "Has a child use so many MiB of memory",
    inputSchema: schema({ mib: { type: "integer" } }),
    run: ({ mib }) => native("hog", String(mib)),
  },
  {
    name: "fork",
    description: "Forks until no more can be, then ends them all; how many there were",
    inputSchema: NONE,
    run: () => native("fork"),
  },
  {
    name: "bomb",
    description: "Starts what forks for ever",
    inputSchema: NONE,
    run: () => {
      spawn(NATIVE, ["bomb"], { detached: true, stdio: "ignore" }).unref();
      return "lit";
    },
  },
  {
    name: "spin",
    description: "Burns processor time in so many threads for so many milliseconds; what they got, in milliseconds",
    inputSchema: schema({ threads: { type: "integer" }, ms: { type: "integer" } }),
    run: ({ threads, ms }) => native("spin", String(threads), String(ms)),
  },
  { name: "fill", description: "Fills a directory", inputSchema: schema({ directory: { type: "string" } }), run: fill },
  { name: "files", description: "Opens as many files as it can", inputSchema: NONE, run: files },
  {
    name: "read",
    description: "The contents of a file, or what went wrong",
    inputSchema: schema({ path: { type: "string" } }),
    run: ({ path: file }) => outcome(fs.promises.readFile(file, "utf8")),
  },
  {
    name: "disk",
    description: "Does one thing to a file or folder; what came of it, or what went wrong",
    inputSchema: schema({
      what: { type: "string" },
      path: { type: "string" },
      to: { type: "string" },
      text: { type: "string" },
    }),
    run: disk,
  },
  {
    name: "git",
    description: "Runs git in a folder",
    inputSchema: schema({ words: { type: "array", items: { type: "string" } }, directory: { type: "string" } }),
    run: git,
  },
  {
    name: "socket_file",
    description: "Connects to a socket that is a file, or makes one",
    inputSchema: schema({ path: { type: "string" }, make: { type: "boolean" } }),
    run: socketFile,
  },
];
