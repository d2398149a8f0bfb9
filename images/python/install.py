"""Is what uv laid down the locked wheels, to the byte, and can the wanted program be started?

Makes a virtual environment, has uv put the locked wheels into it, holds every file to the RECORD of the package it
came with, and compiles the modules. No code of a package runs: uv only unpacks wheels, and this program is run by the
image's own interpreter with `-I -S`, so that no `.pth` file and no `sitecustomize` of theirs is read.

Every file of the environment is either one that was there before uv came, unchanged, or stands in the RECORD of a
package with the hash it has. So a package can neither replace the interpreter or its settings nor bring a file that
nobody signed for. A `.pth` file is part of a wheel like its modules and is told of, not refused: what it does, it
does in the run cage, where the package's own code runs as well.

Bytecode is compiled last, after the check, without timestamps: the image never changes, so the interpreter need not
look at the source to see whether it did.

What was built here is held to the tree too: what its source archive said of its needs is a claim until then.

Reads `install.json` beside itself: {"server": folder, "own": name, "requirements": path, "built": whether a package of
it was}. Writes `installed.json` there: {"otherwise": a line for each file that is not as it has to be, "unmet": a line
for each need of a package that nothing there meets, "packages": [{"name", "version", "scripts",
"shut": files beside the scripts that may not be executed, "starts": the `.pth` files, "modules": of the package called `own` alone}…]}.

Sources: PEP 376 and the "Recording installed projects" specification (RECORD), PEP 427 (wheels), PEP 552 (bytecode).
"""

import base64
import compileall
import csv
import email.parser
import hashlib
import io
import itertools
import json
import os
import py_compile
import re
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
# lines about files that are told
MOST_TOLD = 20


class Bare(venv.EnvBuilder):
    """An environment of an interpreter and its settings, without scripts to switch it on in a shell."""

    def __init__(self):
        super().__init__(symlinks=True, with_pip=False)

    def setup_scripts(self, context):
        pass


def look(root):
    """Every entry below a folder but folders: the target of a link, the hash and size of a file."""
    found = {}
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in files + links:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[path] = ("link", os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").digest()
                found[path] = (base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), os.path.getsize(path))
            else:
                found[path] = ("neither file nor link", None)
    return found


def text_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def recorded(site):
    """What each package says it brought: path to the (hash, size) pairs it may have; and the packages themselves."""
    brought, packages = {}, []
    for name in sorted(os.listdir(site)):
        if not name.endswith(".dist-info"):
            continue
        info = os.path.join(site, name)
        metadata = email.parser.HeaderParser().parsestr(text_of(os.path.join(info, "METADATA")))
        own = []
        for row in csv.reader(io.StringIO(text_of(os.path.join(info, "RECORD")))):
            path = os.path.normpath(os.path.join(site, row[0]))
            method, _, digest = row[1].partition("=") if len(row) > 1 else ("", "", "")
            # a RECORD does not hold itself, and signatures of it are made after it
            itself = os.path.dirname(path) == info and os.path.basename(path).startswith("RECORD")
            if method == "sha256":
                known = (digest.rstrip("="), int(row[2]) if len(row) > 2 and row[2] else None)
            else:
                known = None if itself else ("no sha256 in the RECORD", None)
            brought.setdefault(path, []).append(known)
            own.append(path)
        packages.append((metadata["Name"], metadata["Version"], own))
    return brought, packages


def differences(before, after, brought):
    """One line for each file that is not what it has to be."""
    for path, what in before.items():
        if path in brought:
            yield f"{path}: a package brought what belongs to the environment"
        elif after.get(path) != what:
            yield f"{path}: a file of the environment was changed"
    for path, what in after.items():
        if path in before:
            continue
        if path not in brought:
            yield f"{path}: in no package's RECORD"
        # two packages may bring one path, where the last one stays; it is then as one of them says
        elif not any(known is None or known == what or known == (what[0], None) for known in brought[path]):
            yield f"{path}: other bytes than in its package's RECORD"
    for path in brought:
        if path not in after:
            yield f"{path}: in a package's RECORD and not there"


def modules_of(path):
    """What `python -m` would take for this file: nothing, or one name."""
    stem, ending = os.path.splitext(path)
    if ending == ".py" and os.path.basename(stem) != "__init__":
        yield stem.removesuffix("/__main__").replace("/", ".")
    elif ending == ".so":
        yield stem.split(".", 1)[0].replace("/", ".")


def main():
    with open(os.path.join(HERE, "install.json"), encoding="utf-8") as file:
        asked = json.load(file)
    server = asked["server"]
    Bare().create(server)
    before = look(server)
    argv = ["uv", "pip", "install", "--quiet", "--python", os.path.join(server, "bin", "python")]
    argv += ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--strict", "--no-compile-bytecode"]
    argv += ["--link-mode", "copy", "--requirements", asked["requirements"]]
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if ended.returncode != 0:
        sys.exit(1)
    # uv's own, empty
    lock = os.path.join(server, ".lock")
    if os.path.isfile(lock) and os.path.getsize(lock) == 0:
        os.remove(lock)

    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = os.path.join(server, "lib", version, "site-packages")
    after = look(server)
    brought, packages = recorded(site)
    otherwise = list(itertools.islice(differences(before, after, brought), MOST_TOLD))
    if otherwise:
        report([], otherwise, [])
        return
    # only now: the interpreter that is asked is known to be as it was made
    unmet = []
    if asked["built"]:
        argv = ["uv", "pip", "check", "--python", os.path.join(server, "bin", "python")]
        checked = subprocess.run(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        unmet = checked.stderr.splitlines()[:MOST_TOLD] if checked.returncode else []

    # a module of another Python's grammar, such as a template, has no bytecode and needs none
    compileall.compile_dir(site, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    programs = os.path.join(server, "bin") + os.sep
    laid = []
    for name, version, own in packages:
        inside = [os.path.relpath(path, site) for path in own if path.startswith(site + os.sep)]
        package = {"name": name, "version": version, "modules": []}
        scripts = {path.removeprefix(programs): os.stat(path).st_mode & 0o111 for path in own if path.startswith(programs)}
        package["scripts"] = sorted(name for name, may in scripts.items() if may)
        package["shut"] = sorted(name for name, may in scripts.items() if not may)
        package["starts"] = sorted(path for path in inside if path.endswith(".pth"))
        if re.sub(r"[-_.]+", "-", name).lower() == asked["own"]:
            package["modules"] = sorted({module for path in inside for module in modules_of(path)})
        laid.append(package)
    report(laid, [], unmet)


def report(packages, otherwise, unmet):
    with open(os.path.join(HERE, "installed.json"), "w", encoding="utf-8") as file:
        json.dump({"packages": packages, "otherwise": otherwise, "unmet": unmet}, file)


main()
