//! `oxmpi fs ls`, `cp`, `cat`, `stat`, `mkdir`, `rm` and `mv`.

use std::io::Write;
use std::path::PathBuf;

use super::copy;
use super::output;
use super::session::{Client, Settings, User};
use super::tree::{Found, Remote, RemoteError};
use crate::protocol::{DATA_MAX, PORT};

/// A place at a server: `HOST:PORT/PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Host and port.
    pub address: String,
    /// The path in the server's folder.
    pub path: String,
}

impl Place {
    /// Reads `HOST:PORT/PATH`, `HOST:PORT` or `HOST:/PATH`; `None` for a path of this host, which
    /// has no colon before its first slash.
    pub fn parse(word: &str) -> Option<Place> {
        // An address of version 6 is in brackets and has colons of its own.
        let from = word.find(']').unwrap_or(0);
        let slash = word[from..].find('/').map_or(word.len(), |at| from + at);
        let (address, path) = word.split_at(slash);
        let colon = from + address[from..].find(':')?;
        let (host, port) = (&address[..colon], &address[colon + 1..]);
        if host.is_empty() {
            return None;
        }
        let address = match port {
            "" => format!("{host}:{PORT}"),
            port => format!("{host}:{port}"),
        };
        Some(Place {
            address,
            path: path.to_owned(),
        })
    }

    /// The last name of the path.
    fn last(&self) -> Option<&str> {
        let name = self.path.trim_end_matches('/').rsplit('/').next();
        name.filter(|name| !name.is_empty())
    }
}

/// How commands reach servers.
pub struct Reach {
    /// The key file.
    pub key_file: PathBuf,
    /// How long a server may be away.
    pub patience: std::time::Duration,
}

impl Reach {
    fn remote(&self, place: &Place) -> Result<Remote, RemoteError> {
        let key = crate::key::read(&self.key_file);
        let key = key.map_err(|error| RemoteError::Wish(error.to_string()))?;
        let client = Client::connect(Settings {
            address: place.address.clone(),
            key,
            patience: self.patience,
            user: User::of_process(),
        })?;
        Ok(Remote { client })
    }
}

fn place(word: &str) -> Result<Place, RemoteError> {
    Place::parse(word).ok_or_else(|| {
        RemoteError::Wish(format!(
            "'{word}' names no server: write HOST:PORT/PATH, or HOST:/PATH for port {PORT}"
        ))
    })
}

fn printed(result: std::io::Result<()>) -> Result<(), RemoteError> {
    result.map_err(|error| RemoteError::Local {
        path: "standard output".into(),
        error,
    })
}

