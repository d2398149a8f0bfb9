//! Is this a zip archive that every reader reads the same?
//!
//! A zip file has two lists of its members, a header before each and a directory at the end, and readers differ in
//! which they believe, in what they make of a name that is there twice, and in where they look for the directory. What
//! a person is shown has to be what is installed, so an archive has one reading or is none: the directory lies at the
//! very end, the members one after another before it from the first byte on, and both lists agree on every field.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10, section 4.3 and 4.4. That wheels need no more is also what large indexes hold
//! them to. The members' content is read by the `zip` crate, which does not tell of most of this.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use zip::ZipArchive;

/// The most members a wheel may have.
const MEMBERS: usize = 65_534;
/// The most bytes a wheel may unpack to: 2 GiB.
const UNPACKED_BYTES: u64 = 2 << 30;
/// The end of the directory, without a comment.
const END: usize = 22;
/// A member's header, and its entry in the directory, without name and extra fields.
const HEADER: usize = 30;
const ENTRY: usize = 46;
/// What may follow a member's bytes where its sizes were not known before.
const DESCRIPTOR: usize = 16;
/// Flags: encrypted, sizes in a descriptor, the name is UTF-8.
const ENCRYPTED: u16 = 1;
const DESCRIBED: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// What a deflated member may say of how it was made; no reader needs it.
const EFFORT: u16 = 0b110;
/// Extra fields that give another size or another name.
const OTHER_READING: [u16; 2] = [0x0001, 0x7075];

/// An archive with one reading.
pub(super) struct Archive<'a> {
    members: BTreeSet<String>,
    zip: ZipArchive<Cursor<&'a [u8]>>,
}

impl<'a> Archive<'a> {
    /// Reads the two lists of an archive.
    ///
    /// # Errors
    /// It is no zip archive, or one that readers may read differently; which way, in a clause.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let members = members(bytes)?;
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("it is no zip archive: {error}"))?;
        if zip.len() != members.len() {
            return Err("its directory is read differently".to_owned());
        }
        Ok(Self { members, zip })
    }

    /// Every member's path, `/` between its parts; a folder's ends in one.
    pub(super) fn members(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(String::as_str)
    }

    /// A member's text; none where there is no such member.
    ///
    /// # Errors
    /// It is larger than `limit` bytes, no UTF-8, or other than its checksum says.
    pub(super) fn text(&mut self, path: &str, limit: u64) -> Result<Option<String>, String> {
        if !self.members.contains(path) {
            return Ok(None);
        }
        let member = self.zip.by_name(path).map_err(|error| format!("its {path} cannot be read: {error}"))?;
        let mut bytes = Vec::new();
        member
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("its {path} cannot be read: {error}"))?;
        if bytes.len() as u64 > limit {
            return Err(format!("its {path} is larger than {limit} bytes"));
        }
        String::from_utf8(bytes).map(Some).map_err(|_| format!("its {path} is no UTF-8"))
    }
}

/// The directory's entry of a member.
struct Entry<'a> {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    unpacked: u32,
    name: &'a [u8],
    at: usize,
}

fn members(bytes: &[u8]) -> Result<BTreeSet<String>, String> {
    let odd = |what: &str| format!("it is no plain zip archive: {what}");
    let end_at = bytes.len().checked_sub(END).ok_or_else(|| odd("it is too short"))?;
    let end = &bytes[end_at..];
    if !end.starts_with(b"PK\x05\x06") {
        return Err(odd("it does not end in a directory"));
    }
    let (count, size, at) = (u16_at(end, 10), u32_at(end, 12) as usize, u32_at(end, 16) as usize);
    if u16_at(end, 4) != 0 || u16_at(end, 6) != 0 || u16_at(end, 8) != count || u16_at(end, 20) != 0 {
        return Err(odd("its directory is in parts, or has a comment"));
    }
    // What does not fit these fields is in the larger format, which has a second directory's end.
    if usize::from(count) > MEMBERS || at.checked_add(size) != Some(end_at) {
        return Err(odd("its directory does not end where the archive does"));
    }
    let mut rest = &bytes[at..end_at];
    let (mut entries, mut names, mut unpacked) = (Vec::new(), BTreeSet::new(), 0_u64);
    for _ in 0..count {
        let (entry, after) = entry(rest).map_err(|what| odd(&what))?;
        rest = after;
        unpacked += u64::from(entry.unpacked);
        let name = path(entry.name, entry.flags).map_err(|what| odd(&what))?;
        // A file and a folder of one name are one place.
        if names.contains(name.trim_end_matches('/'))
            || names.contains(&format!("{name}/"))
            || !names.insert(name)
        {
            return Err(odd("two of its members have one name"));
        }
        entries.push(entry);
    }
    if !rest.is_empty() {
        return Err(odd("its directory holds more than it says"));
    }
    if unpacked > UNPACKED_BYTES {
        return Err("it unpacks to more than 2 GiB".to_owned());
    }
    entries.sort_by_key(|entry| entry.at);
    let mut next = 0;
    for entry in &entries {
        if entry.at != next {
            return Err(odd("there is something between its members"));
        }
        next = after(&bytes[..at], entry).ok_or_else(|| odd("a member is described in two ways"))?;
    }
    if next != at {
        return Err(odd("there is something between its members and its directory"));
    }
    Ok(names)
}

