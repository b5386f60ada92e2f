//! The wrappers as people and build systems use them: in an installation, with a compiler that
//! tells its words.
//!
//! The installation is a folder with a copy of the command, an empty header and an empty library;
//! what the real ones do is tested by `cargo xtask test`. The compiler is a script, except where a
//! real one is asked for.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file cannot be executed while any process has it open for writing, and a process that another
/// test has just forked inherits what this one is writing: so there is one installation at a time.
static ONE: Mutex<()> = Mutex::new(());

/// An installation in a folder of its own, gone afterwards.
struct Installation {
    folder: PathBuf,
    /// Held for as long as the installation is there.
    _one: Option<MutexGuard<'static, ()>>,
}

impl Installation {
    fn new(name: &str) -> Installation {
        let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("oxmpi-compile-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let here = Installation {
            folder,
            _one: Some(guard),
        };
        for folder in ["bin", "include", "lib", "tools"] {
            std::fs::create_dir_all(here.path(folder)).unwrap();
        }
        std::fs::copy(env!("CARGO_BIN_EXE_oxmpi"), here.path("bin/oxmpi")).unwrap();
        for name in ["mpicc", "mpicxx", "mpic++"] {
            symlink("oxmpi", here.path("bin").join(name)).unwrap();
        }
        std::fs::write(here.path("include/mpi.h"), "int MPI_Nothing(void);\n").unwrap();
        std::fs::write(here.path("lib/libmpi_abi.so"), "").unwrap();
        // A compiler that tells its name and words, and fails when asked to.
        let script =
            "#!/bin/sh\necho $(basename $0) \"$@\"\ncase \"$*\" in *fail*) exit 3;; esac\n";
        for name in ["cc", "c++", "other"] {
            let tool = here.path("tools").join(name);
            std::fs::write(&tool, script).unwrap();
            std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        }
        here
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.join(below)
    }