/// Shows what is in a folder.
pub fn list(reach: &Reach, word: &str, long: bool, all: bool) -> Result<(), RemoteError> {
    let place = place(word)?;
    let remote = reach.remote(&place)?;
    let found = remote.find(place.path.as_bytes(), true)?;
    let mut out = std::io::stdout().lock();
    if !found.is_folder() {
        let name = place.last().unwrap_or("/").as_bytes();
        return line(&remote, &mut out, &found, name, long);
    }
    let mut entries = remote.entries(found.node)?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries.retain(|entry| all || !entry.name.starts_with(b"."));
    for entry in entries {
        match long {
            false => printed(writeln!(out, "{}", String::from_utf8_lossy(&entry.name)))?,
            // It may be gone meanwhile.
            true => match remote.lookup(found.node, &entry.name) {
                Ok(below) => line(&remote, &mut out, &below, &entry.name, true)?,
                Err(RemoteError::Server { errno, .. }) if errno == libc::ENOENT as u32 => {}
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}

fn line(
    remote: &Remote,
    out: &mut impl Write,
    found: &Found,
    name: &[u8],
    long: bool,
) -> Result<(), RemoteError> {
    let name = String::from_utf8_lossy(name);
    if !long {
        return printed(writeln!(out, "{name}"));
    }
    let target = match found.is_link() {
        true => {
            let target = remote.readlink(found.node)?;
            format!(" -> {}", String::from_utf8_lossy(&target))
        }
        false => String::new(),
    };
    printed(writeln!(
        out,
        "{} {name}{target}",
        output::long(&found.attr)
    ))
}

/// Writes a file to standard output.
pub fn cat(reach: &Reach, word: &str) -> Result<(), RemoteError> {
    let place = place(word)?;
    let remote = reach.remote(&place)?;
    let found = remote.find(place.path.as_bytes(), true)?;
    let open = remote.open(found.node, libc::O_RDONLY)?;
    let mut out = std::io::stdout().lock();
    let mut offset = 0;
    loop {
        let data = remote.read(found.node, open, offset, DATA_MAX)?;
        if data.is_empty() {
            break;
        }
        printed(out.write_all(&data))?;
        offset += data.len() as u64;
    }
    remote.client.close(open)?;
    printed(out.flush())
}

/// Shows everything about a file.
pub fn stat(reach: &Reach, word: &str) -> Result<(), RemoteError> {
    let place = place(word)?;
    let remote = reach.remote(&place)?;
    let found = remote.find(place.path.as_bytes(), false)?;
    let attr = &found.attr;
    let mut out = std::io::stdout().lock();
    let rows = [
        ("file", place.path.clone()),
        (
            "mode",
            format!("{} ({:04o})", output::mode(attr.mode), attr.mode & 0o7777),
        ),
        (
            "size",
            format!("{} bytes in {} blocks", attr.size, attr.blocks),
        ),
        ("owner", format!("user {}, group {}", attr.uid, attr.gid)),
        ("links", attr.links.to_string()),
        ("inode", format!("{} (node {})", attr.inode, found.node)),
        ("accessed", output::time(attr.access.seconds)),
        ("modified", output::time(attr.modified.seconds)),
        ("changed", output::time(attr.changed.seconds)),
    ];
    for (name, value) in rows {
        printed(writeln!(out, "{name:<9} {value}"))?;
    }
    Ok(())
}

/// Makes a folder, with those above it if so.
pub fn make_folder(reach: &Reach, word: &str, parents: bool) -> Result<(), RemoteError> {
    let place = place(word)?;
    let remote = reach.remote(&place)?;
    if !parents {
        let (folder, name) = remote.find_folder(place.path.as_bytes())?;
        return remote.mkdir(folder.node, &name, 0o755).map(|_| ());
    }
    let mut folder = remote.root();
    for name in place.path.split('/').filter(|name| !name.is_empty()) {
        folder = match remote.mkdir(folder.node, name.as_bytes(), 0o755) {
            Err(RemoteError::Server { errno, .. }) if errno == libc::EEXIST as u32 => {
                remote.lookup(folder.node, name.as_bytes())?
            }
            made => made?,
        };
    }
    Ok(())
}

/// Removes a file, or a folder with what is in it.
pub fn remove(reach: &Reach, word: &str, recursive: bool) -> Result<(), RemoteError> {
    let place = place(word)?;
    let remote = reach.remote(&place)?;
    let (folder, name) = remote.find_folder(place.path.as_bytes())?;
    let found = remote.lookup(folder.node, &name)?;
    if found.is_folder() && !recursive {
        return Err(RemoteError::Wish(format!(
            "{} is a folder: remove it with -r",
            place.path
        )));
    }
    remove_below(&remote, &folder, &name, &found)
}

fn remove_below(
    remote: &Remote,
    folder: &Found,
    name: &[u8],
    found: &Found,
) -> Result<(), RemoteError> {
    if found.is_folder() {
        for entry in remote.entries(found.node)? {
            let below = remote.lookup(found.node, &entry.name)?;
            remove_below(remote, found, &entry.name, &below)?;
        }
    }
    remote.remove(folder.node, name, found.is_folder())
}

/// Moves a file or a folder within a server.
pub fn rename(reach: &Reach, from: &str, to: &str) -> Result<(), RemoteError> {
    let (from, to) = (place(from)?, place(to)?);
    if from.address != to.address {
        return Err(RemoteError::Wish(format!(
            "{} and {} are two servers: copy with cp, then remove",
            from.address, to.address
        )));
    }
    let remote = reach.remote(&from)?;
    let (folder, name) = remote.find_folder(from.path.as_bytes())?;
    let (folder2, name2) = into_folder(&remote, &to, &name)?;
    remote.rename(folder.node, &name, folder2.node, &name2, 0)
}

/// Where something goes: into a folder that is there under its own name, else as the path says.
fn into_folder(remote: &Remote, to: &Place, name: &[u8]) -> Result<(Found, Vec<u8>), RemoteError> {
    match remote.find(to.path.as_bytes(), true) {
        Ok(found) if found.is_folder() => Ok((found, name.to_vec())),
        _ => remote.find_folder(to.path.as_bytes()),
    }
}

/// Copies files and folders to a server or from one.
pub fn copy(reach: &Reach, from: &[String], to: &str, recursive: bool) -> Result<(), RemoteError> {
    let target = Place::parse(to);
    for word in from {
        match (Place::parse(word), &target) {
            (None, Some(target)) => {
                let remote = reach.remote(target)?;
                let path = PathBuf::from(word);
                let name = path.canonicalize().ok();
                let name = name.as_ref().and_then(|path| path.file_name());
                let name = name.unwrap_or(path.as_os_str()).to_string_lossy();
                let (folder, name) = into_folder(&remote, target, name.as_bytes())?;
                copy::up(&remote, &path, &folder, &name, recursive)?;
            }
            (Some(place), None) => {
                let remote = reach.remote(&place)?;
                let found = remote.find(place.path.as_bytes(), true)?;
                let mut path = PathBuf::from(to);
                if path.is_dir() {
                    path.push(place.last().unwrap_or("."));
                }
                copy::down(&remote, &found, &path, recursive)?;
            }
            (Some(_), Some(_)) => {
                return Err(RemoteError::Wish(format!(
                    "{word} and {to} are both at servers: copy to this host between"
                )));
            }
            (None, None) => {
                return Err(RemoteError::Wish(format!(
                    "{word} and {to} are both on this host: one of them has to be HOST:PORT/PATH"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn places_have_a_colon_before_the_first_slash() {
        let parsed = |word| Place::parse(word).map(|place| (place.address, place.path));
        let pair = |address: &str, path: &str| Some((address.to_owned(), path.to_owned()));
        assert_eq!(parsed("host:99/a/b"), pair("host:99", "/a/b"));
        assert_eq!(parsed("host:/a"), pair("host:5021", "/a"));
        assert_eq!(parsed("host:99"), pair("host:99", ""));
        assert_eq!(parsed("[::1]:99/a:b"), pair("[::1]:99", "/a:b"));
        assert_eq!(parsed("/local/a:b"), None);
        assert_eq!(parsed("plain"), None);
        assert_eq!(parsed("./a:b"), None);
        assert_eq!(parsed(":5/a"), None);
    }
}
