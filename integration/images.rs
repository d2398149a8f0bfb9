//! Is it told which images there are, and whose?

use serde_json::Value;

use crate::mounted::mount;
use crate::package::Package;
use crate::pinfold::Home;
use crate::{engine, tests};

tests![
    every_image_is_told_once_with_its_server_and_what_is_unused_can_be_removed,
    doctor_tells_every_runtime_image_and_where_packages_come_from,
];

fn every_image_is_told_once_with_its_server_and_what_is_unused_can_be_removed() {
    let home = Home::new();
    let package = Package::least("has-an-image");
    let server = mount(&home, &package.tarball(), &[]);
    let images = || home.run(["--json", "images"]).ended(0).json()["images"].as_array().unwrap().clone();
    let of_kind = |kind: &str| images().into_iter().filter(|image| image["kind"] == kind).collect::<Vec<_>>();
    let [sealed] = &of_kind("sealed")[..] else { panic!("{:?}", images()) };
    assert_eq!(sealed["used_by"], serde_json::json!([server.name]), "{sealed}");
    assert_eq!((&sealed["unused"], &sealed["id"]), (&false.into(), &Value::from(server.image.as_str())));
    let all = images();
    let ids: std::collections::BTreeSet<_> = all.iter().map(|image| image["id"].to_string()).collect();
    assert_eq!(ids.len(), all.len(), "{all:?}");
    let node = of_kind("runtime").into_iter().find(|image| image["used_by"] != serde_json::json!([]));
    assert_eq!(node.unwrap()["used_by"], serde_json::json!([server.name]));
    let told = home.run(["images"]).ended(0);
    assert!(told.stdout.contains("; of has-an-image"), "{told}");

    home.run(["pins", "reset", &server.name]).ended(0);
    let told = home.run(["images"]).ended(0).to_string();
    assert!(
        told.contains("unused: no mounted server's") && told.contains("`pinfold images prune`"),
        "{told}"
    );
    let pruned = home.run(["--json", "images", "prune"]).ended(0).json();
    assert_eq!(pruned["removed"], 1);
    assert_eq!(engine::sealed(&server.tree), Vec::<String>::new());
    assert!(of_kind("sealed").is_empty() && !of_kind("runtime").is_empty(), "{:?}", images());
}

fn doctor_tells_every_runtime_image_and_where_packages_come_from() {
    let home = Home::new();
    // any command makes its directories
    home.run(["list"]).ended(0);
    std::fs::write(home.file("config/config.toml"), "[pypi]\nindex = \"https://mirror.example/simple/\"\n")
        .unwrap();
    let report = home.run(["--json", "doctor"]).ended(0).json();
    let runtimes = report["runtimes"].as_array().unwrap();
    let names: Vec<_> = runtimes.iter().map(|runtime| runtime["runtime"].as_str().unwrap()).collect();
    assert_eq!(names, ["node", "python3.13", "python3.11"]);
    let node = &runtimes[0]["image"];
    assert!(node["version"].is_string() && node["recipe"].is_string(), "{report}");
    assert_eq!(report["index"], "https://mirror.example/simple/ (from config.toml)");
    assert!(report["registry"].as_str().unwrap().contains(" (from "), "{report}");
    let told = home.run(["doctor"]).ended(0).stdout;
    for word in ["runtime images", "npm registry", "Python index", "mirror.example"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}
