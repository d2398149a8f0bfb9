"""What would a package that has no wheel depend on, and what would build it, without running any of it?

An index between uv and the real one, inside the cage. It passes pages on, and where a version has a source archive and
no wheel that would do here it lists the archive a second time, as a wheel of any system, under the archive's own hash.
uv asks for that wheel's metadata alone (PEP 658), and gets what the archive says of itself. So uv resolves as it
always does, out of metadata alone and without building, and the hash in the lock is that of the archive.

What an archive says of its dependencies is taken from the first of these that there is: metadata that its author's
tools call final (PEP 643), the project table (PEP 621), what setuptools wrote down when it made the archive, and
metadata of before PEP 643, which promise nothing. All of it is a claim: what is built is held to the tree when it is
installed. A requirement is a name, versions and a marker and nothing else: no address and no path, which uv would
follow.

Each archive is read by a process of its own with little memory and time: this file run as a program, with the archive's
path, its project and its version, which prints what was read.
"""

import configparser
import email.parser
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import resource
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile

JSON = "application/vnd.pypi.simple.v1+json"
TIMEOUT = 60
MOST_PAGE = 64 * 1024 * 1024
MOST_ARCHIVE = 128 * 1024 * 1024
# unpacked, of which only four small files are kept
MOST_UNPACKED = 1024 * 1024 * 1024
MOST_FILE = 1024 * 1024
MOST_NAMES = 100_000
# of the process that reads an archive: bytes, seconds of the processor, and seconds, fewer than uv waits for an answer
READER_MEMORY = 768 * 1024 * 1024
READER_TIME = 10
READER_PATIENCE = 45
# what builds a package that does not say what does (PEP 517)
USUAL = ["setuptools>=40.8.0", "wheel"]

