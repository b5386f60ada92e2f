//! What lies where in an installation.
//!
//! One list; everything else follows from it. The commands are one executable under several names,
//! by symbolic links that do not leave their folder. There is no CMake package: CMake's own FindMPI
//! asks the wrappers.

use std::path::{Path, PathBuf};

use super::fortran::{self, Modules};
use super::place::PlaceError;
use super::strip::{Stripped, installed_name};

/// The folders of an installation and what a user finds there.
pub const FOLDERS: [(&str, &str); 6] = [
    ("bin", "oxmpi, mpiexec, mpirun, mpicc, mpicxx, mpifort"),
    (
        "include",
        "mpi.h and mpif.h, the standard ABI of MPI 5.0; Fortran modules",
    ),
    (
        "lib",
        "libmpi_abi.so.1, libmpifort_abi.so.1, and pkg-config files",
    ),
    ("share/man", "man pages"),
    ("share/doc", "README, licences, documentation"),
    ("share/oxmpi", "the list of what was installed"),
];

/// The other names of bin/oxmpi. Those with _abi are what other libraries call their wrappers for
/// the standard ABI.
const NAMES: [&str; 12] = [
    "mpiexec",
    "mpirun",
    "mpicc",
    "mpicxx",
    "mpic++",
    "mpiCC",
    "mpicc_abi",
    "mpicxx_abi",
    "mpifort",
    "mpif90",
    "mpif77",
    "mpifort_abi",
];

/// The pkg-config modules that build systems ask for; all say the same. Some ask for those of
/// another library by name, as Meson does.
const MODULES: [&str; 7] = [
    "oxmpi", "mpi", "mpi-c", "mpi-cxx", "mpich", "ompi-c", "ompi-cxx",
];

/// The same for Fortran programs.
const FORTRAN_MODULES: [&str; 3] = ["oxmpi-fort", "mpi-fort", "ompi-fort"];

/// Man pages that are another's: name, page.
const OTHER_PAGES: [(&str, &str); 7] = [
    ("mpirun", "mpiexec"),
    ("oxmpi-run", "mpiexec"),
    ("mpicxx", "mpicc"),
    ("mpic++", "mpicc"),
    ("mpifort", "mpicc"),
    ("mpif90", "mpicc"),
    ("mpif77", "mpicc"),
];

/// What an installation is made of.
pub struct Parts {
    /// The workspace.
    pub source: PathBuf,
    /// Where cargo left executables and the library.
    pub built: PathBuf,
    /// The text of mpi.h.
    pub header: String,
    /// Whether programs linked against early releases of other libraries shall find
    /// libmpi_abi.so.0.
    pub soname0: bool,
    /// The Fortran modules, a set for each compiler.
    pub fortran: Vec<Modules>,
    /// The folder of libraries below the prefix.
    pub libdir: String,
    /// Stripped files with their debug information, if that is to be apart.
    pub debug: Option<Stripped>,
    /// The static `oxmpi`, if it is wanted.
    pub agent: Option<PathBuf>,
}

/// Something to be put at a path below the prefix.
pub struct Item {
    /// Where, relative to the prefix.
    pub path: PathBuf,
    /// What.
    pub content: Content,
}

/// What is put somewhere.
pub enum Content {
    /// A copy of a file, with its permissions.
    Copy(PathBuf),
    /// A text.
    Text(String),
    /// A symbolic link to this.
    Link(PathBuf),
}

/// mpi.h, from the table of the ABI.
pub fn header() -> String {
    oxmpi_abi_table::header(&oxmpi_abi_table::Table::mpi5())
}

