//! Is a package that has no wheel built where that was asked for, by its own code, and can that code do no more?
//!
//! With an index on this machine, and source archives whose build is told what to do: an honest one, one that looks
//! around and writes down what it finds, and ones that build something else than they said.

use serde_json::json;

use crate::index::{Index, Wheel};
use crate::pinfold::{Home, Ran};
use crate::{engine, tests};

tests![
    nothing_of_an_archive_runs_before_a_consent_and_without_a_network_after_it,
    what_an_archive_says_of_its_needs_is_in_the_tree,
    an_archive_that_says_nothing_sound_is_refused_before_anybody_is_asked,
    what_is_built_is_held_to_what_was_locked,
    a_wheel_is_taken_before_an_archive_of_its_version_however_that_is_written,
    other_bytes_of_an_archive_are_refused_and_the_next_try_works,
    a_server_of_its_own_source_is_built_and_started,
    a_package_of_the_public_index_is_built_with_its_own_tools,
];

/// A source archive, built by code of its own: a build backend beside the project file (PEP 517, `backend-path`).
struct Source {
    name: String,
    files: Vec<(String, String)>,
}

impl Source {
    /// One that its build turns into a wheel with the module of its name, which holds what `found` gives.
    fn new(name: &str) -> Self {
        Self { name: format!("{name}{}", std::process::id()), files: Vec::new() }
    }

    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// With metadata that begins with this.
    fn info(self, fields: &str) -> Self {
        let name = self.name.clone();
        self.file("PKG-INFO", &format!("Metadata-Version: {fields}\nName: {name}\nVersion: 1.0\n\n"))
    }

    /// With a project file that has this in its project table and a backend that does this first.
    fn built(self, project: &str, scripts: &str, first: &str) -> Self {
        let name = self.name.clone();
        let toml = format!(
            "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n\n\
             [project]\nname = \"{name}\"\nversion = \"1.0\"\n{project}\n\n[project.scripts]\n{scripts}\n"
        );
        let backend = BACKEND.replace("NAME", &name).replace("FIRST", first);
        self.file("pyproject.toml", &toml).file("backend.py", &backend)
    }

    fn file_name(&self) -> String {
        format!("{}-1.0.tar.gz", self.name)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut tar =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, text) in &self.files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, format!("{}-1.0/{path}", self.name), text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn publish(&self, index: &Index) {
        index.put(&self.name, &self.file_name(), self.bytes());
    }
}

/// Makes a wheel; `requires`, `name` and `found` can be set before.
const BACKEND: &str = r#"
import os, socket, zipfile, hashlib, base64, json

name, version, requires, found, module = "NAME", "1.0", [], None, ""
FIRST

def build_wheel(directory, config_settings=None, metadata_directory=None):
    if name is None:
        return "nothing"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
    files = {
        f"{name}.py": f"FOUND = {found!r}\n" + module,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if module:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{name} = {name}:main\n"
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel
"#;

/// A server of one tool that tells what the build of a module found.
fn teller(module: &str) -> String {
    format!(
        r#"
import json, sys
try:
    from {module} import FOUND
except ImportError:
    FOUND = None

def main():
    tool = {{"name": "found", "description": "What was found", "inputSchema": {{"type": "object"}}}}
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        results = {{
            "initialize": lambda: {{"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {{"tools": {{}}}},
                                   "serverInfo": {{"name": "teller", "version": "1"}}}},
            "tools/list": lambda: {{"tools": [tool]}},
            "tools/call": lambda: {{"content": [{{"type": "text", "text": json.dumps(FOUND)}}]}},
        }}
        answer = results.get(asked["method"])
        rest = {{"result": answer()}} if answer else {{"error": {{"code": -32601, "message": "no such method"}}}}
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **rest}}), flush=True)
"#
    )
}

