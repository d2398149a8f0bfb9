use std::fs;

use super::*;

const DEFAULT: &str = "https://built-in.example/simple";

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn around(&self, variables: &[(&str, &str)]) -> PipSurroundings {
        let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let (home, system) = (Some(self.0.path().join("home")), Some(self.0.path().join("etc")));
        PipSurroundings { config: None, variables, home, system }
    }
}

fn index(around: &PipSurroundings) -> Index {
    PipConfig::read(around).unwrap().index(Some(DEFAULT)).unwrap()
}

fn url(around: &PipSurroundings) -> String {
    index(around).registry().to_string()
}

#[test]
fn nothing_set_leaves_it_to_the_clients_own_default() {
    let home = Home::new();
    let config = PipConfig::read(&home.around(&[])).unwrap();
    assert!(config.needs_client_default());
    assert!(config.clone().index(None).is_err());
    let index = config.index(Some(DEFAULT)).unwrap();
    assert_eq!(index.registry().to_string(), "https://built-in.example/simple/");
    assert_eq!((index.registry().found(), index.notes()), (&Found::Client, &[][..]));
}

#[test]
fn each_place_outranks_the_next() {
    let home = Home::new();
    let mut around = home.around(&[]);
    for (file, text, expected) in [
        ("etc/xdg/pip/pip.conf", "[global]\nindex-url = https://j.example/", "https://j.example/"),
        ("etc/pip.conf", "[global]\nindex-url = https://i.example/", "https://i.example/"),
        ("etc/uv/uv.toml", "index-url = \"https://h.example/\"", "https://h.example/"),
        ("etc/xdg/uv/uv.toml", "index-url = \"https://g.example/\"", "https://g.example/"),
        ("home/.pip/pip.conf", "[global]\nindex-url = https://f.example/", "https://f.example/"),
        ("home/.config/pip/pip.conf", "[global]\nindex-url = https://e.example/", "https://e.example/"),
        ("home/.config/uv/uv.toml", "index-url = \"https://d.example/\"", "https://d.example/"),
    ] {
        let path = home.write(file, text);
        assert_eq!(url(&around), expected);
        assert_eq!(index(&around).registry().found(), &Found::File(path));
    }
    for (name, value, expected) in [
        ("PIP_INDEX_URL", "https://c.example/", "https://c.example/"),
        ("UV_INDEX_URL", "https://b.example/", "https://b.example/"),
        ("UV_DEFAULT_INDEX", "mine=https://a.example/", "https://a.example/"),
    ] {
        around.variables.insert(name.to_owned(), value.to_owned());
        assert_eq!(url(&around), expected);
    }
    assert!(index(&around).notes().iter().any(|note| note.to_string().contains("PIP_INDEX_URL")));
    around.config = Some("https://config.example/simple".to_owned());
    assert_eq!(url(&around), "https://config.example/simple/");
    assert_eq!(index(&around).registry().found(), &Found::Config);
    assert!(index(&around).notes().is_empty());
}

#[test]
fn files_are_found_where_variables_say() {
    let home = Home::new();
    home.write("home/.config/uv/uv.toml", "index-url = \"https://user.example/\"");
    let toml = home.write("x/uv.toml", "index-url = \"https://other.example/\"");
    let conf = home.write("x/pip.conf", "[global]\nindex-url=https://conf.example/");
    home.write("x/uv/uv.toml", "index-url = \"https://xdg.example/\"");
    let of = |name: &str, value: &Path| url(&home.around(&[(name, value.to_str().unwrap())]));
    assert_eq!(of("UV_CONFIG_FILE", &toml), "https://other.example/");
    assert_eq!(of("PIP_CONFIG_FILE", &conf), "https://conf.example/");
    assert_eq!(of("XDG_CONFIG_HOME", &home.0.path().join("x")), "https://xdg.example/");
    assert_eq!(of("XDG_CONFIG_HOME", Path::new("relative")), "https://user.example/");
    assert_eq!(of("UV_NO_CONFIG", Path::new("1")), "https://built-in.example/simple/");
    home.write("home/.config/uv/uv.toml", "");
    home.write("home/.config/pip/pip.conf", "[global]\nindex-url=https://user.example/");
    assert_eq!(of("PIP_CONFIG_FILE", Path::new("/dev/null")), "https://built-in.example/simple/");
}

#[test]
fn refuses_a_file_of_the_current_directory() {
    let home = Home::new();
    for name in ["UV_CONFIG_FILE", "PIP_CONFIG_FILE"] {
        let refused = PipConfig::read(&home.around(&[(name, "./x")])).unwrap_err();
        assert!(matches!(refused, SourceError::Config { .. }), "{name}: {refused}");
    }
}

