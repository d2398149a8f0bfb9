"""What does the interpreter's own library compile to?

A server starts on a read-only root, where no bytecode can be kept: what is not compiled is compiled at every start. An
official image comes without any. This compiles the standard library, by the image's own interpreter, into a tar
archive that is put on top of the image; all of it, whatever is there already, so that both ways to a base are alike.

Without timestamps (PEP 552): the image never changes, so the interpreter need not look at the source at each start, and
the same source gives the same bytes.

Writes the archive to the path it is given.
"""

import io
import os
import py_compile
import sys
import sysconfig
import tarfile
import tempfile

# not imported by servers; a third of the library
LEFT_OUT = {"__pycache__", "dist-packages", "idlelib", "lib2to3", "site-packages", "test", "tests", "turtledemo"}


def sources(library):
    for folder, folders, files in os.walk(library):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".py"))


def main(archive):
    tag = sys.implementation.cache_tag
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    with tarfile.open(archive, "w") as tar, tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "made.pyc")
        for source in sources(sysconfig.get_path("stdlib")):
            stem = os.path.basename(source).removesuffix(".py")
            place = os.path.join(os.path.dirname(source), "__pycache__", f"{stem}.{tag}.pyc")
            try:
                py_compile.compile(source, cfile=made, dfile=source, doraise=True, invalidation_mode=mode)
            except py_compile.PyCompileError:
                # a template of some other Python's grammar
                continue
            with open(made, "rb") as file:
                data = file.read()
            entry = tarfile.TarInfo(place.lstrip("/"))
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


main(sys.argv[1])
