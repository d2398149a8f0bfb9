"""Which packages, to the byte, would uv install here, and which programs does the wanted one have?

uv makes the tree, out of metadata alone: nothing is built, no archive is unpacked. The programs of a package are in
its wheel and nowhere else, so its table of contents, its entry points and its metadata are read out of the middle of
the archive, where the index lets them be; the archive itself is not downloaded. Where it does not, that is said, and
the programs are not known before the package is installed.

Where building is allowed, `sources.py` stands between uv and the index, and what has no wheel is in the lock with its
source archive and what builds it.

Reads `resolve.json` beside itself: {"name", "extras", "version", "with": [requirement…], "wheel": path or null,
"build": whether source archives will do, "hashes": of the files the release may be made from}.
Writes `resolved.json` there: {"lock", "programs": null or {"scripts", "modules"}, "summary", "unread": why or null}; or
{"problems": a line for each source archive that cannot be built}.

Sources: PEP 427 (wheels), PEP 503 and 691 (indexes), PEP 751 (`pylock.toml`), the entry points specification.
"""

import configparser
import email.parser
import http.client
import io
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tomllib
import urllib.parse
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# where nobody but the launcher has put anything; without it `-I` finds nothing that lies beside this file
sys.path.append(HERE)
from sources import Sources, Unread, modules_of, scripts_of

# bytes of a wheel's table of contents, entry points and metadata together
MOST_READ = 8 * 1024 * 1024
# bytes of one of the two files
MOST_FILE = 1024 * 1024
REDIRECTS = 5
TIMEOUT = 60


def compile(requirements, *options, sources=None):
    """Runs uv's resolver and gives what it prints, or ends as it ends."""
    path = os.path.join(HERE, "requirements.in")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(requirements) + "\n")
    argv = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "--no-sources"]
    argv += ["--python", sys.executable, *options, path]
    # uv alone: what it would look for besides, such as git, is not to be found
    env = {**os.environ, "PATH": os.path.dirname(shutil.which("uv"))}
    if sources:
        env["UV_DEFAULT_INDEX"] = f"{sources.url}/simple/"
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env)
    if ended.returncode != 0:
        if sources and sources.problems:
            report(problems=sources.problems)
        sys.exit(0 if sources and sources.problems else ended.returncode)
    return ended.stdout


def report(**answer):
    with open(os.path.join(HERE, "resolved.json"), "w", encoding="utf-8") as file:
        json.dump(answer, file)


def with_builds(lock, told):
    """The lock with each package that has no wheel held to its source archive, and after it what builds each.

    And those archives, by package."""
    lines, sections, built = [], [], {}
    for entry in re.split(r"\n(?=\S)", lock.strip("\n")):
        match = re.match(r"([A-Za-z0-9._-]+)==(\S+)", entry)
        source = next((sha256 for sha256 in re.findall(r"--hash=sha256:(\w+)", entry) if sha256 in told), None)
        if match and source:
            entry = f"{match[0]} \\\n    --hash=sha256:{source}"
            tools = told[source]["tools"]
            print(f"what builds {match[0]}: {', '.join(tools) or 'nothing else'}", file=sys.stderr)
            built[match[1]] = told[source]
            sections += [f"[build {match[1]}]", compile(tools, "--generate-hashes").strip("\n") if tools else ""]
        lines.append(entry)
    return "\n".join(lines + sections) + "\n", built