/// All of it.
pub fn items(parts: &Parts) -> Result<Vec<Item>, PlaceError> {
    let mut items = Vec::new();
    let mut put = |path: String, content: Content| {
        let path = PathBuf::from(path);
        items.push(Item { path, content });
    };
    let lib = &parts.libdir;
    for (folder, name) in [
        ("bin", "oxmpi"),
        (lib, "libmpi_abi.so"),
        (lib, "libmpifort_abi.so"),
    ] {
        let installed = installed_name(name);
        let stripped = parts.debug.as_ref().and_then(|debug| debug.file(name));
        let from = stripped.unwrap_or_else(|| parts.built.join(name));
        put(format!("{folder}/{installed}"), Content::Copy(from));
        if let Some(debug) = &parts.debug {
            put(
                format!("{folder}/.debug/{installed}.debug"),
                Content::Copy(debug.debug(&installed)),
            );
        }
    }
    if let Some(agent) = &parts.agent {
        put("bin/oxmpi-static".into(), Content::Copy(agent.clone()));
    }
    for name in NAMES {
        put(format!("bin/{name}"), Content::Link("oxmpi".into()));
    }
    put("include/mpi.h".into(), Content::Text(parts.header.clone()));
    put(
        "include/oxmpi/fortran_handles.h".into(),
        Content::Text(include_str!("fortran_handles.h").to_owned()),
    );
    // Build files that know no wrappers say -lmpi.
    let links = ["libmpi_abi.so", "libmpi.so", "libmpi_abi.so.0"];
    for name in &links[..2 + usize::from(parts.soname0)] {
        put(
            format!("{lib}/{name}"),
            Content::Link("libmpi_abi.so.1".into()),
        );
    }
    put(
        "include/mpif.h".into(),
        Content::Text(fortran::include_file()),
    );
    for (module, text) in fortran::sources() {
        put(
            format!("share/oxmpi/fortran/{module}.f90"),
            Content::Text(text),
        );
    }
    for modules in &parts.fortran {
        let folder = format!("include/fortran/{}", modules.compiler);
        for file in &modules.files {
            put(
                format!("{folder}/{}", file_name(file)),
                Content::Copy(file.clone()),
            );
        }
        put(
            format!("{folder}/flags"),
            Content::Text(format!("{}\n", modules.flags)),
        );
    }
    for name in ["libmpifort_abi.so", "libmpifort.so"] {
        put(
            format!("{lib}/{name}"),
            Content::Link("libmpifort_abi.so.1".into()),
        );
    }
    for module in MODULES {
        put(
            format!("{lib}/pkgconfig/{module}.pc"),
            Content::Text(pkgconfig(module, lib, "", "")),
        );
    }
    // pkg-config knows no compilers, so these are for the first one.
    let cflags = parts.fortran.first().map_or(String::new(), |modules| {
        let (flags, name) = (&modules.flags, &modules.compiler);
        format!("{flags} -I${{includedir}}/fortran/{name} ")
    });
    for module in FORTRAN_MODULES {
        put(
            format!("{lib}/pkgconfig/{module}.pc"),
            Content::Text(pkgconfig(
                module,
                lib,
                cflags.trim_start(),
                "-lmpifort_abi ",
            )),
        );
    }
    for page in files(&parts.source.join("docs/man"), "1")? {
        let name = file_name(&page);
        put(format!("share/man/man1/{name}"), Content::Copy(page));
    }
    for (name, page) in OTHER_PAGES {
        put(
            format!("share/man/man1/{name}.1"),
            Content::Text(format!(".so man1/{page}.1\n")),
        );
    }
    // The README's links lead to the pages in docs, so the pages keep their places.
    for page in ["LICENSE-APACHE", "LICENSE-MIT"] {
        put(
            format!("share/doc/oxmpi/{page}"),
            Content::Copy(parts.source.join(page)),
        );
    }
    for (folder, below) in [("", ""), ("docs", "docs/")] {
        for page in files(&parts.source.join(folder), "md")? {
            let name = file_name(&page);
            put(
                format!("share/doc/oxmpi/{below}{name}"),
                Content::Copy(page),
            );
        }
    }
    Ok(items)
}

