//! Puts files below a prefix, and remembers which: an installation replaces and removes only what
//! is its own.
//!
//! The list of installed paths lies in `share/oxmpi/installed`, one per line. A file that is in the
//! way and not in the list belongs to somebody else, and then nothing at all is changed. Each file
//! is written beside its place and renamed into it, so that running programs keep the library they
//! have mapped.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::layout::{Content, Item};

/// Where the list is, relative to the prefix.
const LIST: &str = "share/oxmpi/installed";
/// How many files in the way are named.
const NAMED_MAX: usize = 5;

/// Why an installation is not in place.
#[derive(Debug)]
pub enum PlaceError {
    /// Files of somebody else.
    InTheWay {
        prefix: PathBuf,
        files: Vec<PathBuf>,
    },
    /// There is no installation to be removed.
    Nothing { prefix: PathBuf },
    /// Something that should be installed or the list cannot be read.
    Read { path: PathBuf, error: io::Error },
    /// A Fortran compiler that was named makes no modules.
    Fortran { compiler: String, reason: String },
    /// Debug information cannot be taken out of a file.
    Strip { file: PathBuf, reason: String },
    /// A folder of libraries that is not below the prefix.
    Outside { libdir: PathBuf, prefix: PathBuf },
    /// The static program cannot be built.
    Agent { triple: String },
    /// A place cannot be written.
    Write { path: PathBuf, error: io::Error },
}

impl std::fmt::Display for PlaceError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlaceError::InTheWay { prefix, files } => {
                let shown = |path: &PathBuf| path.display().to_string();
                let names: Vec<String> = files.iter().take(NAMED_MAX).map(shown).collect();
                write!(
                    to,
                    "{} has {} files in the way that no installation of OxMPI put there ({}{}); nothing was changed: choose another --prefix or remove them",
                    prefix.display(),
                    files.len(),
                    names.join(", "),
                    if files.len() > NAMED_MAX { ", …" } else { "" }
                )
            }
            PlaceError::Nothing { prefix } => write!(
                to,
                "{} holds no installation of OxMPI: {} is not there",
                prefix.display(),
                prefix.join(LIST).display()
            ),
            PlaceError::Fortran { compiler, reason } => write!(
                to,
                "no Fortran modules for {compiler}: {reason}; nothing was changed: install it, name another with --fortran, or leave --fortran out",
            ),
            PlaceError::Agent { triple } => write!(
                to,
                "the static oxmpi for {triple} cannot be built; nothing was changed: the compiler's words stand above, or leave --static-agent out",
            ),
            PlaceError::Strip { file, reason } => write!(
                to,
                "cannot strip {}: {reason}; nothing was changed: install binutils, or leave --strip out",
                file.display()
            ),
            PlaceError::Outside { libdir, prefix } => write!(
                to,
                "--libdir {} is not below --prefix {}: name a folder such as lib64 or lib/x86_64-linux-gnu, so that the installation can be moved",
                libdir.display(),
                prefix.display()
            ),
            PlaceError::Read { path, error } => {
                write!(to, "cannot read {}: {error}", path.display())
            }
            PlaceError::Write { path, error } => write!(
                to,
                "cannot write {}: {error}; choose a --prefix that is yours, such as --prefix ~/oxmpi",
                path.display()
            ),
        }
    }
}

/// What is installed below a prefix.
#[derive(Debug)]
pub struct Installation {
    prefix: PathBuf,
    /// Relative to the prefix.
    files: BTreeSet<PathBuf>,
}

impl Installation {
    /// What the list of the prefix says; empty when there is none.
    pub fn load(prefix: &Path) -> Result<Installation, PlaceError> {
        let path = prefix.join(LIST);
        let files = match std::fs::read_to_string(&path) {
            Ok(text) => text
                .lines()
                .filter(|line| inside(line))
                .map(PathBuf::from)
                .collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(PlaceError::Read { path, error }),
        };
        Ok(Installation {
            prefix: prefix.to_owned(),
            files,
        })
    }

    /// How many files lie below a folder.
    pub fn count(&self, folder: &str) -> usize {
        self.files
            .iter()
            .filter(|path| path.starts_with(folder))
            .count()
    }

    /// Puts the items in place and removes what an earlier installation had and this one has not.
    pub fn replace(&mut self, items: Vec<Item>) -> Result<(), PlaceError> {
        let is_foreign = |item: &&Item| {
            !self.files.contains(&item.path)
                && self.prefix.join(&item.path).symlink_metadata().is_ok()
        };
        let foreign: Vec<PathBuf> = items
            .iter()
            .filter(is_foreign)
            .map(|item| item.path.clone())
            .collect();
        if !foreign.is_empty() {
            return Err(PlaceError::InTheWay {
                prefix: self.prefix.clone(),
                files: foreign,
            });
        }
        let mut files: BTreeSet<PathBuf> = items.iter().map(|item| item.path.clone()).collect();
        files.insert(PathBuf::from(LIST));
        let old = std::mem::take(&mut self.files);
        // The list is written first: should the rest fail half-way, the next attempt knows what is
        // ours.
        self.files = old.union(&files).cloned().collect();
        self.write_list()?;
        for item in &items {
            self.put(item)?;
        }
        for path in old.difference(&files) {
            self.take(path)?;
        }
        self.files = files;
        self.write_list()
    }

