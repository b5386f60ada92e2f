//! The key file: 32 hexadecimal digits that server and clients share. Whoever can read it can act as
//! every user of every client, so only its owner may.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use oxmpi_oxk::JobKey;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read or made.
    #[error("key file {}: {error}; copy the server's, or name it with --key-file", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Others can read it.
    #[error(
        "key file {} can be read or written by others (mode {mode:03o}): chmod 600 {}",
        path.display(), path.display()
    )]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is no key.
    #[error("key file {}: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No place for one is known.
    #[error("there is no home folder for the key file: name one with --key-file")]
    NoHome,
}

/// Where the key is if nobody says: `oxmpi/oxfs.key` below the user's configuration.
pub fn default_path() -> Result<PathBuf, KeyFileError> {
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let config = config.map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").filter(|path| !path.is_empty())?;
        Some(PathBuf::from(home).join(".config"))
    });
    let config = config.ok_or(KeyFileError::NoHome)?;
    Ok(config.join("oxmpi").join("oxfs.key"))
}

/// Reads a key file.
pub fn read(path: &Path) -> Result<JobKey, KeyFileError> {
    let failed = |error| KeyFileError::Io {
        path: path.to_owned(),
        error,
    };
    let mode = std::fs::metadata(path).map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.to_owned();
        return Err(KeyFileError::Mode { path, mode });
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    text.trim().parse().map_err(|why| KeyFileError::Content {
        path: path.to_owned(),
        why: format!("{why}"),
    })
}

/// Reads a key file, or makes one with a new key.
pub fn read_or_make(path: &Path) -> Result<JobKey, KeyFileError> {
    let failed = |error| KeyFileError::Io {
        path: path.to_owned(),
        error,
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(mut file) => {
            let key = JobKey::random().map_err(|error| failed(io::Error::other(error)))?;
            writeln!(file, "{}", key.to_hex()).map_err(failed)?;
            Ok(key)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(failed(error)),
    }
}
