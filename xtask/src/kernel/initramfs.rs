//! The guest's file system: an archive of the "newc" kind that the kernel unpacks into memory
//! (Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! Each member is a head of fourteen numbers of eight hexadecimal digits, its name, and its
//! contents, the last two padded to multiples of four bytes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// An archive that grows.
#[derive(Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    files: BTreeSet<String>,
    members: u32,
}

impl Initramfs {
    /// A folder, unless it is there already.
    pub fn folder(&mut self, path: &str) {
        let mut parent = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            parent = match parent.as_str() {
                "" => name.to_owned(),
                _ => format!("{parent}/{name}"),
            };
            if self.folders.insert(parent.clone()) {
                self.member(&parent, FOLDER, &[]);
            }
        }
    }

    /// A file that can be executed, with the folders above it.
    pub fn file(&mut self, path: &str, contents: &[u8]) {
        self.parent(path);
        self.files.insert(path.to_owned());
        self.member(path.trim_start_matches('/'), PROGRAM, contents);
    }

    /// Whether a file is there.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// A file with the contents of one of this machine.
    pub fn copy(&mut self, path: &str, from: &Path) -> io::Result<()> {
        self.file(path, &fs::read(from)?);
        Ok(())
    }

    /// The whole archive.
    pub fn close(mut self) -> Vec<u8> {
        self.member("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn parent(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
    }

    fn member(&mut self, name: &str, mode: u32, contents: &[u8]) {
        self.members += 1;
        // Inode, mode, owner, group, links, time, length, the device's and the file's numbers,
        // length of the name, no sum.
        let length = contents.len() as u32;
        let name_length = name.len() as u32 + 1;
        let numbers = [
            self.members,
            mode,
            0,
            0,
            1,
            0,
            length,
            0,
            0,
            0,
            0,
            name_length,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for number in numbers {
            self.bytes
                .extend_from_slice(format!("{number:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_padded_and_folders_come_first_and_once() {
        let mut archive = Initramfs::default();
        archive.file("/a/b", b"xyz");
        archive.file("a/c", b"");
        let bytes = archive.close();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 4, "{text}");
        assert_eq!(bytes.len() % 4, 0);
        // The second member begins behind "a" with its end and no padding but that: 110 + 2 is a
        // multiple of four.
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..118], b"070701");
        assert!(text.contains("a/b\0"), "{text}");
    }
}