/// The first entry of a directory, and what follows it.
fn entry(directory: &[u8]) -> Result<(Entry<'_>, &[u8]), String> {
    let broken = || "its directory is cut short".to_owned();
    let head = directory.get(..ENTRY).filter(|head| head.starts_with(b"PK\x01\x02")).ok_or_else(broken)?;
    let lengths = [28, 30, 32].map(|at| usize::from(u16_at(head, at)));
    let end = ENTRY + lengths.iter().sum::<usize>();
    let rest = directory.get(ENTRY..end).ok_or_else(broken)?;
    let (name, rest) = rest.split_at(lengths[0]);
    let entry = Entry {
        flags: u16_at(head, 8),
        method: u16_at(head, 10),
        crc: u32_at(head, 16),
        packed: u32_at(head, 20),
        unpacked: u32_at(head, 24),
        name,
        at: u32_at(head, 42) as usize,
    };
    if entry.flags & ENCRYPTED != 0 {
        return Err("a member is encrypted".to_owned());
    }
    if entry.flags & !(DESCRIBED | UTF8 | EFFORT) != 0 || u16_at(head, 34) != 0 {
        return Err("a member is of a rare kind".to_owned());
    }
    if !matches!(entry.method, 0 | 8) {
        return Err("a member is packed in a way that wheels are not".to_owned());
    }
    if entry.method == 0 && entry.packed != entry.unpacked {
        return Err("a member that is not packed has two sizes".to_owned());
    }
    extra(&rest[..lengths[1]])?;
    // The upper half is a Unix mode where the archive was made on one; 0 says nothing.
    let kind = (u32_at(head, 38) >> 16) & 0o170_000;
    if !matches!((kind, name.ends_with(b"/")), (0 | 0o100_000, false) | (0 | 0o040_000, true)) {
        return Err("a member is neither a plain file nor a folder".to_owned());
    }
    Ok((entry, &directory[end..]))
}

/// Extra fields: an id, a length, and so many bytes each.
fn extra(mut fields: &[u8]) -> Result<(), String> {
    while !fields.is_empty() {
        let length = fields.get(..4).map(|head| usize::from(u16_at(head, 2)));
        let whole =
            length.and_then(|length| fields.get(..4 + length)).ok_or("an extra field is cut short")?;
        if OTHER_READING.contains(&u16_at(whole, 0)) {
            return Err("an extra field gives a member another size or name".to_owned());
        }
        fields = &fields[whole.len()..];
    }
    Ok(())
}

/// Where a member ends, if its own header says what the directory does.
fn after(bytes: &[u8], entry: &Entry<'_>) -> Option<usize> {
    let head = bytes.get(entry.at..entry.at.checked_add(HEADER)?)?;
    let (name_length, extra_length) = (usize::from(u16_at(head, 26)), usize::from(u16_at(head, 28)));
    let name_at = entry.at + HEADER;
    let data_at = name_at + name_length + extra_length;
    let same = head.starts_with(b"PK\x03\x04")
        && u16_at(head, 6) == entry.flags
        && u16_at(head, 8) == entry.method
        && bytes.get(name_at..name_at + name_length)? == entry.name
        && extra(bytes.get(name_at + name_length..data_at)?).is_ok();
    let sizes = [u32_at(head, 14), u32_at(head, 18), u32_at(head, 22)];
    let said = [entry.crc, entry.packed, entry.unpacked];
    let end = data_at.checked_add(entry.packed as usize).filter(|end| *end <= bytes.len())?;
    if entry.flags & DESCRIBED == 0 {
        return (same && sizes == said).then_some(end);
    }
    // Sizes that come after the bytes: the header has none, or the same ones.
    let descriptor = bytes.get(end..end.checked_add(DESCRIPTOR)?)?;
    let described = [4, 8, 12].map(|at| u32_at(descriptor, at));
    let good = same
        && (sizes == [0; 3] || sizes == said)
        && descriptor.starts_with(b"PK\x07\x08")
        && described == said;
    good.then_some(end + DESCRIPTOR)
}

/// A member's path: relative, in plain parts, and the same in every encoding.
fn path(name: &[u8], flags: u16) -> Result<String, String> {
    let refused = |what: &str| Err(format!("the name of a member {what}"));
    let Ok(name) = std::str::from_utf8(name) else { return refused("is no UTF-8") };
    if !name.is_ascii() && flags & UTF8 == 0 {
        return refused("is in no encoding that is told");
    }
    if name.contains(char::is_control) || name.contains(['\\', ':']) {
        return refused("holds a control character, a backslash or a colon");
    }
    let plain = name.strip_suffix('/').unwrap_or(name);
    if plain.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refused("leads out of the archive, or is empty");
    }
    Ok(name.to_owned())
}

/// Little-endian numbers at places that the caller has checked to be there.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

#[cfg(test)]
mod tests;
