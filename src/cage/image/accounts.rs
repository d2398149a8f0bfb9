//! Who has a name in a cage?
//!
//! Whoever the server runs as: programs look their own number up (git, ssh, Node's `os.userInfo()`), and some end where
//! it has no name. passwd(5), group(5).

use crate::cage::profile::HOME;
use crate::plan::User;

/// The name of whoever runs in a cage, as in every runtime image.
const NAME: &[u8] = b"cage";

/// Which of the two files.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    /// `/etc/passwd`.
    User,
    /// `/etc/group`.
    Group,
}

impl Entry {
    /// The file with this user's entry first, and without what would be found in its place: an entry of the same number
    /// or of the same name. Root's own goes with its number, its name does not.
    pub(super) fn put(self, before: &[u8], user: User) -> Vec<u8> {
        let (number, name) = match self {
            Entry::User => (user.uid(), if user.is_root() { "root" } else { "cage" }),
            Entry::Group => (user.gid(), if user.gid() == 0 { "root" } else { "cage" }),
        };
        let entry = match self {
            Entry::User => {
                format!("{name}:x:{}:{}:{name}:{HOME}:/usr/sbin/nologin\n", user.uid(), user.gid())
            }
            Entry::Group => format!("{name}:x:{number}:\n"),
        };
        let number = number.to_string();
        let others = before.split(|byte| *byte == b'\n').filter(|line| {
            let mut fields = line.split(|byte| *byte == b':');
            let (first, third) = (fields.next(), fields.nth(1));
            !line.is_empty() && first != Some(NAME) && third != Some(number.as_bytes())
        });
        let mut file = entry.into_bytes();
        for line in others {
            file.extend_from_slice(line);
            file.push(b'\n');
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::AllowRoot;

    const PASSWD: &[u8] = b"root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\ncage:x:65532:65532:cage:/home/cage:/usr/sbin/nologin\n";
    const GROUP: &[u8] = b"root:x:0:\nusers:x:100:\ncage:x:65532:";

    fn put(entry: Entry, before: &[u8], user: &str) -> String {
        String::from_utf8(entry.put(before, user.parse().unwrap())).unwrap()
    }

    #[test]
    fn a_number_has_one_name_and_a_name_one_number() {
        assert_eq!(
            put(Entry::User, PASSWD, "1000:100"),
            "cage:x:1000:100:cage:/home/cage:/usr/sbin/nologin\nroot:x:0:0:root:/root:/bin/bash\n"
        );
        assert_eq!(put(Entry::Group, GROUP, "1000:100"), "cage:x:100:\nroot:x:0:\n");
        assert_eq!(put(Entry::Group, GROUP, "1000:1000"), "cage:x:1000:\nroot:x:0:\nusers:x:100:\n");
    }

    #[test]
    fn root_keeps_its_name_and_gets_the_cages_home() {
        let root = User::root(&AllowRoot::typed(true).unwrap());
        let passwd = String::from_utf8(Entry::User.put(PASSWD, root)).unwrap();
        assert!(passwd.starts_with("root:x:0:0:root:/home/cage:"), "{passwd}");
        assert_eq!(passwd.matches(":0:0:").count(), 1);
        assert_eq!(Entry::Group.put(GROUP, root), b"root:x:0:\nusers:x:100:\n");
    }
}
