//! The installation: where it is, and the words that lead a compiler to it.
//!
//! It is found from the real path of this executable, `PREFIX/bin/oxmpi`, whatever links led here.
//! The header's folder and the library's stand before the user's words, so that no other MPI's
//! files are taken; the library itself stands after them, where linkers want it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::CompileError;
use super::line::{Line, Show};
use super::modules::{self, Modules};

/// The name of the library as the linker wants it: libmpi_abi.so.
const LIBRARY: &str = "mpi_abi";
/// The same of the Fortran library.
const FORTRAN: &str = "mpifort_abi";

/// The root of an installation.
#[derive(Debug)]
pub(super) struct Prefix {
    root: PathBuf,
    /// What a Fortran compiler needs besides, if one is called.
    fortran: Option<Modules>,
}

/// One word that is added, in the two parts that are quoted differently when it is shown.
struct Flag(&'static str, OsString);

impl Prefix {
    /// The installation to which this executable belongs.
    pub(super) fn find(wrapper: &str) -> Result<Prefix, CompileError> {
        let here = std::env::current_exe()
            .and_then(std::fs::canonicalize)
            .map_err(|error| CompileError::Nowhere {
                wrapper: wrapper.to_owned(),
                reason: error.to_string(),
            })?;
        let prefix = here.parent().and_then(Path::parent);
        let prefix = Prefix::at(prefix.unwrap_or(Path::new("/")));
        for file in [
            prefix.include().join("mpi.h"),
            prefix.lib().join(format!("lib{LIBRARY}.so")),
        ] {
            if !file.exists() {
                return Err(CompileError::NotInstalled {
                    wrapper: wrapper.to_owned(),
                    missing: file,
                });
            }
        }
        Ok(prefix)
    }

    fn at(root: &Path) -> Prefix {
        let root = root.to_owned();
        Prefix {
            root,
            fortran: None,
        }
    }

    fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Distributions have different folders for libraries, and `install --libdir` follows them.
    fn lib(&self) -> PathBuf {
        let lib = self.root.join("lib");
        let architecture = format!("{}-linux-gnu", std::env::consts::ARCH);
        let folders = [self.root.join("lib64"), lib.join(architecture)];
        let holds_library = |folder: &&PathBuf| folder.join(format!("lib{LIBRARY}.so")).exists();
        match holds_library(&&lib) {
            true => lib,
            false => folders.iter().find(holds_library).cloned().unwrap_or(lib),
        }
    }

    /// The Fortran compilers that there are modules for.
    pub(super) fn served(&self) -> Vec<String> {
        modules::served(&self.include())
    }

    /// From now on the words are those of a Fortran compiler; false if there are no modules for it.
    pub(super) fn serve(&mut self, compiler: &[OsString]) -> bool {
        let modules = Modules::find(&self.include(), compiler);
        let found = modules.folder.is_some();
        self.fortran = Some(modules);
        found
    }

    /// All that follows the compiler's name.
    pub(super) fn arguments(&self, line: &Line) -> Vec<OsString> {
        let links = line.links();
        let mut before = self.compile_flags();
        let mut after = Vec::new();
        if links {
            before.push(self.folder_flag());
            after = self.library_flags();
        }
        let plain = |flag: Flag| {
            let mut word = OsString::from(flag.0);
            word.push(flag.1);
            word
        };
        let before = before.into_iter().map(plain);
        let after = after.into_iter().map(plain);
        before
            .chain(line.words.iter().cloned())
            .chain(after)
            .collect()
    }

    /// The answer to a question, in one line.
    pub(super) fn shown(&self, show: Show, compiler: &[OsString], line: &Line) -> String {
        let user = || line.words.iter().map(|word| quoted(word));
        let flags = |flags: Vec<Flag>| flags.into_iter().map(|flag| flag.shown());
        let compiler = compiler.iter().map(|word| quoted(word));
        let folder = || vec![self.folder_flag()];
        let words: Vec<String> = match show {
            Show::Line if line.links() => compiler
                .chain(flags(self.compile_flags()))
                .chain(flags(folder()))
                .chain(user())
                .chain(flags(self.library_flags()))
                .collect(),
            Show::Line | Show::CompileLine => compiler
                .chain(flags(self.compile_flags()))
                .chain(user())
                .collect(),
            Show::LinkLine => compiler
                .chain(flags(folder()))
                .chain(user())
                .chain(flags(self.library_flags()))
                .collect(),
            Show::CompileFlags => flags(self.compile_flags()).collect(),
            Show::LinkFlags => flags(folder()).chain(flags(self.library_flags())).collect(),
            Show::Compiler => compiler.collect(),
            Show::IncludeFolders => {
                let folders = self.module_folder().into_iter().chain([self.include()]);
                folders.map(|folder| quoted(folder.as_os_str())).collect()
            }
            Show::LibraryFolders => vec![quoted(self.lib().as_os_str())],
            Show::Libraries if self.fortran.is_some() => vec![FORTRAN.into(), LIBRARY.into()],
            Show::Libraries => vec![LIBRARY.to_owned()],
            // These are answered without an installation.
            Show::Version | Show::Help => Vec::new(),
        };
        words.join(" ")
    }

    fn module_folder(&self) -> Option<PathBuf> {
        self.fortran
            .as_ref()
            .and_then(|modules| modules.folder.clone())
    }

    fn compile_flags(&self) -> Vec<Flag> {
        let own = self.fortran.iter().flat_map(|modules| &modules.flags);
        let own = own.map(|flag| Flag("", flag.into()));
        let folders = self.module_folder().into_iter().chain([self.include()]);
        let folders = folders.map(|folder| Flag("-I", folder.into()));
        own.chain(folders).collect()
    }

    fn folder_flag(&self) -> Flag {
        Flag("-L", self.lib().into())
    }

    /// The program remembers where the library is, as a RUNPATH: LD_LIBRARY_PATH can still put
    /// another library with the standard ABI in its place, which a plain RPATH would not allow.
    fn library_flags(&self) -> Vec<Flag> {
        let lib = self.lib();
        // First, because it is the default of most linkers: a bare -I or -L at the end of the line
        // (an empty variable of a makefile) takes the next word as its folder.
        let mut flags = vec![Flag("-Wl,--enable-new-dtags", OsString::new())];
        if lib.as_os_str().as_encoded_bytes().contains(&b',') {
            // -Wl cuts its words at commas.
            let linker = |word: OsString| [Flag("-Xlinker", OsString::new()), Flag("", word)];
            let words = [OsString::from("-rpath"), lib.into()];
            flags.extend(words.into_iter().flat_map(linker));
        } else {
            flags.push(Flag("-Wl,-rpath,", lib.into()));
        }
        if self.fortran.is_some() {
            flags.push(Flag("-l", FORTRAN.into()));
        }
        flags.push(Flag("-l", LIBRARY.into()));
        flags
    }
}

impl Flag {
    /// CMake's FindMPI takes `-I"/a b/include"` apart, but not `'-I/a b/include'`.
    fn shown(&self) -> String {
        let Flag(name, value) = self;
        if is_plain(value) || value.is_empty() {
            return format!("{name}{}", value.to_string_lossy());
        }
        let mut shown = format!("{name}\"");
        for letter in value.to_string_lossy().chars() {
            if matches!(letter, '"' | '\\' | '$' | '`') {
                shown.push('\\');
            }
            shown.push(letter);
        }
        shown.push('"');
        shown
    }
}

/// A word as a shell wants it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    if is_plain(word) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a shell takes a word as it is.
fn is_plain(word: &OsStr) -> bool {
    let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=+./,:@%^".contains(byte);
    !word.is_empty() && word.as_encoded_bytes().iter().all(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Language;

    fn line(text: &str) -> Line {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        Line::parse("mpicc", Language::C, &words).unwrap()
    }

    fn shown(prefix: &str, text: &str) -> String {
        let line = line(text);
        Prefix::at(prefix.as_ref()).shown(line.show.unwrap(), &["cc".into()], &line)
    }

    #[test]
    fn questions_are_answered() {
        let link = "-L/p/lib -Wl,--enable-new-dtags -Wl,-rpath,/p/lib -lmpi_abi";
        assert_eq!(shown("/p", "-showme:compile"), "-I/p/include");
        assert_eq!(shown("/p", "-showme:link"), link);
        assert_eq!(shown("/p", "-compile-info"), "cc -I/p/include");
        assert_eq!(shown("/p", "-link-info"), format!("cc {link}"));
        assert_eq!(shown("/p", "-show"), format!("cc -I/p/include {link}"));
        assert_eq!(shown("/p", "-show -c a.c"), "cc -I/p/include -c a.c");
        assert_eq!(
            shown("/p", "-show a.c -DX=\"1\" -o a"),
            "cc -I/p/include -L/p/lib a.c '-DX=\"1\"' -o a -Wl,--enable-new-dtags -Wl,-rpath,/p/lib -lmpi_abi"
        );
        assert_eq!(shown("/p", "-showme:command"), "cc");
        assert_eq!(shown("/p", "-showme:libs"), "mpi_abi");
        assert_eq!(shown("/a b", "-showme:incdirs"), "'/a b/include'");
        assert_eq!(shown("/a b", "-showme:compile"), "-I\"/a b/include\"");
    }

    #[test]
    fn a_compiler_gets_the_same_words_unquoted() {
        let text = |prefix: &str, words: &str| {
            let words = Prefix::at(prefix.as_ref()).arguments(&line(words));
            words.join(OsStr::new("|")).into_string().unwrap()
        };
        assert_eq!(
            text("/a b", "a.c"),
            "-I/a b/include|-L/a b/lib|a.c|-Wl,--enable-new-dtags|-Wl,-rpath,/a b/lib|-lmpi_abi"
        );
        assert_eq!(text("/p", "-c a.c"), "-I/p/include|-c|a.c");
        assert_eq!(
            text("/a,b", "a.c"),
            "-I/a,b/include|-L/a,b/lib|a.c|-Wl,--enable-new-dtags|-Xlinker|-rpath|-Xlinker|/a,b/lib|-lmpi_abi"
        );
    }
}