/// The prefix is where the file itself is, so the installation can be moved.
fn pkgconfig(module: &str, lib: &str, cflags: &str, libs: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let up = "/..".repeat(1 + Path::new(lib).components().count());
    format!(
        "\
prefix=${{pcfiledir}}{up}
includedir=${{prefix}}/include
libdir=${{prefix}}/{lib}

Name: {module}
Description: OxMPI, message passing with the standard ABI of MPI 5.0
Version: {version}
Cflags: {cflags}-I${{includedir}}
Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} {libs}-lmpi_abi
"
    )
}

/// The folder of libraries relative to the prefix; below it, or the installation could not be moved.
pub fn libdir(prefix: &Path, wish: Option<&Path>) -> Result<String, PlaceError> {
    let Some(wish) = wish else {
        return Ok("lib".to_owned());
    };
    let inside = match wish.is_absolute() {
        true => wish.strip_prefix(prefix).ok(),
        false => Some(wish),
    };
    let normal = |part| matches!(part, std::path::Component::Normal(_));
    match inside.map(|inside| (inside, inside.to_str())) {
        Some((inside, Some(text))) if !text.is_empty() && inside.components().all(normal) => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(PlaceError::Outside {
            libdir: wish.to_owned(),
            prefix: prefix.to_owned(),
        }),
    }
}

/// The files of a folder that end in this, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, PlaceError> {
    let failed = |error| PlaceError::Read {
        path: folder.to_owned(),
        error,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(soname0: bool) -> Vec<String> {
        paths_in("lib", soname0)
    }

    fn paths_in(libdir: &str, soname0: bool) -> Vec<String> {
        let source = crate::steps::root();
        let parts = Parts {
            built: source.clone(),
            source,
            header: String::new(),
            soname0,
            fortran: Vec::new(),
            libdir: libdir.to_owned(),
            debug: None,
            agent: None,
        };
        let items = items(&parts).unwrap_or_else(|error| panic!("{error}"));
        let text = |item: &Item| item.path.display().to_string();
        items.iter().map(text).collect()
    }

    #[test]
    fn everything_people_look_for_is_there() {
        let paths = paths(false);
        for path in [
            "bin/oxmpi",
            "bin/mpicc",
            "bin/mpic++",
            "bin/mpif90",
            "include/mpi.h",
            "include/mpif.h",
            "lib/libmpi_abi.so",
            "lib/libmpi.so",
            "lib/libmpifort_abi.so",
            "lib/libmpifort.so",
            "lib/pkgconfig/ompi-fort.pc",
            "share/oxmpi/fortran/mpi_f08.f90",
            "lib/pkgconfig/mpi-c.pc",
            "share/man/man1/mpicc.1",
            "share/man/man1/mpirun.1",
            "share/doc/oxmpi/README.md",
            "share/doc/oxmpi/docs/install.md",
        ] {
            assert!(paths.iter().any(|found| found == path), "{path}");
        }
        assert!(!paths.contains(&"lib/libmpi_abi.so.0".to_owned()));
    }

    #[test]
    fn libraries_go_where_the_distribution_wants_them() {
        let prefix = Path::new("/opt/oxmpi");
        let of = |wish: &str| libdir(prefix, Some(Path::new(wish)));
        assert_eq!(of("/opt/oxmpi/lib64/").unwrap(), "lib64");
        assert_eq!(of("lib/x86_64-linux-gnu").unwrap(), "lib/x86_64-linux-gnu");
        assert!(of("/usr/lib64").is_err() && of("../lib").is_err() && of("").is_err());
        let paths = paths_in("lib64", true);
        assert!(paths.contains(&"lib64/libmpi_abi.so.1".to_owned()));
        assert!(!paths.iter().any(|path| path.starts_with("lib/")));
        let deep = pkgconfig("mpi", "lib/x86_64-linux-gnu", "", "");
        assert!(deep.contains("prefix=${pcfiledir}/../../..\n"), "{deep}");
        assert!(deep.contains("libdir=${prefix}/lib/x86_64-linux-gnu\n"));
    }

    #[test]
    fn early_programs_find_the_library_when_asked_for() {
        assert!(paths(true).contains(&"lib/libmpi_abi.so.0".to_owned()));
    }
}