    /// Removes everything, and folders that are empty then; says how many files.
    pub fn remove(&mut self) -> Result<usize, PlaceError> {
        if self.files.is_empty() {
            return Err(PlaceError::Nothing {
                prefix: self.prefix.clone(),
            });
        }
        let files = std::mem::take(&mut self.files);
        for path in files
            .iter()
            .filter(|path| path.as_path() != Path::new(LIST))
        {
            self.take(path)?;
        }
        self.take(Path::new(LIST))?;
        Ok(files.len())
    }

    fn write_list(&self) -> Result<(), PlaceError> {
        let mut text = String::new();
        for path in &self.files {
            text.push_str(&format!("{}\n", path.display()));
        }
        self.put(&Item {
            path: LIST.into(),
            content: Content::Text(text),
        })
    }

    fn put(&self, item: &Item) -> Result<(), PlaceError> {
        let path = self.prefix.join(&item.path);
        let mut beside = path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let written = |error| PlaceError::Write {
            path: path.clone(),
            error,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(written)?;
        }
        // What an interrupted attempt left would make a link fail.
        let _ = std::fs::remove_file(&beside);
        match &item.content {
            Content::Copy(from) => {
                let mut source = std::fs::File::open(from).map_err(|error| PlaceError::Read {
                    path: from.clone(),
                    error,
                })?;
                let mut copy = std::fs::File::create(&beside).map_err(written)?;
                io::copy(&mut source, &mut copy).map_err(written)?;
                let permissions = source.metadata().map_err(written)?.permissions();
                copy.set_permissions(permissions).map_err(written)?;
            }
            Content::Text(text) => std::fs::write(&beside, text).map_err(written)?,
            Content::Link(to) => std::os::unix::fs::symlink(to, &beside).map_err(written)?,
        }
        std::fs::rename(&beside, &path).map_err(written)
    }

    fn take(&self, path: &Path) -> Result<(), PlaceError> {
        let full = self.prefix.join(path);
        match std::fs::remove_file(&full) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(PlaceError::Write { path: full, error });
            }
            _ => {}
        }
        // A folder with something of somebody else's in it stays; that is what the failure says.
        for folder in full
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.prefix)
        {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// A list that was tampered with must not lead out of the prefix.
fn inside(line: &str) -> bool {
    let normal = |part| matches!(part, std::path::Component::Normal(_));
    !line.is_empty() && Path::new(line).components().all(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for each test, gone afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("oxmpi-place-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&path);
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn text(path: &str, text: &str) -> Item {
        let content = Content::Text(text.to_owned());
        Item {
            path: path.into(),
            content,
        }
    }

    fn link(path: &str, to: &str) -> Item {
        let content = Content::Link(to.into());
        Item {
            path: path.into(),
            content,
        }
    }

    fn place(folder: &Folder, items: Vec<Item>) -> Result<(), PlaceError> {
        Installation::load(&folder.0)?.replace(items)
    }

    #[test]
    fn a_later_installation_replaces_an_earlier_one() {
        let folder = Folder::new("replace");
        let first = vec![
            text("bin/a", "1"),
            link("bin/b", "a"),
            text("lib/old/c", "1"),
        ];
        place(&folder, first).unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.0.join("bin/b")).unwrap(),
            "1"
        );
        place(&folder, vec![text("bin/a", "2"), link("bin/b", "a")]).unwrap();
        assert_eq!(
            std::fs::read_to_string(folder.0.join("bin/b")).unwrap(),
            "2"
        );
        assert!(!folder.0.join("lib").exists());
    }

    #[test]
    fn what_belongs_to_others_is_left_alone() {
        let folder = Folder::new("foreign");
        std::fs::create_dir_all(folder.0.join("bin")).unwrap();
        std::fs::write(folder.0.join("bin/b"), "theirs").unwrap();
        let error = place(&folder, vec![text("bin/a", "1"), text("bin/b", "1")]).unwrap_err();
        let message = error
            .to_string()
            .replace(&folder.0.display().to_string(), "PREFIX");
        assert_eq!(
            message,
            "PREFIX has 1 files in the way that no installation of OxMPI put there (bin/b); nothing was changed: choose another --prefix or remove them"
        );
        assert!(!folder.0.join("bin/a").exists());
        // And removing takes only what is ours.
        place(&folder, vec![text("bin/a", "1")]).unwrap();
        assert_eq!(Installation::load(&folder.0).unwrap().remove().unwrap(), 2);
        assert!(!folder.0.join("bin/a").exists() && folder.0.join("bin/b").exists());
        let error = Installation::load(&folder.0).unwrap().remove().unwrap_err();
        assert!(matches!(error, PlaceError::Nothing { .. }));
    }

    #[test]
    fn a_list_cannot_lead_out_of_the_prefix() {
        assert!(inside("bin/mpicc"));
        for line in ["", "/etc/passwd", "../x", "bin/../../x"] {
            assert!(!inside(line), "{line}");
        }
    }
}
