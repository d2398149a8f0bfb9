"""What would a package that has no wheel depend on, and what would build it, without running any of it?

An index between uv and the real one, inside the cage. It passes pages on, and where a version has a source archive and
no wheel that would do here it lists the archive a second time, as a wheel of any system, under the archive's own hash.
uv asks for that wheel's metadata alone (PEP 658), and gets what the archive says of itself. So uv resolves as it
always does, out of metadata alone and without building, and the hash in the lock is that of the archive.

What an archive says of its dependencies is taken from the first of these that there is: metadata that its author's
tools call final (PEP 643), the project table (PEP 621), what setuptools wrote down when it made the archive, and
metadata of before PEP 643, which promise nothing. All of it is a claim: what is built is held to the tree when it is
installed.
"""

import configparser
import email.parser
import gzip
import hashlib
import http.server
import io
import json
import re
import ssl
import tarfile
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
# what builds a package that does not say what does (PEP 517)
USUAL = ["setuptools>=40.8.0", "wheel"]


class Unread(Exception):
    """An archive does not say what it would have to."""


def normal(name):
    """Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def version_key(text):
    """One spelling for the spellings that a wheel and an archive of one version usually have."""
    return re.sub(r"[-_.]*(a|b|c|rc|alpha|beta|pre|post|dev)[-_.]*(?=\d)", r"\1", text.lower()).replace("_", "+")


def version_of_source(filename, project):
    """The version of an archive of this project (PEP 625, and `.zip` as older ones are)."""
    for ending in (".tar.gz", ".zip"):
        if filename.endswith(ending):
            stem = filename.removesuffix(ending)
            for at in (match.start() for match in re.finditer("-", stem)):
                if normal(stem[:at]) == project:
                    return stem[at + 1 :]
    return None


def wheel_fits(filename, minor, machine):
    """The version of a wheel that would do here, as far as its name tells (PEP 425)."""
    parts = filename.removesuffix(".whl").split("-")
    if not filename.endswith(".whl") or len(parts) not in (5, 6):
        return None
    pythons, abis, platforms = (part.split(".") for part in parts[-3:])
    of_here = any(tag == "any" or "linux" in tag and tag.endswith("_" + machine) for tag in platforms)
    python = any(tag in ("py3", f"py3{minor}", f"cp3{minor}") for tag in pythons) or "abi3" in abis
    return parts[1] if of_here and python else None


def fetch(url, limit, accept="*/*"):
    """The body and the address it came from in the end."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl.create_default_context())
    )
    request = urllib.request.Request(url, headers={"Accept": accept, "Accept-Encoding": "identity"})
    with opener.open(request, timeout=TIMEOUT) as answer:
        body = answer.read(limit + 1)
        if len(body) > limit:
            raise Unread(f"{url.rsplit('/', 1)[-1]} is larger than {limit} bytes")
        return body, answer.url


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


