//! As whom does a server run?
//!
//! As nobody in particular, unless it is given a folder: then as the folder's owner, who alone can read a private one.
//! Root it is only where a person said so in as many words, for a folder of root's, and then without any of root's
//! powers.
//!
//! Invariant: there is no way to write user 0 down but [`AllowRoot`], and the file of a plan that was drawn with it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::refused::PlanRefused;
use crate::text::Shown;

/// The user a server runs as where the plan has no reason for another: no account of any distribution has it.
const NOBODY_IN_PARTICULAR: u32 = 65_532;

/// Who a server runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "UserFile")]
pub struct User {
    uid: u32,
    gid: u32,
}

/// The person at this command line typed `--allow-root`. Not Clone, not Serialize: it cannot be remembered.
#[derive(Debug)]
pub struct AllowRoot(());

impl AllowRoot {
    /// What the option says.
    pub fn typed(given: bool) -> Option<Self> {
        given.then_some(Self(()))
    }
}

impl User {
    /// 65532:65532.
    pub const NOBODY: Self = Self { uid: NOBODY_IN_PARTICULAR, gid: NOBODY_IN_PARTICULAR };

    /// The owner of a folder; none where that is root.
    ///
    /// Root's group is left out: what its members may do is no part of owning a folder.
    pub fn owner(uid: u32, gid: u32) -> Option<Self> {
        let gid = if gid == 0 || gid == u32::MAX { NOBODY_IN_PARTICULAR } else { gid };
        (uid != 0 && uid != u32::MAX).then_some(Self { uid, gid })
    }

    /// Root, without capabilities as everybody in a cage.
    pub fn root(_: &AllowRoot) -> Self {
        Self { uid: 0, gid: 0 }
    }

    /// Whether it is root.
    pub fn is_root(self) -> bool {
        self.uid == 0
    }

    /// The user's number.
    pub fn uid(self) -> u32 {
        self.uid
    }

    /// The group's number.
    pub fn gid(self) -> u32 {
        self.gid
    }
}

impl FromStr for User {
    type Err = PlanRefused;

    fn from_str(text: &str) -> Result<Self, PlanRefused> {
        let refuse = || PlanRefused::Stored(Shown::new(&format!("`{text}` is no uid:gid")));
        let (uid, gid) = text.split_once(':').ok_or_else(refuse)?;
        let user = Self { uid: uid.parse().map_err(|_| refuse())?, gid: gid.parse().map_err(|_| refuse())? };
        if user.uid == 0 || user.gid == 0 {
            return Err(PlanRefused::Root);
        }
        // (uid_t)-1 means nobody to the system's calls: credentials(7)
        if user.uid == u32::MAX || user.gid == u32::MAX || user.to_string() != text {
            return Err(refuse());
        }
        Ok(user)
    }
}

/// A user as it stands in a plan's file.
#[derive(Deserialize)]
#[serde(transparent)]
struct UserFile(String);

impl TryFrom<UserFile> for User {
    type Error = PlanRefused;

    fn try_from(file: UserFile) -> Result<Self, PlanRefused> {
        if file.0 == "0:0" { Ok(Self { uid: 0, gid: 0 }) } else { file.0.parse() }
    }
}

impl From<User> for String {
    fn from(user: User) -> String {
        user.to_string()
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.uid, self.gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_root_and_other_spellings_of_a_user() {
        assert_eq!("65532:65532".parse::<User>().unwrap(), User::NOBODY);
        for bad in ["0:0", "0:1", "1:0", "root", "1", "01:1", "+1:1", "1:1:1", "", "4294967295:1"] {
            assert!(bad.parse::<User>().is_err(), "{bad}");
        }
    }

    #[test]
    fn is_root_by_the_option_alone_and_never_as_an_owner() {
        assert!(AllowRoot::typed(false).is_none());
        let root = User::root(&AllowRoot::typed(true).unwrap());
        assert!(root.is_root() && !User::NOBODY.is_root());
        assert_eq!((User::owner(0, 0), User::owner(0, 5)), (None, None));
        assert_eq!(User::owner(1000, 100).unwrap().to_string(), "1000:100");
        assert_eq!(User::owner(1000, 0).unwrap().to_string(), "1000:65532");
    }

    #[test]
    fn a_plans_file_keeps_what_was_drawn() {
        for user in [User::NOBODY, User { uid: 0, gid: 0 }, User { uid: 1000, gid: 100 }] {
            let text = serde_json::to_string(&user).unwrap();
            assert_eq!(serde_json::from_str::<User>(&text).unwrap(), user);
        }
        for bad in ["\"0:1\"", "\"1:0\"", "\"00:0\"", "0"] {
            assert!(serde_json::from_str::<User>(bad).is_err(), "{bad}");
        }
    }
}