/// A server, by wheel, that needs this source archive.
fn server(name: &str, source: &Source) -> Wheel {
    let wheel = Wheel::new(name);
    let (module, script) = (wheel.name.clone(), format!("{}:main", wheel.name));
    wheel.script(&module, &script).file(&format!("{module}.py"), teller(&source.name)).requires(&source.name)
}

fn show(home: &Home, spec: &str) -> Ran {
    home.run(["--json", "show", spec, "--allow-build"])
}

fn mount(home: &Home, spec: &str, digest: &str) -> Ran {
    home.run(["--json", "mount", spec, "--allow-build", "--consent", digest])
}

fn digest(shown: &serde_json::Value) -> String {
    shown["digest"].as_str().unwrap().to_owned()
}

#[track_caller]
fn left_nothing(home: &Home) {
    assert!(home.installed().is_empty(), "an install is in the audit log");
    let listed = home.run(["--json", "list"]).ended(0).json();
    assert_eq!(listed["servers"], json!([]), "a server is half mounted");
    let state = home.state().unwrap();
    assert!(engine::containers(&state).is_empty(), "a cage is left");
}

/// What a build that looks around finds: the names of its variables, what it can reach, what it can read.
fn looks_around(port: u16) -> String {
    format!(
        r#"
def tried(what):
    try:
        return repr(what())
    except Exception as error:
        return f"{{type(error).__name__}}"

def ask():
    with socket.create_connection(("localhost", {port}), timeout=5) as s:
        s.sendall(b"GET /simple/ran{port}/ HTTP/1.0\r\n\r\n")
        return s.recv(64)

def write(path):
    with open(path, "w") as file:
        file.write("x")

found = {{
    "index": tried(ask),
    "public": tried(lambda: socket.getaddrinfo("example.com", 443)),
    "variables": sorted(os.environ),
    "uid": os.getuid(),
    "interpreter": tried(lambda: write("/usr/lib/python3/x.py")),
    "uv": tried(lambda: write("/usr/local/bin/uv")),
    "init": tried(lambda: open("/proc/1/environ", "rb").read()),
}}
"#
    )
}

fn nothing_of_an_archive_runs_before_a_consent_and_without_a_network_after_it() {
    let index = Index::new();
    let home = index.home();
    let source = Source::new("looks").built("", "", &looks_around(index.port()));
    source.publish(&index);
    let server = server("asks", &source);
    index.publish(&server);
    let spec = format!("pypi:{}", server.name);

    // without the option nothing changes
    home.run(["--json", "show", &spec]).failed(15, "cannot-resolve");
    let shown = show(&home, &spec).ended(0).json();
    let notes = shown["notes"].as_array().unwrap();
    let built: Vec<_> = notes.iter().filter(|note| note["note"] == "build").collect();
    assert_eq!(built.len(), 1, "{shown}");
    assert!(built[0]["text"].as_str().unwrap().starts_with(&format!("{} 1.0", source.name)), "{shown}");
    assert_eq!(shown["plan"]["install"]["build"], true);
    assert!(!index.pages().iter().any(|page| page.starts_with("ran")), "its code ran before a consent");

    // a yes to a plan that builds is none without the option
    home.run(["--json", "mount", &spec, "--consent", &digest(&shown)]).failed(15, "cannot-resolve");
    mount(&home, &spec, &digest(&shown)).ended(0);
    let found: serde_json::Value =
        serde_json::from_str(&home.run(["call", &server.name, "found", "{}"]).ended(0).stdout).unwrap();
    assert!(found["index"].as_str().unwrap().ends_with("Error"), "{found}");
    assert!(!index.pages().iter().any(|page| page.starts_with("ran")), "its code reached the index");
    for (what, expected) in [
        ("public", "gaierror"),
        // read-only, root included
        ("interpreter", "OSError"),
        ("uv", "OSError"),
        ("init", "PermissionError"),
    ] {
        assert_eq!(found[what], expected, "{what}: {found}");
    }
    assert_ne!(found["uid"], 0);
    let named = found["variables"].as_array().unwrap();
    let known = |name: &str| {
        [
            "HOME",
            "LANG",
            "NO_COLOR",
            "PATH",
            "PYTHONIOENCODING",
            "SOURCE_DATE_EPOCH",
            "TMPDIR",
            "UV",
            "VIRTUAL_ENV",
        ]
        .contains(&name)
            || name.starts_with("UV_")
            || name.contains("SSL")
            || name.contains("CA_")
    };
    assert!(named.iter().all(|name| known(name.as_str().unwrap())), "{found}");
    home.run(["unmount", &server.name]).ended(0);
    engine::nothing_of(&home, "a build");
}

