use std::fs;

use super::*;

const DEFAULT: &str = "https://built-in.example/";

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

    fn around(&self, variables: &[(&str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Surroundings { variables, home: Some(self.0.path().to_owned()), ..Surroundings::default() }
    }
}

fn registries(around: &Surroundings) -> Registries {
    NpmConfig::read(around).unwrap().registries(Some(DEFAULT)).unwrap()
}

fn main_of(around: &Surroundings) -> String {
    registries(around).main().to_string()
}

#[test]
fn a_file_of_settings_that_is_a_pipe_is_refused_and_none_at_all_is_no_settings() {
    let dir = tempfile::tempdir().unwrap();
    let refused = read_bounded(&crate::state::pipe(dir.path())).unwrap_err();
    assert!(refused.to_string().contains("a pipe"), "{refused}");
    assert_eq!(read_bounded(Path::new("/dev/null")).unwrap(), "");
}

#[test]
fn nothing_set_leaves_it_to_the_clients_own_default() {
    let home = Home::new();
    let config = NpmConfig::read(&home.around(&[])).unwrap();
    assert!(config.needs_client_default());
    assert!(config.clone().registries(None).is_err());
    let registries = config.registries(Some(DEFAULT)).unwrap();
    assert_eq!(
        (registries.main().to_string(), registries.main().found()),
        (DEFAULT.to_owned(), &Found::Client)
    );
}

#[test]
fn each_place_outranks_the_next() {
    let home = Home::new();
    let global = home.write("prefix/etc/npmrc", "registry=https://global.example/");
    let mut around = home.around(&[]);
    around.prefix = Some(home.0.path().join("prefix"));
    assert_eq!(main_of(&around), "https://global.example/");
    assert_eq!(registries(&around).main().found(), &Found::File(global));

    home.write(".npmrc", "registry=https://user.example/");
    assert_eq!(main_of(&around), "https://user.example/");

    around.variables.insert("npm_config_registry".to_owned(), "https://variable.example/".to_owned());
    assert_eq!(main_of(&around), "https://variable.example/");

    around.config = Some("https://config.example".to_owned());
    assert_eq!(main_of(&around), "https://config.example/");
    assert_eq!(registries(&around).main().found(), &Found::Config);
}

#[test]
fn variables_are_read_as_npm_reads_them() {
    let home = Home::new();
    home.write(".npmrc", "registry=https://user.example/");
    let of = |name: &str, value: &str| main_of(&home.around(&[(name, value)]));
    assert_eq!(of("NPM_CONFIG_REGISTRY", "https://variable.example/"), "https://variable.example/");
    assert_eq!(of("Npm_Config_registry", "https://variable.example/"), "https://variable.example/");
    for ignored in [("npm_config_registry", ""), ("npm_registry", "https://x.example/"), ("REGISTRY", "x")] {
        assert_eq!(of(ignored.0, ignored.1), "https://user.example/", "{ignored:?}");
    }
}

#[test]
fn a_scope_has_its_own_registry() {
    let home = Home::new();
    home.write(
        ".npmrc",
        "registry=https://user.example/\n@acme:registry = http://localhost:4873\n@../x:registry=x\n",
    );
    let registries = registries(&home.around(&[]));
    assert_eq!(registries.of(&"@acme/a".parse().unwrap()).to_string(), "http://localhost:4873/");
    assert_eq!(registries.of(&"@other/a".parse().unwrap()).to_string(), "https://user.example/");
    assert_eq!(registries.of(&"acme".parse().unwrap()).to_string(), "https://user.example/");
    assert_eq!(registries.all().len(), 2);
    assert_eq!(registries.npmrc(), "registry=https://user.example/\n@acme:registry=http://localhost:4873/\n");
}

#[test]
fn config_toml_replaces_scopes_too() {
    let home = Home::new();
    home.write(".npmrc", "@acme:registry=https://acme.example/");
    let around = Surroundings { config: Some("https://config.example/".to_owned()), ..home.around(&[]) };
    assert_eq!(registries(&around).of(&"@acme/a".parse().unwrap()).to_string(), "https://config.example/");
}

#[test]
fn a_file_is_read_in_npms_dialect() {
    let home = Home::new();
    for (text, expected) in [
        ("registry=https://a.example/", "https://a.example/"),
        ("  registry  =  https://a.example/npm  ", "https://a.example/npm/"),
        ("registry=\"https://a.example/\"", "https://a.example/"),
        ("registry='https://a.example/'", "https://a.example/"),
        ("registry=https://a.example/ ; mine", "https://a.example/"),
        ("registry=https://a.example/\nregistry=https://b.example/", "https://b.example/"),
        ("; registry=https://a.example/", DEFAULT),
        ("# registry=https://a.example/", DEFAULT),
        ("[section]\nregistry=https://a.example/", DEFAULT),
        ("registry=https://${HOST_NAME}/", "https://named.example/"),
        ("registry=https://a.example/${UNSET?}", "https://a.example/"),
        ("registry", DEFAULT),
        ("", DEFAULT),
    ] {
        home.write(".npmrc", text);
        assert_eq!(main_of(&home.around(&[("HOST_NAME", "named.example")])), expected, "{text}");
    }
}

#[test]
fn refuses_a_registry_that_is_no_address() {
    let home = Home::new();
    for bad in [
        "registry=ftp://a.example/",
        "registry=a.example",
        "registry=https://user:secret@a.example/",
        "registry=https://${UNSET}/",
        "registry=file:///etc",
        "@acme:registry=nonsense",
        "registry=",
    ] {
        let path = home.write(".npmrc", bad);
        let refused = NpmConfig::read(&home.around(&[])).unwrap_err();
        let SourceError::Config { place, why } = &refused else { panic!("{bad}: {refused}") };
        assert_eq!(place.to_string(), path.display().to_string());
        assert!(!why.to_string().contains("secret"), "{why}");
    }
}

#[test]
fn refuses_a_file_it_cannot_read() {
    let home = Home::new();
    fs::create_dir(home.0.path().join(".npmrc")).unwrap();
    assert!(matches!(NpmConfig::read(&home.around(&[])), Err(SourceError::Config { .. })));

    let large = Home::new();
    large.write(".npmrc", &" ".repeat((1 << 20) + 1));
    assert!(matches!(NpmConfig::read(&large.around(&[])), Err(SourceError::Config { .. })));
}

#[test]
fn refuses_a_file_of_the_current_directory() {
    let home = Home::new();
    for name in ["npm_config_userconfig", "NPM_CONFIG_GLOBALCONFIG", "npm_config_prefix"] {
        let refused = NpmConfig::read(&home.around(&[(name, "./npmrc")])).unwrap_err();
        assert!(matches!(refused, SourceError::Config { .. }), "{name}: {refused}");
    }
}

#[test]
fn accepts_files_that_the_user_points_to_in_full() {
    let home = Home::new();
    home.write(".npmrc", "registry=https://user.example/");
    let other = home.write("other", "registry=https://other.example/");
    let other = other.to_str().unwrap();
    assert_eq!(main_of(&home.around(&[("npm_config_userconfig", other)])), "https://other.example/");
    fs::remove_file(home.0.path().join(".npmrc")).unwrap();
    assert_eq!(main_of(&home.around(&[("npm_config_globalconfig", other)])), "https://other.example/");
}

#[test]
fn remembers_that_there_is_a_credential_and_not_the_credential() {
    let home = Home::new();
    home.write(".npmrc", "registry=https://a.example/npm/\n//a.example/npm/:_authToken=hunter2\n");
    let registries = registries(&home.around(&[]));
    assert!(registries.has_credential(registries.main()));
    assert!(!format!("{registries:?}{}", registries.npmrc()).contains("hunter2"));

    home.write(".npmrc", "registry=https://a.example/\n//b.example/:_authToken=hunter2\n");
    let registries = super::tests::registries(&home.around(&[]));
    assert!(!registries.has_credential(registries.main()));
}
