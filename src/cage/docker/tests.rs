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