fn what_an_archive_says_of_its_needs_is_in_the_tree() {
    let index = Index::new();
    let home = index.home();
    let needed = Wheel::new("needed").file("needed.py", "");
    index.publish(&needed);
    let of_setuptools = |source: Source, text: &str| {
        let egg = format!("{}.egg-info", source.name);
        source.file(&format!("{egg}/requires.txt"), text)
    };
    let needs = &needed.name;
    let final_word = format!("2.2\nRequires-Dist: {needs}>=1");
    let of_old = format!("1.2\nRequires-Dist: {needs}");
    let table = format!("dependencies = [\"{needs}\"]");
    let of_other =
        format!("dependencies = [\"absent; python_version < '3'\", \"{needs} ; python_version > '3'\"]");
    for (name, source) in [
        ("final", Source::new("final").info(&final_word)),
        ("older", Source::new("older").info(&of_old)),
        ("table", Source::new("table").built(&table, "", "")),
        ("marked", Source::new("marked").built(&of_other, "", "")),
        ("egg", of_setuptools(Source::new("egg").info("1.1"), &format!("{needs}\n\n[extra]\nabsent\n"))),
        (
            "eggmarked",
            of_setuptools(
                Source::new("eggmarked").info("1.1"),
                &format!("[:python_version<\"3\"]\nabsent\n[:python_version>\"3\"]\n{needs}\n"),
            ),
        ),
    ] {
        // no tools: what builds it is not at issue, and this index has none
        let source = match source.files.iter().any(|(path, _)| path == "pyproject.toml") {
            true => source,
            false => source.file("pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"x\"\n"),
        };
        source.publish(&index);
        let server = server(&format!("of{name}"), &source);
        index.publish(&server);
        let shown = show(&home, &format!("pypi:{}", server.name)).ended(0).json();
        let tree = shown["notes"].as_array().unwrap().iter().find(|note| note["note"] == "tree").unwrap();
        assert_eq!(tree["text"], "3 packages, every one held by its hash", "{name}");
    }
}

const NOT_OF_AN_INDEX: &str = "is not a requirement of a package index";