#[test]
fn uv_toml_is_read_as_uv_reads_it() {
    let home = Home::new();
    for (text, expected, notes) in [
        ("index-url = \"https://a.example/\"", "https://a.example/", 0),
        ("[[index]]\nurl = \"https://a.example/\"\ndefault = true", "https://a.example/", 0),
        (
            "index-url = \"https://b.example/\"\n[[index]]\nurl = \"https://a.example/\"\ndefault = true",
            "https://a.example/",
            0,
        ),
        ("[[index]]\nname = \"x\"\nurl = \"https://a.example/\"", "https://built-in.example/simple/", 1),
        ("extra-index-url = [\"https://a.example/\"]", "https://built-in.example/simple/", 1),
        ("find-links = [\"/x\"]", "https://built-in.example/simple/", 1),
        ("[pip]\nindex-url = \"https://a.example/\"", "https://built-in.example/simple/", 0),
    ] {
        home.write("home/.config/uv/uv.toml", text);
        let index = index(&home.around(&[]));
        assert_eq!((index.registry().to_string().as_str(), index.notes().len()), (expected, notes), "{text}");
    }
    for bad in [
        "index-url = 7",
        "index-url = \"ftp://a.example/\"",
        "[[index]]\ndefault = true",
        "nonsense",
        "no-index = true",
    ] {
        home.write("home/.config/uv/uv.toml", bad);
        let refused = PipConfig::read(&home.around(&[])).unwrap_err();
        assert!(matches!(refused, SourceError::Config { .. }), "{bad}: {refused}");
    }
}

#[test]
fn pip_conf_is_read_as_pip_reads_it() {
    let home = Home::new();
    for (text, expected, notes) in [
        ("[global]\nindex-url = https://a.example/simple", "https://a.example/simple/", 0),
        ("[global]\nindex_url: https://a.example/", "https://a.example/", 0),
        ("[global]\n--index-url=https://a.example/", "https://a.example/", 0),
        ("[global]\nindex-url=https://a.example/\nindex-url=https://b.example/", "https://b.example/", 0),
        (
            "[global]\nindex-url=https://a.example/\n[install]\nindex-url=https://b.example/",
            "https://b.example/",
            0,
        ),
        ("[global]\nindex-url =\n  https://a.example/\ntimeout = 60", "https://a.example/", 0),
        (
            "[global]\nextra-index-url =\n  https://a.example/\n  https://b.example/",
            "https://built-in.example/simple/",
            1,
        ),
        ("[global]\nfind-links = /opt/wheels", "https://built-in.example/simple/", 1),
        ("# index-url=x\n[global]\n; index-url=x\ncert = /x", "https://built-in.example/simple/", 0),
        ("[download]\nindex-url=https://a.example/", "https://built-in.example/simple/", 0),
        ("", "https://built-in.example/simple/", 0),
    ] {
        home.write("home/.config/pip/pip.conf", text);
        let index = index(&home.around(&[]));
        assert_eq!((index.registry().to_string().as_str(), index.notes().len()), (expected, notes), "{text}");
    }
    for bad in [
        "[global]\nindex-url = x",
        "[global]\nnonsense",
        "[global]\nno-index = true",
        "[global]\nindex-url = file:///x",
    ] {
        home.write("home/.config/pip/pip.conf", bad);
        let refused = PipConfig::read(&home.around(&[])).unwrap_err();
        assert!(matches!(refused, SourceError::Config { .. }), "{bad}: {refused}");
    }
}

#[test]
fn further_indexes_are_named_and_not_asked() {
    let home = Home::new();
    for name in ["UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"] {
        let index =
            index(&home.around(&[(name, "https://x.example/"), ("PIP_INDEX_URL", "https://a.example/")]));
        assert_eq!(index.registry().to_string(), "https://a.example/");
        assert!(index.notes()[0].to_string().contains(name), "{:?}", index.notes());
    }
    for name in ["PIP_NO_INDEX", "UV_NO_INDEX"] {
        assert!(PipConfig::read(&home.around(&[(name, "1")])).is_err(), "{name}");
        assert!(PipConfig::read(&home.around(&[(name, "0")])).is_ok(), "{name}");
    }
}

#[test]
fn refuses_a_credential_and_does_not_repeat_it() {
    let home = Home::new();
    for bad in
        ["https://user:hunter2@a.example/simple", "https://user:hunter2@[x/", "https://hunter2@a.example/"]
    {
        let refused = PipConfig::read(&home.around(&[("PIP_INDEX_URL", bad)])).unwrap_err().to_string();
        assert!(refused.contains("PIP_INDEX_URL") && !refused.contains("hunter2"), "{refused}");
        home.write("home/.config/pip/pip.conf", &format!("[global]\nindex-url={bad}"));
        assert!(!PipConfig::read(&home.around(&[])).unwrap_err().to_string().contains("hunter2"));
        home.write("home/.config/pip/pip.conf", "");
        home.write("home/.config/uv/uv.toml", &format!("index-url = \"{bad}\"\nnonsense"));
        assert!(!PipConfig::read(&home.around(&[])).unwrap_err().to_string().contains("hunter2"));
        home.write("home/.config/uv/uv.toml", "");
    }
}

#[test]
fn refuses_a_file_it_cannot_read() {
    let home = Home::new();
    fs::create_dir_all(home.0.path().join("home/.config/pip/pip.conf")).unwrap();
    assert!(matches!(PipConfig::read(&home.around(&[])), Err(SourceError::Config { .. })));
    let large = Home::new();
    large.write("home/.config/uv/uv.toml", &" ".repeat((1 << 20) + 1));
    assert!(matches!(PipConfig::read(&large.around(&[])), Err(SourceError::Config { .. })));
}
