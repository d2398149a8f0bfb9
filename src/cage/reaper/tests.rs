//! Against an engine that only knows cages.

use std::path::PathBuf;
use std::sync::Mutex;

use futures_util::FutureExt;

use super::*;
use crate::cage::engine::{
    About, Answer, CageRecord, CageSpec, EngineError, Handle, ImageId, ImageRecord, Started, VolumeRecord,
};
use crate::text::Shown;

/// An engine that holds these cages, each by its labels.
#[derive(Default)]
struct Cages(Mutex<Vec<(String, Labels)>>);

impl Cages {
    fn with(self, name: &str, labels: &Labels) -> Self {
        self.0.lock().unwrap().push((name.to_owned(), labels.clone()));
        self
    }

    fn left(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }
}

fn never<T: Send + 'static>() -> Answer<'static, T> {
    let error = EngineError::Refused { doing: "do anything but this", said: Shown::new("no") };
    std::future::ready(Err(error)).boxed()
}

impl Engine for Cages {
    fn cages<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<CageRecord>> {
        let cages = self.0.lock().unwrap().clone().into_iter();
        let found = cages.filter(|(_, has)| labels.iter().all(|(name, value)| has.get(name) == Some(value)));
        let found = found.map(|(name, labels)| CageRecord { handle: Handle::new(name), labels }).collect();
        std::future::ready(Ok(found)).boxed()
    }

    fn remove<'a>(&'a self, cage: &'a Handle) -> Answer<'a, ()> {
        self.0.lock().unwrap().retain(|(name, _)| name != cage.as_str());
        std::future::ready(Ok(())).boxed()
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn about(&self) -> Answer<'_, About> {
        never()
    }
    fn images<'a>(&'a self, _: &'a Labels) -> Answer<'a, Vec<ImageRecord>> {
        never()
    }
    fn image<'a>(&'a self, _: &'a ImageId) -> Answer<'a, Option<ImageRecord>> {
        never()
    }
    fn pull<'a>(&'a self, _: &'a str) -> Answer<'a, ImageId> {
        never()
    }
    fn import(&self, _: PathBuf, _: Labels) -> Answer<'_, ImageId> {
        never()
    }
    fn layer<'a>(&'a self, _: &'a ImageId, _: PathBuf, _: Labels) -> Answer<'a, ImageId> {
        never()
    }
    fn read<'a>(&'a self, _: &'a ImageId, _: &'a str, _: u64) -> Answer<'a, Vec<u8>> {
        never()
    }
    fn start(&self, _: CageSpec) -> Answer<'_, Started> {
        never()
    }
    fn seal<'a>(&'a self, _: &'a Handle, _: Labels) -> Answer<'a, ImageId> {
        never()
    }
    fn gone<'a>(&'a self, _: &'a Handle) -> Answer<'a, ()> {
        never()
    }
    fn remove_image<'a>(&'a self, _: &'a ImageId) -> Answer<'a, ()> {
        never()
    }
    fn volume<'a>(&'a self, _: &'a str) -> Answer<'a, Option<VolumeRecord>> {
        never()
    }
    fn make_volume<'a>(&'a self, _: &'a str, _: Labels) -> Answer<'a, VolumeRecord> {
        never()
    }
    fn volumes<'a>(&'a self, _: &'a Labels) -> Answer<'a, Vec<VolumeRecord>> {
        never()
    }
    fn remove_volume<'a>(&'a self, _: &'a str) -> Answer<'a, ()> {
        never()
    }
}

fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    (dir, home)
}

/// The labels of a cage of this home's and this launch's.
fn labels(home: &Home, launch: &str) -> Labels {
    let mut labels = of(home).unwrap();
    labels.insert(label::LAUNCH.into(), launch.to_owned());
    labels
}

/// The same but for one label.
fn but(labels: &Labels, name: &str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.insert(name.to_owned(), value.to_owned());
    labels
}

const NEVER_WAS: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn takes_what_launches_left_that_are_over() {
    let (_dir, home) = home();
    let ended = Launch::begin(&home).unwrap();
    let (killed, orderly) = (ended.id().to_string(), Launch::begin(&home).unwrap().id().to_string());
    ended.leave_behind();
    drop(ended);
    let engine = Cages::default()
        .with("of one that was killed", &labels(&home, &killed))
        .with("of one that ended", &labels(&home, &orderly))
        .with("of one that never was", &labels(&home, NEVER_WAS))
        .with("of a name that is none", &labels(&home, "../id"))
        .with("without a name", &of(&home).unwrap());
    assert_eq!(sweep(&engine, &home).await.unwrap(), 5);
    assert_eq!(engine.left(), [""; 0]);
    assert_eq!(sweep(&engine, &home).await.unwrap(), 0);
}