# A requirement of an index, with or without a marker (PEP 508): what an address or a path is made of is not in it.
VERSIONS = r"(?:===|[<>=!~]=|[<>])\s*[A-Za-z0-9.*+!_-]+"
REQUIREMENT = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[[A-Za-z0-9._, -]*\])?\s*"
    rf"(?:\(\s*{VERSIONS}(?:\s*,\s*{VERSIONS})*\s*,?\s*\)|(?:{VERSIONS}(?:\s*,\s*{VERSIONS})*\s*,?)?)\s*"
    r"(?:;[A-Za-z0-9_.'\"()<>=!~ ,*+-]*)?"
)
# PEP 440, appendix B
VERSION = re.compile(
    r"v?(?:(?P<epoch>[0-9]+)!)?(?P<release>[0-9]+(?:\.[0-9]+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>[0-9]*))?"
    r"(?P<post>-(?P<post_n1>[0-9]+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>[0-9]*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>[0-9]*))?(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
SPELLINGS = {"alpha": "a", "beta": "b", "preview": "rc", "pre": "rc", "c": "rc"}


class Unread(Exception):
    """A wheel or an archive does not say what it would have to."""


def normal(name):
    """Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def version_key(text):
    """What is equal for versions that are (PEP 440); the text itself where it is none."""
    match = VERSION.fullmatch(text.strip().lower())
    if match is None:
        return text
    release = tuple(int(part) for part in match["release"].split("."))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    pre = match["pre"] and (SPELLINGS.get(match["pre"], match["pre"]), int(match["pre_n"] or 0))
    post = match["post"] and int(match["post_n1"] or match["post_n2"] or 0)
    dev = match["dev"] and int(match["dev_n"] or 0)
    local = match["local"] and re.sub("[-_]", ".", match["local"])
    return int(match["epoch"] or 0), release, pre, post, dev, local


def version_of_source(filename, project):
    """The version of an archive of this project (PEP 625, and `.zip` as older ones are)."""
    for ending in (".tar.gz", ".zip"):
        if filename.endswith(ending):
            stem = filename.removesuffix(ending)
            for at in (match.start() for match in re.finditer("-", stem)):
                if normal(stem[:at]) == project and VERSION.fullmatch(stem[at + 1 :].lower()):
                    return stem[at + 1 :]
    return None


def platform_fits(tag, machine, glibc):
    """Source: PEP 425, PEP 513 and PEP 600."""
    if tag in ("any", f"linux_{machine}", f"manylinux1_{machine}", f"manylinux2010_{machine}", f"manylinux2014_{machine}"):
        return True
    newer = re.fullmatch(r"manylinux_2_(\d+)_(.+)", tag)
    return newer is not None and newer[2] == machine and int(newer[1]) <= glibc


def interpreter_fits(python, abi, minor):
    """Source: PEP 425 and PEP 384, for CPython."""
    match = re.fullmatch(r"(py|cp)3(\d*)", python)
    if match is None:
        return False
    kind, wanted = match[1], int(match[2]) if match[2] else None
    if abi == "none":
        return wanted is None or wanted <= minor if kind == "py" else wanted == minor
    return kind == "cp" and wanted is not None and (wanted <= minor if abi == "abi3" else wanted == minor and abi == f"cp3{minor}")


def wheel_fits(filename, minor, machine, glibc):
    """The version of a wheel that would do here, as far as its name tells."""
    parts = filename.removesuffix(".whl").split("-")
    if not filename.endswith(".whl") or len(parts) not in (5, 6):
        return None
    pythons, abis, platforms = (part.split(".") for part in parts[-3:])
    here = any(platform_fits(tag, machine, glibc) for tag in platforms)
    fits = here and any(interpreter_fits(python, abi, minor) for python in pythons for abi in abis)
    return parts[1] if fits else None


def requirement(text):
    """One requirement on one line; an address, a path or an option is none."""
    line = " ".join(text.split()) if isinstance(text, str) and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text.replace("\n ", " ")) else ""
    if "\n" in str(text).replace("\n ", " ") or not REQUIREMENT.fullmatch(line):
        raise Unread(f"{str(text)[:100]!r} is not a requirement of a package index")
    return line


def conditional(text, marker):
    wanted, _, own = str(text).partition(";")
    return f"{wanted.strip()} ; ({own.strip()}) and {marker}" if own.strip() else f"{wanted.strip()} ; {marker}"


def of_setuptools(text):
    """`requires.txt`: sections `[extra]`, `[:marker]` and `[extra:marker]`."""
    lines, extras, markers = [], [], []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            extra, _, marker = line.strip("[]").partition(":")
            markers = [f"({marker})"] if marker else []
            if extra:
                markers.append(f"extra == '{extra}'")
                extras.append(extra)
        elif line and not line.startswith("#"):
            lines.append(conditional(line, " and ".join(markers)) if markers else line)
    return lines, sorted(set(extras))


def scripts_of(entry_points):
    """The names under `console_scripts` and `gui_scripts`."""
    parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(entry_points)
    return [name for group in ("console_scripts", "gui_scripts") if parser.has_section(group) for name in parser.options(group)]


def modules_of(names):
    """What `python -m` takes of files of these names: packages with a `__main__`, and modules at the top."""
    names = list(names)
    files = {name.removesuffix("/__main__.py") for name in names if name.endswith("/__main__.py")}
    files |= {name.removesuffix(".py") for name in names if re.fullmatch(r"\w+\.py", name)}
    return sorted(name.replace("/", ".") for name in files if re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", name))


class Bounded(io.RawIOBase):
    """A stream that ends in an error instead of going on for ever."""

    def __init__(self, stream):
        self.stream, self.left = stream, MOST_UNPACKED

    def readable(self):
        return True

    def read(self, size=-1):
        data = self.stream.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise Unread(f"it unpacks to more than {MOST_UNPACKED} bytes")
        return data


class Archive:
    """A source archive, as far as it is read."""

    def __init__(self, path, project):
        self.project, self.kept, self.names = project, {}, []
        if path.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    self.take(info.filename, info.file_size, lambda info=info: archive.read(info))
        else:
            with gzip.open(path) as unpacked, tarfile.open(fileobj=Bounded(unpacked), mode="r|") as archive:
                for member in archive:
                    # the list of what was read would hold every header
                    archive.members = []
                    if member.isfile():
                        self.take(member.name, member.size, lambda member=member: archive.extractfile(member).read())
        info = self.kept.get("PKG-INFO")
        self.info = email.parser.HeaderParser().parsestr(info) if info is not None else None
        self.project_file = tomllib.loads(self.kept["pyproject.toml"]) if "pyproject.toml" in self.kept else {}
        if self.info is None and not self.project_file:
            raise Unread("it has neither metadata nor a project file")

    def take(self, path, size, read):
        _, _, inside = path.removeprefix("./").partition("/")
        if len(self.names) < MOST_NAMES:
            self.names.append(inside.removeprefix("src/"))
        egg, _, name = inside.removeprefix("src/").rpartition("/")
        own = egg.endswith(".egg-info") and normal(egg.removesuffix(".egg-info")) == self.project
        if inside in ("PKG-INFO", "pyproject.toml") or own and name in ("requires.txt", "entry_points.txt"):
            if size > MOST_FILE:
                raise Unread(f"its {name or inside} is too long")
            self.kept[f"egg-info/{name}" if own else inside] = read().decode("utf-8")

    def table(self, name):
        table = self.project_file.get(name, {})
        return table if isinstance(table, dict) else {}

    def requires(self):
        """The lines of `Requires-Dist`, and the extras."""
        info, project = self.info, self.table("project")
        dynamic = {text.lower() for text in info.get_all("Dynamic", ())} if info else set()
        told = project.get("dynamic", [])
        told = told if isinstance(told, list) else ["dependencies"]
        if info is not None and metadata_version(info) >= (2, 2) and not dynamic & {"requires-dist", "provides-extra"}:
            return self.of_info()
        if project and "dependencies" not in told and "optional-dependencies" not in told:
            lines, extras = list(project.get("dependencies", [])), project.get("optional-dependencies", {})
            for extra, requirements in extras.items():
                lines += [conditional(line, f"extra == '{extra}'") for line in requirements]
            return lines, list(extras)
        if "egg-info/requires.txt" in self.kept:
            return of_setuptools(self.kept["egg-info/requires.txt"])
        if info is not None:
            return self.of_info()
        raise Unread("it does not say what it depends on before its code is run")

    def of_info(self):
        return self.info.get_all("Requires-Dist", []), self.info.get_all("Provides-Extra", [])

    def metadata(self, version):
        """Metadata of a wheel of it (PEP 658)."""
        lines, extras = self.requires()
        fields = [("Metadata-Version", "2.1"), ("Name", self.project), ("Version", version)]
        fields += [("Requires-Dist", requirement(line)) for line in lines]
        fields += [("Provides-Extra", extra) for extra in extras if re.fullmatch(r"[A-Za-z0-9._-]+", extra)]
        return "".join(f"{name}: {value}\n" for name, value in fields) + "\n"

    def tools(self):
        """What builds it: requirements of an index alone."""
        system = self.table("build-system")
        tools = system.get("requires", [] if "build-backend" in system else USUAL)
        if not isinstance(tools, list):
            raise Unread("what builds it is no list")
        return [requirement(tool) for tool in tools]

    def programs(self):
        """Its programs and modules; none where they are known only when it is built."""
        project, scripts = self.table("project"), []
        told = project.get("dynamic", [])
        if project and isinstance(told, list) and not {"scripts", "entry-points"} & set(map(str, told)):
            tables = (project.get(name, {}) for name in ("scripts", "gui-scripts"))
            scripts = [name for table in tables if isinstance(table, dict) for name in table]
        elif "egg-info/entry_points.txt" in self.kept:
            scripts = scripts_of(self.kept["egg-info/entry_points.txt"])
        if not scripts:
            return None
        # what is run to build it is none of its modules
        return {"scripts": sorted(set(scripts)), "modules": modules_of(name for name in self.names if name != "setup.py")}

    def summary(self):
        told = self.info.get("Summary") if self.info is not None else self.table("project").get("description")
        return told if isinstance(told, str) else None


def metadata_version(info):
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", info.get("Metadata-Version", "").strip())
    return tuple(map(int, match.groups())) if match else (0, 0)


def read(path, project, version):
    """What an archive says of itself; printed, or why it says nothing."""
    resource.setrlimit(resource.RLIMIT_AS, (READER_MEMORY, READER_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (READER_TIME, READER_TIME))
    try:
        archive = Archive(path, project)
        told = {"metadata": archive.metadata(version), "tools": archive.tools()}
        told |= {"programs": archive.programs(), "summary": archive.summary()}
    except Unread as error:
        told = {"problem": str(error)}
    except MemoryError:
        told = {"problem": "it takes too much memory to be read"}
    except Exception as error:
        told = {"problem": f"it cannot be read: {type(error).__name__}: {str(error)[:200]}"}
    json.dump(told, sys.stdout)


def fetch(url, limit, accept="*/*"):
    """The body and the address it came from in the end; http and https alone, on every hop."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(url, headers={"Accept": accept, "Accept-Encoding": "identity"})
    with opener.open(request, timeout=TIMEOUT) as answer:
        body = answer.read(limit + 1)
        if len(body) > limit:
            raise Unread(f"it is larger than {limit} bytes")
        return body, answer.url


class Sources(http.server.ThreadingHTTPServer):
    """The index in between. Of the project `own`, whose release is chosen already, only archives of these hashes."""

    daemon_threads = True

    def __init__(self, index, own, hashes):
        super().__init__(("127.0.0.1", 0), Answers)
        self.index, self.own, self.hashes = index.rstrip("/"), own, set(hashes)
        self.minor, self.machine = sys.version_info.minor, os.uname().machine
        self.glibc = int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])
        # by hash: what is listed as a wheel, and what was read of it
        self.listed, self.told, self.problems = {}, {}, []
        # one at a time: each may take as much memory as there is for it
        self.reading = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def page(self, project):
        body, address = fetch(f"{self.index}/{urllib.parse.quote(project)}/", MOST_PAGE, JSON)
        page = json.loads(body)
        fitting, sources = set(), {}
        for file in page["files"]:
            file["url"] = urllib.parse.urljoin(address, file["url"])
            version = wheel_fits(file["filename"], self.minor, self.machine, self.glibc)
            if version is not None and not file.get("yanked"):
                fitting.add(version_key(version))
            version = version_of_source(file["filename"], project)
            sha256 = (file.get("hashes") or {}).get("sha256", "").lower()
            wanted = project != self.own or sha256 in self.hashes
            if version is not None and wanted and re.fullmatch(r"[0-9a-f]{64}", sha256):
                # of two archives the usual kind
                if version_key(version) not in sources or file["filename"].endswith(".tar.gz"):
                    sources[version_key(version)] = (version, sha256, file)
        for key, (version, sha256, file) in sources.items():
            # that the own release has to be built is settled
            if key not in fitting or project == self.own:
                self.listed[sha256] = (project, version, file["filename"], file["url"])
                wheel = f"{project.replace('-', '_')}-{version.replace('-', '_')}-py3-none-any.whl"
                told = {name: file[name] for name in ("requires-python", "yanked", "upload-time") if name in file}
                url = f"{self.url}/source/{sha256}/{wheel}"
                page["files"].append({"filename": wheel, "url": url, "hashes": {"sha256": sha256}, "core-metadata": True, **told})
        return json.dumps(page).encode()

    def metadata(self, sha256):
        project, version, filename, url = self.listed[sha256]
        try:
            with self.reading:
                data, _ = fetch(url, MOST_ARCHIVE)
                if hashlib.sha256(data).hexdigest() != sha256:
                    raise Unread("the index served other bytes than its hash names")
                told = read_apart(data, filename, project, version)
        except (Unread, OSError, ValueError) as error:
            self.problems.append(f"{filename} cannot be built: {str(error) or type(error).__name__}")
            raise
        self.told[sha256] = told
        return told["metadata"].encode()


