//! Output of each rank in a file of its own.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use oxmpi_trust::Access;

use super::Which;
use super::style::Style;

/// What stands for the rank in a pattern.
const RANK: &str = "%r";
/// Files kept open; the others are opened again when they are needed.
const OPEN_MAX: usize = 256;

/// Names of files, by stream, with `%r` for the rank; a stream without a name goes on as ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePatterns {
    /// Standard output.
    pub stdout: Option<PathBuf>,
    /// Standard error.
    pub stderr: Option<PathBuf>,
}

impl FilePatterns {
    /// Both streams of each rank in files of one folder.
    pub fn in_folder(folder: &Path) -> FilePatterns {
        FilePatterns {
            stdout: Some(folder.join(format!("rank.{RANK}.stdout"))),
            stderr: Some(folder.join(format!("rank.{RANK}.stderr"))),
        }
    }
}

/// The files of a job.
#[derive(Default)]
pub(super) struct RankFiles {
    patterns: [Option<PathBuf>; 2],
    open: HashMap<PathBuf, File>,
    /// Files of this job, which are not emptied again.
    made: HashSet<PathBuf>,
}

impl RankFiles {
    pub(super) fn new(patterns: &FilePatterns) -> RankFiles {
        RankFiles {
            patterns: [patterns.stdout.clone(), patterns.stderr.clone()],
            ..RankFiles::default()
        }
    }

    /// Writes a block. False if the stream has no file; an error says why not, and the stream has
    /// none from then on.
    pub(super) fn put(
        &mut self,
        rank: u32,
        which: Which,
        block: &[u8],
        style: Style,
    ) -> Result<bool, String> {
        let Some(pattern) = &self.patterns[which as usize] else {
            return Ok(false);
        };
        let name = pattern.to_string_lossy().replace(RANK, &rank.to_string());
        let path = PathBuf::from(name);
        self.write(&path, block, style).map_err(|why| {
            self.patterns[which as usize] = None;
            format!("output of rank {rank} is not written to a file: {why}")
        })?;
        Ok(true)
    }

    fn write(&mut self, path: &Path, block: &[u8], style: Style) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let file = match self.open.get_mut(path) {
            Some(file) => file,
            None => {
                let file = self.open(path)?;
                self.open.entry(path.to_owned()).or_insert(file)
            }
        };
        if !style.time {
            return file.write_all(block).map_err(failed);
        }
        // The file's name has the rank.
        let mark = Style {
            label: false,
            ..style
        }
        .mark(0);
        let lines = block.split_inclusive(|&byte| byte == b'\n');
        let marked: Vec<u8> = lines
            .flat_map(|line| [mark.as_bytes(), line].concat())
            .collect();
        file.write_all(&marked).map_err(failed)
    }

    fn open(&mut self, path: &Path) -> Result<File, String> {
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        if self.made.contains(path) {
            let file = OpenOptions::new().append(true).open(path);
            return file.map_err(|error| format!("{}: {error}", path.display()));
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let file = oxmpi_trust::create(path, Access::Usual).map_err(|error| error.to_string())?;
        self.made.insert(path.to_owned());
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_may_be_open() {
        let folder = std::env::temp_dir().join(format!("oxmpi-outlet-{}", std::process::id()));
        let mut files = RankFiles::new(&FilePatterns::in_folder(&folder.join("out")));
        for text in ["one\n", "two\n"] {
            for rank in 0..OPEN_MAX as u32 + 44 {
                let put = files.put(rank, Which::Stdout, text.as_bytes(), Style::default());
                assert_eq!(put, Ok(true));
            }
        }
        let text = std::fs::read_to_string(folder.join("out/rank.299.stdout")).unwrap();
        assert_eq!(text, "one\ntwo\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_said_once() {
        let patterns = FilePatterns {
            stdout: Some("/proc/nonesuch/%r".into()),
            stderr: None,
        };
        let mut files = RankFiles::new(&patterns);
        let why = files.put(3, Which::Stdout, b"x\n", Style::default());
        let why = why.unwrap_err();
        assert!(why.starts_with("output of rank 3 is not written to a file: /proc"));
        let again = files.put(3, Which::Stdout, b"x\n", Style::default());
        assert_eq!(again, Ok(false));
    }
}