    /// A command of the installation that finds only the scripts above (and what scripts need).
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.path("bin").join(name));
        let tools = self.path("tools").display().to_string();
        command
            .env_clear()
            .env("PATH", format!("{tools}:/usr/bin:/bin"));
        command
    }

    /// What a command printed on both streams, with the installation's folder as PREFIX.
    fn said(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        self.text(&output)
    }

    fn text(&self, output: &Output) -> String {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let here = std::fs::canonicalize(&self.folder).unwrap();
        text.trim_end()
            .replace(&here.display().to_string(), "PREFIX")
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const LIBRARY: &str = "-Wl,--enable-new-dtags -Wl,-rpath,PREFIX/lib -lmpi_abi";

#[test]
fn the_compiler_gets_what_it_needs() {
    let here = Installation::new("words");
    assert_eq!(
        here.said(here.command("mpicc").args(["-O2", "a.c", "-o", "a"])),
        format!("cc -IPREFIX/include -LPREFIX/lib -O2 a.c -o a {LIBRARY}")
    );
    // A makefile's "-I$(EMPTY)": the compiler takes the next word for the folder, and it must be
    // one that the program runs without.
    assert_eq!(
        here.said(here.command("mpicc").args(["a.c", "-I"])),
        format!("cc -IPREFIX/include -LPREFIX/lib a.c -I {LIBRARY}")
    );
    assert_eq!(
        here.said(here.command("mpic++").args(["-c", "a.cpp"])),
        "c++ -IPREFIX/include -c a.cpp"
    );
    assert_eq!(
        here.said(here.command("oxmpi").args(["cxx", "-c", "a.cpp"])),
        "c++ -IPREFIX/include -c a.cpp"
    );
    let output = here.command("mpicc").arg("fail.c").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn build_systems_get_answers() {
    let here = Installation::new("answers");
    let said = |word: &str| here.said(here.command("mpicc").arg(word));
    assert_eq!(said("-showme:compile"), "-IPREFIX/include");
    assert_eq!(said("-showme:link"), format!("-LPREFIX/lib {LIBRARY}"));
    assert_eq!(
        said("-show"),
        format!("cc -IPREFIX/include -LPREFIX/lib {LIBRARY}")
    );
    assert_eq!(said("--version"), "cc -IPREFIX/include --version");
    assert!(said("--help").contains("-showme:compile"));
}

#[test]
fn the_compiler_can_be_chosen() {
    let here = Installation::new("choice");
    let said = |name: &str, value: &str, words: &[&str]| {
        here.said(here.command("mpicc").env(name, value).arg("-c").args(words))
    };
    assert_eq!(
        said("OXMPI_CC", "other -m64", &[]),
        "other -m64 -IPREFIX/include -c"
    );
    assert_eq!(said("MPICH_CC", "other", &[]), "other -IPREFIX/include -c");
    assert_eq!(
        said("OMPI_CC", "other", &["-cc=cc"]),
        "cc -IPREFIX/include -c"
    );
    let mut both = here.command("mpicc");
    both.env("OXMPI_CC", "other")
        .env("MPICH_CC", "cc")
        .arg("-c");
    assert_eq!(here.said(&mut both), "other -IPREFIX/include -c");
    // CMake sets the variable for C while it asks about C++.
    let mut cxx = here.command("mpicxx");
    assert_eq!(
        here.said(cxx.env("MPICH_CC", "other").arg("-c")),
        "c++ -IPREFIX/include -c"
    );
}

#[test]
fn mistakes_are_explained() {
    let here = Installation::new("mistakes");
    let ends = |command: &mut Command| {
        let output = command.output().unwrap();
        (output.status.code(), here.text(&output))
    };
    assert_eq!(
        ends(&mut here.command("mpicc")),
        (
            Some(2),
            "oxmpi: mpicc: what to compile? mpicc program.c -o program; mpicc -help tells more"
                .to_owned()
        )
    );
    assert_eq!(
        ends(here.command("mpicc").env("PATH", "/nowhere").arg("a.c")),
        (Some(127), "oxmpi: mpicc finds no C compiler: none of cc, gcc, clang is in PATH; install one, or name yours with -cc=NAME or OXMPI_CC=NAME".to_owned())
    );
    let path = here.path("bin").display().to_string();
    assert_eq!(
        ends(here.command("mpicc").env("PATH", path).env("MPICH_CC", "mpicc").arg("a.c")),
        (Some(1), "oxmpi: MPICH_CC=mpicc is mpicc itself; name the compiler that it shall call, such as cc or gcc or clang".to_owned())
    );
    let (code, text) = ends(here.command("mpicc").args(["-static", "a.c"]));
    assert_eq!(code, Some(2), "{text}");
    std::fs::remove_file(here.path("include/mpi.h")).unwrap();
    assert_eq!(
        ends(here.command("mpicc").arg("a.c")),
        (Some(1), "oxmpi: mpicc works from an installation and PREFIX/include/mpi.h is not there; cargo xtask install --prefix FOLDER makes one".to_owned())
    );
}

#[test]
fn the_installation_is_found_through_links_and_after_a_move() {
    let here = Installation::new("links");
    let elsewhere = here.path("tools/mpicc");
    symlink(here.path("bin/mpicc"), &elsewhere).unwrap();
    let mut command = here.command("mpicc");
    assert_eq!(
        here.said(command.arg("-showme:compile")),
        "-IPREFIX/include"
    );
    let text = |command: &Path| {
        let output = Command::new(command)
            .arg("-showme:compile")
            .output()
            .unwrap();
        here.text(&output)
    };
    assert_eq!(text(&elsewhere), "-IPREFIX/include");
    let moved = Installation {
        folder: here.folder.with_extension("moved place"),
        _one: None,
    };
    let _ = std::fs::remove_dir_all(&moved.folder);
    std::fs::rename(&here.folder, &moved.folder).unwrap();
    let mut command = moved.command("mpicc");
    let said = moved.said(command.arg("-showme:compile"));
    assert_eq!(said, "-I\"PREFIX/include\"");
}
