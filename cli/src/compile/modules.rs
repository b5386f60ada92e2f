//! The module files of an installation: one folder for each Fortran compiler, because each compiler
//! reads only its own.
//!
//! `cargo xtask install` makes `include/fortran/COMPILER/` with the modules and a file `flags` of
//! words that the compiler needs besides. A compiler without a folder of its own name uses that of
//! a relative: the files of gfortran-12 are read by gfortran-13, those of flang-new-19 by flang.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Compilers whose module files are alike.
const FAMILIES: [&str; 5] = ["gfortran", "flang", "ifx", "ifort", "nvfortran"];

/// What a Fortran compiler gets.
#[derive(Debug, Default)]
pub(super) struct Modules {
    /// Where its module files are, if there are any.
    pub(super) folder: Option<PathBuf>,
    /// Words that it needs besides.
    pub(super) flags: Vec<String>,
}

impl Modules {
    /// What there is for a compiler, given as its words ("ccache", "gfortran").
    pub(super) fn find(include: &Path, compiler: &[OsString]) -> Modules {
        let names: Vec<String> = compiler.iter().filter_map(file_name).collect();
        let served = served(include);
        let same = served.iter().find(|name| names.contains(name));
        let relative = || {
            let family = names.iter().find_map(|name| family(name))?;
            served.iter().find(|name| family_is(name, family))
        };
        let Some(name) = same.or_else(relative) else {
            return Modules::default();
        };
        let folder = include.join("fortran").join(name);
        let flags = std::fs::read_to_string(folder.join("flags")).unwrap_or_default();
        Modules {
            flags: flags.split_whitespace().map(String::from).collect(),
            folder: Some(folder),
        }
    }
}

/// The compilers that an installation has modules for, sorted.
pub(crate) fn served(include: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(include.join("fortran"))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = folders
        .filter(|folder| folder.path().join("mpi_f08.mod").exists())
        .filter_map(|folder| folder.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// What to say when a compiler has no modules.
pub(super) fn missing(wrapper: &str, compiler: &[OsString]) -> String {
    let name = compiler
        .iter()
        .filter_map(file_name)
        .next_back()
        .unwrap_or_default();
    format!(
        "{wrapper}: this installation has no modules for {name}, so `use mpi` and `use mpi_f08` \
         will fail; cargo xtask install --prefix FOLDER --fortran {name} makes them"
    )
}

fn file_name(word: &OsString) -> Option<String> {
    let name = Path::new(word).file_name()?.to_str()?;
    (!name.starts_with('-')).then(|| name.to_owned())
}

fn family(name: &str) -> Option<&'static str> {
    FAMILIES.into_iter().find(|family| family_is(name, family))
}

/// `x86_64-linux-gnu-gfortran-12` is a gfortran.
fn family_is(name: &str, family: &str) -> bool {
    name.split('-').any(|part| part == family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatives_share_modules() {
        let include = std::env::temp_dir().join(format!("oxmpi-modules-{}", std::process::id()));
        for name in ["gfortran", "flang-new-19"] {
            let folder = include.join("fortran").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("mpi_f08.mod"), "").unwrap();
        }
        std::fs::write(include.join("fortran/gfortran/flags"), "-fone -ftwo\n").unwrap();
        let find = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let modules = Modules::find(&include, &words);
            let folder = modules
                .folder
                .map(|folder| folder.file_name().unwrap().to_owned());
            (
                folder.map(|name| name.into_string().unwrap()),
                modules.flags.join(" "),
            )
        };
        let gfortran = (Some("gfortran".to_owned()), "-fone -ftwo".to_owned());
        assert_eq!(find("ccache /usr/bin/gfortran-13"), gfortran);
        assert_eq!(find("x86_64-linux-gnu-gfortran"), gfortran);
        assert_eq!(
            find("flang"),
            (Some("flang-new-19".to_owned()), String::new())
        );
        assert_eq!(find("nagfor"), (None, String::new()));
        assert_eq!(served(&include), ["flang-new-19", "gfortran"]);
        std::fs::remove_dir_all(&include).unwrap();
    }
}
