//! A rank with privileges that its caller does not have loads no library that the caller names.
//!
//! A real program gets a real file capability and is run by a real other user. That takes root,
//! `setcap` (Debian: libcap2-bin) and a file system that keeps capabilities; without them the test
//! says that it was skipped.

// Of what the tests share, this one needs the place of an example only.
#[allow(dead_code)]
mod found;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A user without rights: `nobody`.
const NOBODY: &str = "65534";

/// A library that leaves a file where the variable MARK says as soon as it is loaded.
const LIBRARY: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void)
{
    const char *mark = getenv("MARK");
    if (mark)
        (void)!open(mark, O_WRONLY | O_CREAT, 0666);
}
"#;

/// A folder that everybody may write to and that is gone with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxmpi-pmi-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        Folder(path)
    }

    /// whoami, which anybody may run, and the library.
    fn furnish(&self) -> (PathBuf, PathBuf) {
        let program = self.0.join("whoami");
        std::fs::copy(found::example("whoami"), &program).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::create_dir(self.0.join("lib")).unwrap();
        let library = self.0.join("lib/libpmix.so.2");
        let source = self.0.join("library.c");
        std::fs::write(&source, LIBRARY).unwrap();
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .status();
        assert!(made.expect("a C compiler").success());
        (program, library)
    }
}

/// Runs a program as a user without rights.
fn as_nobody(program: &Path, variables: &[(&str, &str)]) -> Output {
    Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(program)
        .envs(variables.iter().copied())
        .output()
        .expect("setpriv is part of util-linux")
}

/// Gives the program a capability; Err says why that cannot be.
fn grant(program: &Path) -> Result<(), String> {
    let granted = Command::new("setcap")
        .arg("cap_net_raw+ep")
        .arg(program)
        .output()
        .map_err(|error| format!("setcap (libcap2-bin): {error}"))?;
    match granted.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&granted.stderr).into_owned()),
    }
}

#[test]
fn a_privileged_rank_loads_no_library_that_its_caller_names() {
    let folder = Folder::new("privilege");
    let (program, library) = folder.furnish();
    let mark = folder.0.join("mark");
    let (mark_text, prefix) = (mark.to_str().unwrap(), folder.0.to_str().unwrap());
    let ways = [
        ("OXMPI_LIBPMIX", library.to_str().unwrap()),
        ("PMIX_PREFIX", prefix),
        ("PRTE_PREFIX", prefix),
        ("OPAL_PREFIX", prefix),
    ];
    let run = |(variable, value)| {
        let output = as_nobody(
            &program,
            &[
                ("PMIX_NAMESPACE", "job"),
                ("MARK", mark_text),
                (variable, value),
            ],
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (std::fs::remove_file(&mark).is_ok(), said)
    };
    for way in ways {
        let (loaded, said) = run(way);
        assert!(loaded, "{way:?} works without privileges: {said}");
    }
    if let Err(reason) = grant(&program) {
        eprintln!("skipped: no file capabilities here: {reason}");
        return;
    }
    for way in ways {
        let (loaded, said) = run(way);
        assert!(!loaded, "{way:?} is obeyed");
        assert_eq!(
            said,
            "whoami: PMIX_NAMESPACE=job says that a PMIx launcher (srun --mpi=pmix, prterun, Open \
             MPI's mpirun) started this rank, but the program has privileges that its caller does \
             not have (setuid, setgid or file capabilities, as getcap shows), and libpmix loads \
             what the environment names: it is not loaded; start the program with srun --mpi=pmi2 \
             or OxMPI's mpiexec, or run a copy of it without privileges\n"
        );
    }
}