class Source:
    """A source archive, as far as it is read."""

    def __init__(self, data, filename, project, version):
        self.project, self.version, self.kept, self.names = project, version, {}, []
        if filename.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for info in archive.infolist():
                    self.take(info.filename, info.file_size, lambda info=info: archive.read(info))
        else:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacked, tarfile.open(fileobj=Bounded(unpacked), mode="r|") as archive:
                for member in archive:
                    if member.isfile():
                        self.take(member.name, member.size, lambda member=member: archive.extractfile(member).read())
        info = self.kept.get("PKG-INFO")
        self.info = email.parser.HeaderParser().parsestr(info) if info is not None else None
        self.project_file = tomllib.loads(self.kept["pyproject.toml"]) if "pyproject.toml" in self.kept else {}
        if self.info is None and not self.project_file:
            raise Unread("it has neither metadata nor a project file")

    def take(self, path, size, read):
        _, _, inside = path.removeprefix("./").partition("/")
        self.names.append(inside.removeprefix("src/"))
        egg, _, name = inside.removeprefix("src/").rpartition("/")
        own = egg.endswith(".egg-info") and normal(egg.removesuffix(".egg-info")) == self.project
        if inside in ("PKG-INFO", "pyproject.toml") or own and name in ("PKG-INFO", "requires.txt", "entry_points.txt"):
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
        final = info is not None and metadata_version(info) >= (2, 2) and not dynamic & {"requires-dist", "provides-extra"}
        told = project.get("dynamic", ())
        if final:
            return self.of_info()
        if project and "dependencies" not in told and "optional-dependencies" not in told:
            extras = project.get("optional-dependencies", {})
            lines = list(project.get("dependencies", ()))
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

    def metadata(self):
        """Metadata of a wheel of it (PEP 658)."""
        lines, extras = self.requires()
        fields = [("Metadata-Version", "2.1"), ("Name", self.project), ("Version", self.version)]
        fields += [("Requires-Dist", line) for line in lines] + [("Provides-Extra", extra) for extra in extras]
        for _, value in fields:
            if not isinstance(value, str) or re.search(r"[\x00-\x1f\x7f]", value.replace("\n ", " ")):
                raise Unread("what it depends on is not a line of text each")
        return "".join(f"{name}: {' '.join(value.split())}\n" for name, value in fields) + "\n"

    def tools(self):
        """What builds it: requirements of an index alone."""
        system = self.table("build-system")
        tools = system.get("requires", [] if "build-backend" in system else USUAL)
        for tool in tools if isinstance(tools, list) else [None]:
            if not isinstance(tool, str) or not re.fullmatch(r"[A-Za-z0-9][^\x00-\x1f\x7f]*", tool) or "@" in tool or "://" in tool:
                raise Unread("what builds it is not from a package index")
        return tools

    def programs(self, scripts_of):
        """Its programs and modules; none where they are known only when it is built."""
        project, scripts = self.table("project"), set()
        if project and not {"scripts", "entry-points"} & set(project.get("dynamic", ())):
            scripts |= {*project.get("scripts", {}), *project.get("gui-scripts", {})}
        elif "egg-info/entry_points.txt" in self.kept:
            scripts |= set(scripts_of(self.kept["egg-info/entry_points.txt"]))
        if not scripts:
            return None
        files = [name.removesuffix("/__main__.py") for name in self.names if name.endswith("/__main__.py")]
        files += [name.removesuffix(".py") for name in self.names if re.fullmatch(r"\w+\.py", name) and name != "setup.py"]
        modules = {name.replace("/", ".") for name in files if re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", name)}
        return {"scripts": sorted(scripts), "modules": sorted(modules)}

    def summary(self):
        told = self.info.get("Summary") if self.info is not None else self.table("project").get("description")
        return told if isinstance(told, str) else None


def metadata_version(info):
    match = re.fullmatch(r"(\d+)\.(\d+)", info.get("Metadata-Version", "").strip())
    return tuple(map(int, match.groups())) if match else (0, 0)


def conditional(requirement, marker):
    requirement, _, own = str(requirement).partition(";")
    return f"{requirement.strip()} ; ({own.strip()}) and {marker}" if own.strip() else f"{requirement.strip()} ; {marker}"


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


class Sources(http.server.ThreadingHTTPServer):
    """The index in between. `minor` and `machine` are those of the Python that will run the tree."""

    daemon_threads = True

    def __init__(self, index, minor, machine):
        super().__init__(("127.0.0.1", 0), Answers)
        self.index, self.minor, self.machine = index.rstrip("/"), minor, machine
        # by hash: what is listed as a wheel, and what was read of it
        self.listed, self.read, self.problems = {}, {}, []
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
            version = wheel_fits(file["filename"], self.minor, self.machine)
            if version is not None and not file.get("yanked"):
                fitting.add(version_key(version))
            version = version_of_source(file["filename"], project)
            sha256 = (file.get("hashes") or {}).get("sha256", "").lower()
            if version is not None and re.fullmatch(r"[0-9a-f]{64}", sha256):
                # of two archives the usual kind
                if version_key(version) not in sources or file["filename"].endswith(".tar.gz"):
                    sources[version_key(version)] = (version, sha256, file)
        for key, (version, sha256, file) in sources.items():
            if key not in fitting:
                self.listed[sha256] = (project, version, file["filename"], file["url"])
                wheel = f"{project.replace('-', '_')}-{version.replace('-', '_')}-py3-none-any.whl"
                told = {name: file[name] for name in ("requires-python", "yanked", "upload-time") if name in file}
                url = f"{self.url}/source/{sha256}/{wheel}"
                page["files"].append({"filename": wheel, "url": url, "hashes": {"sha256": sha256}, "core-metadata": True, **told})
        return json.dumps(page).encode()

    def metadata(self, sha256):
        project, version, filename, url = self.listed[sha256]
        try:
            data, _ = fetch(url, MOST_ARCHIVE)
            if hashlib.sha256(data).hexdigest() != sha256:
                raise Unread("the index served other bytes than its hash names")
            source = Source(data, filename, project, version)
            metadata = source.metadata().encode()
            source.tools()
        except (Unread, OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, tarfile.TarError, configparser.Error) as error:
            self.problems.append(f"{filename} cannot be built: {str(error) or type(error).__name__}")
            raise
        self.read[sha256] = source
        return metadata


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