fn an_archive_that_says_nothing_sound_is_refused_before_anybody_is_asked() {
    let index = Index::new();
    let home = index.home();
    let system = |requires: &str| {
        format!(
            "[build-system]\nrequires = {requires}\nbuild-backend = \"x\"\n[project]\nname = \"x\"\nversion = \"1\"\n"
        )
    };
    for (name, path, text, said) in [
        ("silent", "setup.py", "raise SystemExit('ran')".to_owned(), "neither metadata nor a project file"),
        (
            "dynamic",
            "pyproject.toml",
            "[project]\nname = \"x\"\ndynamic = [\"dependencies\"]\n".to_owned(),
            "does not say what it depends on",
        ),
        ("url", "pyproject.toml", system("[\"a @ https://elsewhere.example/a.whl\"]"), NOT_OF_AN_INDEX),
        (
            "slash",
            "pyproject.toml",
            system("[\"https:/elsewhere.example/a-1-py3-none-any.whl\"]"),
            NOT_OF_AN_INDEX,
        ),
        ("file", "pyproject.toml", system("[\"file:/tmp/uv/a\"]"), NOT_OF_AN_INDEX),
        ("git", "pyproject.toml", system("[\"git+https:/elsewhere.example/a\"]"), NOT_OF_AN_INDEX),
        ("path", "pyproject.toml", system("[\"uv/wheels/a\"]"), NOT_OF_AN_INDEX),
        ("variable", "pyproject.toml", system("[\"a==${HOME}\"]"), NOT_OF_AN_INDEX),
        ("option", "pyproject.toml", system("[\"--index-url=https://elsewhere.example/\"]"), NOT_OF_AN_INDEX),
        (
            "line",
            "pyproject.toml",
            system(r#"["a\n--index-url https://elsewhere.example/"]"#),
            NOT_OF_AN_INDEX,
        ),
        (
            "needs",
            "PKG-INFO",
            "Metadata-Version: 2.2\nRequires-Dist: a @ file:/tmp/a\n\n".to_owned(),
            NOT_OF_AN_INDEX,
        ),
        ("deep", "pyproject.toml", format!("a = {}", "[".repeat(200_000)), "cannot be read"),
        ("dots", "pyproject.toml", format!("{}a = 1", "a.".repeat(300_000)), "cannot be"),
        ("broken", "pyproject.toml", "[".to_owned(), "cannot be built"),
        (
            "fields",
            "pyproject.toml",
            format!("{}dependencies = [\"a\\nName: b\"]\n", system("[]")),
            NOT_OF_AN_INDEX,
        ),
        ("large", "PKG-INFO", "x".repeat(2 << 20), "too long"),
    ] {
        let source = Source::new(&format!("says{name}")).file(path, &text);
        source.publish(&index);
        let server = server(&format!("asks{name}"), &source);
        index.publish(&server);
        let ran = show(&home, &format!("pypi:{}", server.name)).failed(15, "cannot-resolve");
        assert!(ran.error().to_string().contains(said), "{name}: {ran}");
        assert!(ran.error().to_string().contains(&source.file_name()), "{name}: {ran}");
    }
}

fn what_is_built_is_held_to_what_was_locked() {
    let index = Index::new();
    let home = index.home();
    for (name, first, ends, code, said) in [
        ("others", "requires = ['notlocked']", 13, "hash-mismatch", "notlocked"),
        ("another", "name = 'anotherpackage'", 16, "install-failed", "anotherpackage"),
        ("newer", "version = '1.1'", 16, "install-failed", "1.1"),
        ("none", "name = None", 16, "install-failed", "build"),
        ("crash", "raise SystemExit('the build says no')", 16, "install-failed", "the build says no"),
        ("fills", "open('/opt/server/work/x', 'wb').write(bytes(1 << 31))", 16, "install-failed", "built"),
        (
            "talks",
            "import sys\nprint('x\\n' * 200_000, file=sys.stderr)\nraise SystemExit('the reason')",
            16,
            "install-failed",
            "the reason",
        ),
        (
            "network",
            "socket.create_connection(('files.example.com', 443))",
            16,
            "install-failed",
            "files.example.com",
        ),
    ] {
        let source = Source::new(&format!("builds{name}")).built("", "", first);
        source.publish(&index);
        let server = server(&format!("gets{name}"), &source);
        index.publish(&server);
        let spec = format!("pypi:{}", server.name);
        let shown = show(&home, &spec).ended(0).json();
        let ran = mount(&home, &spec, &digest(&shown)).failed(ends, code);
        assert!(ran.error().to_string().contains(said), "{name}: {ran}");
        left_nothing(&home);
    }
}

fn a_wheel_is_taken_before_an_archive_of_its_version_however_that_is_written() {
    let index = Index::new();
    let home = index.home();
    let wheel = Wheel::new("spelled").file("spelled.py", "");
    let source = Source { name: wheel.name.clone(), files: Vec::new() }.built("", "", "");
    // the wheel's version is 1.0, the archive's 1.0 in two other spellings
    for spelling in ["1.0.0", "v1"] {
        index.put(&source.name, &format!("{}-{spelling}.tar.gz", source.name), source.bytes());
    }
    index.publish(&wheel);
    let spelled = server("spells", &source);
    index.publish(&spelled);
    let shown = show(&home, &format!("pypi:{}", spelled.name)).ended(0).json();
    assert_eq!(shown["plan"]["install"]["build"], false, "{shown}");

    // one for another system is no wheel here
    let source = Source::new("othersystem").built("", "", "");
    source.publish(&index);
    for tag in
        ["cp313-cp313-musllinux_1_2_x86_64", "cp313-cp313t-manylinux_2_17_x86_64", "cp313-cp313-win_amd64"]
    {
        let file = format!("{}-1.0-{tag}.whl", source.name);
        index.put(&source.name, &file, Wheel::new("othersystem").bytes());
    }
    let server = server("wantsother", &source);
    index.publish(&server);
    let shown = show(&home, &format!("pypi:{}", server.name)).ended(0).json();
    assert_eq!(shown["plan"]["install"]["build"], true, "{shown}");
}

fn other_bytes_of_an_archive_are_refused_and_the_next_try_works() {
    let index = Index::new();
    let home = index.home();
    let source = Source::new("swaps").built("", "", "found = 1");
    source.publish(&index);
    let server = server("trusts", &source);
    index.publish(&server);
    let spec = format!("pypi:{}", server.name);
    let shown = show(&home, &spec).ended(0).json();
    let other = Source { name: source.name.clone(), files: Vec::new() }.built("", "", "found = 2");
    index.put(&source.name, &source.file_name(), other.bytes());
    mount(&home, &spec, &digest(&shown)).failed(13, "hash-mismatch");
    left_nothing(&home);
    index.put(&source.name, &source.file_name(), source.bytes());
    mount(&home, &spec, &digest(&shown)).ended(0);
    assert_eq!(home.run(["call", &server.name, "found", "{}"]).ended(0).stdout.trim(), "1");
}

fn a_server_of_its_own_source_is_built_and_started() {
    let index = Index::new();
    let home = index.home();
    let name = format!("selfmade{}", std::process::id());
    let module = format!("module = {:?}", teller(&name));
    let scripts = format!("{name} = \"{name}:main\"");
    let source = Source::new("selfmade").built("description = \"Made of source\"", &scripts, &module);
    source.publish(&index);
    let spec = format!("pypi:{name}");
    home.run(["--json", "show", &spec]).failed(15, "cannot-resolve");
    let shown = show(&home, &spec).ended(0).json();
    assert_eq!(shown["plan"]["argv"][0], format!("/opt/server/bin/{name}").as_str(), "{shown}");
    assert!(shown.to_string().contains("Made of source"), "{shown}");
    assert!(!shown.to_string().contains("not known before"), "its programs are in its project file");
    mount(&home, &spec, &digest(&shown)).ended(0);
    home.run(["call", &name, "found", "{}"]).ended(0);
}

fn a_package_of_the_public_index_is_built_with_its_own_tools() {
    let home = Home::new();
    let words = ["pypi:mcp-server-calculator", "--with", "docopt==0.6.2", "--allow-build"];
    let shown = home.run([&["--json", "show"][..], &words].concat()).ended(0).json();
    let notes = shown["notes"].as_array().unwrap();
    let built = notes.iter().find(|note| note["note"] == "build").unwrap()["text"].as_str().unwrap();
    assert!(built.starts_with("docopt 0.6.2 has no wheel and is built from source with "), "{built}");
    assert!(built.contains("setuptools "), "{built}");
    let digest = digest(&shown);
    home.run([&["--json", "mount"][..], &words, &["--consent", &digest]].concat()).ended(0);
    let answer = home.run(["call", "calculator", "calculate", r#"{"expression": "6*7"}"#]).ended(0).stdout;
    assert!(answer.contains("42"), "{answer}");
}