class Ranged(io.RawIOBase):
    """A file of the index, read in pieces and never whole."""

    def __init__(self, url):
        self.url, self.at, self.size, self.read_bytes, self.connection = url, 0, None, 0, None
        # the end-of-archive record without a comment, and with it the size
        self.tail = self.ask("bytes=-22")
        if self.size is None or self.size <= len(self.tail):
            raise Unread("the index does not say how long the file is")

    def ask(self, span):
        for _ in range(REDIRECTS + 1):
            url = urllib.parse.urlsplit(self.url)
            if self.connection is None:
                if url.scheme == "https":
                    context = ssl.create_default_context()
                    self.connection = http.client.HTTPSConnection(url.netloc, timeout=TIMEOUT, context=context)
                elif url.scheme == "http":
                    self.connection = http.client.HTTPConnection(url.netloc, timeout=TIMEOUT)
                else:
                    raise Unread("the file has no http address")
            target = urllib.parse.urlunsplit(("", "", url.path, url.query, ""))
            # as it is stored: a compressed answer would have other places in it
            self.connection.request("GET", target, headers={"Range": span, "Accept-Encoding": "identity"})
            answer = self.connection.getresponse()
            if answer.status in (301, 302, 303, 307, 308):
                self.url = urllib.parse.urljoin(self.url, answer.headers.get("Location", ""))
                self.connection.close()
                self.connection = None
                continue
            break
        whole = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", ""))
        if answer.status != 206 or whole is None:
            # not read: what comes now would be the archive
            self.connection.close()
            raise Unread("the index serves whole files only" if answer.status == 200 else f"status {answer.status}")
        first, last, self.size = map(int, whole.groups())
        length = last - first + 1
        self.read_bytes += length
        if self.read_bytes > MOST_READ:
            raise Unread("the wheel's table of contents is too long")
        data = answer.read(length)
        if len(data) != length:
            raise Unread("the answer was cut short")
        return data

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence] + offset
        return self.at

    def read(self, size=-1):
        end = self.size if size is None or size < 0 else min(self.size, self.at + size)
        if end <= self.at:
            return b""
        if self.at >= self.size - len(self.tail):
            data = self.tail[self.at - self.size :][: end - self.at]
        elif end == self.size:
            # a search from the end for where the table might be: in a small wheel that is all of it
            raise Unread("the wheel has its table of contents in no usual place")
        else:
            data = self.ask(f"bytes={self.at}-{end - 1}")
        self.at = end
        return data


def small(archive, name):
    info = archive.getinfo(name)
    if info.file_size > MOST_FILE or info.compress_size > MOST_FILE:
        raise Unread(f"{name} is too long")
    return archive.read(info).decode("utf-8")


def look_inside(file):
    """The programs of a wheel, and its summary."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        infos = [name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        if len(infos) != 1:
            raise Unread("the wheel has no metadata, or more than one")
        info = infos[0].removesuffix("METADATA")
        scripts = set(scripts_of(small(archive, info + "entry_points.txt")) if info + "entry_points.txt" in names else ())
        # what is no entry point but a file to be put among the programs
        scripts |= {match[1] for name in names if (match := re.fullmatch(r"[^/]+\.data/scripts/([^/]+)", name))}
        summary = email.parser.HeaderParser().parsestr(small(archive, infos[0])).get("Summary")
    return {"scripts": sorted(scripts), "modules": modules_of(names)}, summary


def address_of_wheel(exact):
    """Where the index has the wheel of this version that fits this Python."""
    pylock = tomllib.loads(compile([exact], "--no-deps", "--format", "pylock.toml"))
    wheels = [wheel for package in pylock["packages"] for wheel in package.get("wheels", ())]
    if not wheels:
        raise Unread("the index has no wheel for this Python")
    return wheels[0]["url"]


def main():
    with open(os.path.join(HERE, "resolve.json"), encoding="utf-8") as file:
        asked = json.load(file)
    name, version, wheel = asked["name"], asked["version"], asked["wheel"]
    placed = f"{name} @ file://{wheel}" if wheel else None
    own = f"{name}{asked['extras']}"
    wanted = f"{own} @ file://{wheel}" if wheel else f"{own}=={version}"
    sources, built = None, {}
    if asked["build"]:
        sources = Sources(os.environ["UV_DEFAULT_INDEX"], name, asked["hashes"])
    lock = compile([wanted, *asked["with"]], "--generate-hashes", sources=sources)
    if sources:
        lock, built = with_builds(lock, sources.told)
    if placed:
        # a lock has no place in it: whoever installs from it has the file, and its hash stands here
        lock = "\n".join(f"{name}=={version}" + line.removeprefix(placed) if line.startswith(placed) else line for line in lock.split("\n"))
    programs = summary = unread = None
    try:
        if name in built:
            programs, summary = built[name]["programs"], built[name]["summary"]
            if programs is None:
                raise Unread("it is built from source, and does not say before")
        else:
            programs, summary = look_inside(wheel if wheel else Ranged(address_of_wheel(f"{name}=={version}")))
    except (Unread, OSError, http.client.HTTPException, zipfile.BadZipFile, ValueError, KeyError, configparser.Error, RuntimeError, NotImplementedError) as error:
        unread = str(error) or type(error).__name__
    report(lock=lock, programs=programs, summary=summary, unread=unread)


main()