def read_apart(data, filename, project, version):
    """What an archive says, read by a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".zip" if filename.endswith(".zip") else ".tar.gz") as file:
        file.write(data)
        file.flush()
        argv = [sys.executable, "-I", "-S", os.path.abspath(__file__), file.name, project, version]
        try:
            ended = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=READER_PATIENCE)
        except subprocess.TimeoutExpired:
            ended = None
    if ended is None or ended.returncode != 0:
        raise Unread("it takes too long, or too much memory, to be read")
    told = json.loads(ended.stdout)
    if "problem" in told:
        raise Unread(told["problem"])
    return told


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        try:
            if match := re.fullmatch(r"/simple/([a-z0-9-]+)/", self.path):
                self.give(200, JSON, self.server.page(match[1]))
            elif (match := re.fullmatch(r"/source/([0-9a-f]{64})/[^/]+\.whl\.metadata", self.path)) and match[1] in self.server.listed:
                self.give(200, "text/plain", self.server.metadata(match[1]))
            else:
                self.give(404, "text/plain", b"none")
        except urllib.error.HTTPError as error:
            self.give(error.code, "text/plain", b"as the index says")
        except OSError:
            # as if the index itself did not answer: uv says so in its own words
            self.close_connection = True
        except Exception:
            self.give(404, "text/plain", b"none")

    def give(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    read(*sys.argv[1:])
