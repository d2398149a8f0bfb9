use super::*;

fn labels(kind: &str, launch: &str) -> Labels {
    let pairs = [
        (label::MARK, kind),
        (label::RUNTIME, "node"),
        (label::VERSION, "1"),
        (label::RECIPE, "r"),
        (label::LAUNCH, launch),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn two_launches_that_make_a_runtime_at_once_do_not_share_a_name() {
    assert_ne!(reference(&labels("stage", "aa")), reference(&labels("stage", "bb")));
    // what was tried is one image, whoever made it
    assert_eq!(reference(&labels("runtime", "aa")), reference(&labels("runtime", "bb")));
}

#[test]
fn an_engine_that_is_gone_and_one_that_is_full_are_told_apart() {
    let server = |status_code, message: &str| ApiError::DockerResponseServerError {
        status_code,
        message: message.to_owned(),
    };
    let full = refused("x")(server(500, "write /opt/server/x: no space left on device"));
    assert!(matches!(full, EngineError::Full { .. }), "{full:?}");
    let no = refused("x")(server(409, "conflict"));
    assert!(matches!(no, EngineError::Refused { .. }), "{no:?}");
    let closed = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let gone = refused("x")(ApiError::IOError { err: closed });
    assert!(matches!(gone, EngineError::Gone { .. }), "{gone:?}");
    assert!(matches!(refused("x")(ApiError::RequestTimeoutError), EngineError::Gone { .. }));
}

#[test]
fn an_engines_own_word_names_every_row_that_it_cannot_enforce() {
    let info = |memory, swap, pids, quota, security: &[&str]| bollard::models::SystemInfo {
        memory_limit: Some(memory),
        swap_limit: Some(swap),
        pids_limit: Some(pids),
        cpu_cfs_quota: Some(quota),
        cpu_cfs_period: Some(true),
        security_options: Some(security.iter().map(ToString::to_string).collect()),
        ..Default::default()
    };
    let rows = |info: &_| {
        terms::lacking(info).iter().map(crate::cage::lacking::Lacking::setting).collect::<Vec<_>>()
    };
    let seccomp = ["name=seccomp,profile=default"];
    assert_eq!(rows(&info(true, true, true, true, &seccomp)), Vec::<&str>::new());
    assert_eq!(rows(&info(true, false, true, true, &seccomp)), ["memory and swap"]);
    assert_eq!(
        rows(&info(false, false, false, false, &["name=rootless"])),
        ["memory and swap", "processes", "processors", "seccomp"]
    );
    // what an engine does not say is for the cage to show
    assert_eq!(rows(&bollard::models::SystemInfo::default()), Vec::<&str>::new());
}

#[test]
fn a_warning_is_about_a_row() {
    for (warning, row) in [
        (
            "Your kernel does not support swap limit capabilities or the cgroup is not mounted.",
            "memory and swap",
        ),
        ("Your kernel does not support pids limit capabilities or the cgroup is not mounted.", "processes"),
        ("Your kernel does not support CPU CFS scheduler. CPU period/quota discarded.", "processors"),
        ("Something else.", "the engine's warning"),
    ] {
        let warned = terms::warned(warning);
        assert_eq!((warned.setting(), warned.seen().to_string().as_str()), (row, warning));
        assert!(!warned.remedy().is_empty());
    }
}

#[test]
fn every_row_that_the_engine_wrote_down_otherwise_is_named() {
    use bollard::models::ContainerInspectResponse;
    let profile =
        crate::cage::profile::Profile::run(crate::plan::Limits::default(), crate::plan::User::NOBODY);
    let asked = terms::host_config(&profile);
    let rows = |host: HostConfig| -> Vec<&str> {
        let made = ContainerInspectResponse { host_config: Some(host), ..Default::default() };
        terms::compare(&asked, made).iter().map(crate::cage::lacking::Lacking::setting).collect()
    };
    assert_eq!(rows(asked.clone()), Vec::<&str>::new());
    // the engine's own runtime has whatever name it has
    assert_eq!(rows(HostConfig { runtime: Some("runc".into()), ..asked.clone() }), Vec::<&str>::new());
    let weaker = HostConfig { pids_limit: None, nano_cpus: Some(0), network_mode: None, ..asked.clone() };
    assert_eq!(rows(weaker), ["network", "processes", "processors"]);
    let named = profile.with_runtime(Some(&"runsc".parse().unwrap()));
    let asked = terms::host_config(&named);
    let made = HostConfig { runtime: Some("runc".into()), ..asked.clone() };
    let made = ContainerInspectResponse { host_config: Some(made), ..Default::default() };
    assert_eq!(terms::compare(&asked, made)[0].setting(), "runtime");
}
