"""What wheel does this source archive give?

The one program here under which a stranger's code runs at once. It is run in a cage of its own, with `-I -S`, twice:
`prepare` makes an environment and has uv put the locked build tools into it, by wheel and hash; then the launcher shuts
the cage's last way out; then `build` has uv call the build backend (PEP 517), which reaches no network, sees no other
package, and leaves one file. Nothing that the cage says after that is believed: what it gives is a wheel like any
other, and is installed in another cage as one.

Reads `build.json` beside itself: {"folder", "requirements": path, "archive": path}. What is built is in `out` in the
folder, the one place in the cage's memory from which programs run.
"""

import json
import os
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*argv, **variables):
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=sys.stderr, env={**os.environ, **variables})
    if ended.returncode != 0:
        sys.exit(1)


def main():
    with open(os.path.join(HERE, "build.json"), encoding="utf-8") as file:
        asked = json.load(file)
    folder, requirements = asked["folder"], asked["requirements"]
    env, out, work = (os.path.join(folder, name) for name in ("env", "out", "work"))
    python = os.path.join(env, "bin", "python")
    if sys.argv[1] == "prepare":
        venv.EnvBuilder(symlinks=True, with_pip=False).create(env)
        os.makedirs(out)
        os.makedirs(work)
        if os.path.getsize(requirements):
            argv = ["uv", "pip", "install", "--quiet", "--python", python, "--require-hashes", "--only-binary", ":all:"]
            run(*argv, "--no-deps", "--link-mode", "copy", "--requirements", requirements)
    else:
        argv = ["uv", "build", "--wheel", "--no-build-isolation", "--offline", "--python", python]
        # the same archive gives the same wheel as far as its backend can; a zip knows no time before 1980
        run(*argv, "--out-dir", out, asked["archive"], TMPDIR=work, UV_CACHE_DIR=os.path.join(work, "cache"), SOURCE_DATE_EPOCH="315532800")


main()