#[tokio::test]
async fn leaves_what_a_living_launch_has() {
    let (_dir, home) = home();
    let alive = Launch::begin(&home).unwrap();
    let engine = Cages::default().with("alive", &labels(&home, alive.id().as_str()));
    assert_eq!(sweep(&engine, &home).await.unwrap(), 0);
    // in another process, too: what is held is the file, not the number of its process
    let again = Home::at(_dir.path()).unwrap();
    assert_eq!(sweep(&engine, &again).await.unwrap(), 0);
    assert_eq!(engine.left(), ["alive"]);
    drop(alive);
    assert_eq!(sweep(&engine, &home).await.unwrap(), 1);
}

#[tokio::test]
async fn leaves_what_is_anybody_else_s() {
    let (_dir, home) = home();
    let ours = labels(&home, NEVER_WAS);
    let engine = Cages::default()
        .with("another user's", &but(&ours, label::STATE, &"f".repeat(32)))
        .with("a copy's", &but(&ours, label::PLACE, "1:1"))
        .with("an image's", &but(&ours, label::MARK, "sealed"))
        .with("nobody's", &Labels::new());
    assert_eq!(sweep(&engine, &home).await.unwrap(), 0);
    assert_eq!(engine.left(), ["another user's", "a copy's", "an image's", "nobody's"]);
}

#[tokio::test]
async fn leaves_what_a_copied_state_directory_has_open_though_both_have_one_id() {
    let ((_one, first), (_other, copy)) = (home(), home());
    // as `cp -a` of the first while it has a launch: the same id, and a file of that launch that nobody holds
    let alive = Launch::begin(&first).unwrap();
    let (_, from, to) =
        (copy.id().unwrap(), first.state_dir().to_owned(), copy.state_subdir("launches").unwrap());
    std::fs::write(copy.state_dir().join("id"), first.id().unwrap().as_str()).unwrap();
    std::fs::copy(from.join("launches").join(alive.id().as_str()), to.join(alive.id().as_str())).unwrap();
    assert_eq!(copy.id().unwrap(), first.id().unwrap());
    let own = Launch::begin(&copy).unwrap();
    let engine = Cages::default()
        .with("the first's", &labels(&first, alive.id().as_str()))
        .with("the copy's", &labels(&copy, own.id().as_str()));
    assert_eq!(sweep(&engine, &copy).await.unwrap(), 0);
    assert_eq!(sweep(&engine, &first).await.unwrap(), 0);
    drop((alive, own));
    assert_eq!(sweep(&engine, &copy).await.unwrap(), 1);
    assert_eq!(engine.left(), ["the first's"]);
    assert_eq!(sweep(&engine, &first).await.unwrap(), 1);
}

#[tokio::test]
async fn takes_nothing_of_a_launch_that_cannot_be_asked() {
    use std::os::unix::fs::symlink;
    let (_dir, home) = home();
    symlink("/dev/null", home.state_subdir("launches").unwrap().join(NEVER_WAS)).unwrap();
    let engine = Cages::default().with("unknown", &labels(&home, NEVER_WAS));
    sweep(&engine, &home).await.unwrap_err();
    assert_eq!(engine.left(), ["unknown"]);
    assert_eq!(Launch::left(&home).unwrap(), []);
}

#[tokio::test]
async fn a_launch_that_ends_discards_its_own_cages_and_no_others() {
    let (_dir, home) = home();
    let (own, other) = (Launch::begin(&home).unwrap(), Launch::begin(&home).unwrap());
    let own_labels = labels(&home, own.id().as_str());
    let engine = Cages::default()
        .with("own", &own_labels)
        .with("another launch's", &labels(&home, other.id().as_str()))
        .with("another place's", &but(&own_labels, label::PLACE, "1:1"));
    assert_eq!(discard(&engine, &home, own.id()).await.unwrap(), 1);
    assert_eq!(engine.left(), ["another launch's", "another place's"]);
}
