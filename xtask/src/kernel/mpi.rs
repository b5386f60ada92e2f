//! OxMPI itself in the guest: programs over TCP between two network namespaces, with `--progress
//! kernel`.
//!
//! The programs are those of the conformance suite that send messages, compiled against an
//! installation made here, and `is`, the integer sort. Their results decide, and so does the module
//! afterwards, which must have nothing left. Without /dev/o2g the same command has to be refused:
//! else nothing would show that the driver was used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder;
use super::guest::{HOSTS, Trial};
use super::module::BuildError;
use crate::steps::root;

/// Chapters of `conformance/c` whose programs run in the guest.
const CHAPTERS: [&str; 3] = ["point_to_point", "requests", "collectives"];

/// A program of this task's own: its messages come while it computes.
const COMPUTING: &str = "computing";

/// Emulated CPUs are slow: more ranks would only wait for each other.
const RANKS_MAX: u32 = 4;

/// `job NAME COMMAND` runs a job on both of the [hosts](super::guest::HOSTS).
const SCRIPT: &str = r#"
status=0
run() {
	into a timeout 1500 oxmpi run --progress kernel --launcher '/bin/into {host}' -host a:2,b:2 -map-by node "$@" > /tmp/said 2>&1
}
job() {
	name=$1
	shift
	if run "$@"; then
		echo "ok mpi/$name"
	else
		echo "FAIL mpi/$name: status $?"
		tail -n 20 /tmp/said
		status=1
	fi
}
mv /dev/o2g /dev/o2g-away
if run -n 2 ring --rounds 1; then
	echo "FAIL mpi/without-driver: it ran without /dev/o2g"
	status=1
elif grep -q '/dev/o2g does not exist' /tmp/said; then
	echo "ok mpi/without-driver"
else
	echo "FAIL mpi/without-driver: it did not say why"
	cat /tmp/said
	status=1
fi
mv /dev/o2g-away /dev/o2g
job ring -n 4 ring --rounds 20
job computing -n 2 -genv OXMPI_DRIVER off /programs/computing
# Ranks are killed while messages arrive: nothing of them may stay in the module.
if run -n 4 --timeout 5 ring --rounds 100000000; then
	echo "FAIL mpi/killed: it should have been ended"
	status=1
else
	users=1
	for second in 1 2 3 4 5; do
		users=$(cat /sys/module/o2g/refcnt)
		[ "$users" = 0 ] && break
		sleep 1
	done
	if [ "$users" = 0 ]; then
		echo "ok mpi/killed"
	else
		echo "FAIL mpi/killed: $users contexts are left"
		status=1
	fi
fi
job is-S-2 -n 2 is --class S
job is-S-4 -n 4 is --class S
{JOBS}
exit $status
"#;

/// One program of the suite.
pub struct Program {
    pub name: String,
    pub ranks: u32,
    source: PathBuf,
}

impl Program {
    /// The compiled program, and its place in the guest.
    pub fn placed(&self) -> (PathBuf, String) {
        let Program { name, .. } = self;
        (programs_folder().join(name), format!("/programs/{name}"))
    }
}

fn prefix() -> PathBuf {
    folder().join("guest/prefix")
}

pub fn programs_folder() -> PathBuf {
    folder().join("guest/programs")
}

/// The words for a task that installs OxMPI.
pub fn install() -> [String; 3] {
    let prefix = prefix().display().to_string();
    ["install".into(), "--prefix".into(), prefix]
}

/// Compiles what the trial runs, and the programs of more chapters.
pub fn compile(more: &[&str]) -> Result<(), BuildError> {
    let to = programs_folder();
    fs::create_dir_all(&to).map_err(BuildError::file(&to))?;
    let computing = Program {
        name: COMPUTING.into(),
        ranks: 2,
        source: root().join("xtask/guest").join(format!("{COMPUTING}.c")),
    };
    let chapters = [&CHAPTERS, more].concat();
    for program in programs(&chapters)?.into_iter().chain([computing]) {
        let mpicc = prefix().join("bin/mpicc");
        let mut compile = Command::new(&mpicc);
        compile.args(["-O1", "-pthread", "-I"]).arg(sources());
        compile.arg("-o").arg(to.join(&program.name));
        let status = compile.arg(&program.source).status();
        let status = status.map_err(BuildError::file(&mpicc))?;
        if !status.success() {
            let error = std::io::Error::other(format!("mpicc: {status}"));
            return Err(BuildError::file(&program.source)(error));
        }
    }
    Ok(())
}

/// The trial, if its programs have been compiled.
pub fn trial() -> Result<Trial, BuildError> {
    let mut jobs = String::new();
    let mut files = library().to_vec();
    files.push((
        programs_folder().join(COMPUTING),
        format!("/programs/{COMPUTING}"),
    ));
    for program in programs(&CHAPTERS)? {
        let Program { name, ranks, .. } = &program;
        jobs += &format!("job {name} -n {ranks} /programs/{name}\n");
        files.push(program.placed());
    }
    Ok(Trial {
        name: "mpi",
        script: HOSTS.to_owned() + &SCRIPT.replace("{JOBS}", &jobs),
        programs: files,
        modules: Vec::new(),
    })
}

/// Launcher and library, with their places in the guest. Programs look for the library where it is
/// installed on this machine; the guest may have something else there.
pub fn library() -> [(PathBuf, String); 2] {
    let library = prefix().join("lib/libmpi_abi.so.1");
    [
        (prefix().join("bin/oxmpi"), "/bin/oxmpi".to_owned()),
        (library, "/usr/lib/libmpi_abi.so.1".to_owned()),
    ]
}

fn sources() -> PathBuf {
    root().join("conformance/c")
}

/// The programs of some chapters.
pub fn programs(chapters: &[&str]) -> Result<Vec<Program>, BuildError> {
    let mut programs = Vec::new();
    for chapter in chapters {
        let folder = sources().join(chapter);
        let listed = fs::read_dir(&folder).map_err(BuildError::file(&folder))?;
        for entry in listed.flatten() {
            let source = entry.path();
            let text = fs::read_to_string(&source).map_err(BuildError::file(&source))?;
            if let Some(ranks) = ranks(&text) {
                programs.push(Program {
                    name: name(&source),
                    ranks,
                    source,
                });
            }
        }
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

fn name(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// With how many ranks a program is run, by its first lines; `None`: it sends nothing between
/// hosts, or is to fail.
fn ranks(text: &str) -> Option<u32> {
    let directives = || text.lines().take_while(|line| line.starts_with("/* "));
    if directives().any(|line| line.starts_with("/* expect:") || line.starts_with("/* one-host")) {
        return None;
    }
    let line = directives().find_map(|line| line.strip_prefix("/* ranks:"))?;
    let numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    numbers
        .filter(|ranks| (2..=RANKS_MAX).contains(ranks))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_decide() {
        assert_eq!(ranks("/* ranks: 1 2 3 */\n/* why */\nint"), Some(3));
        assert_eq!(ranks("/* ranks: 1 */\n"), None);
        assert_eq!(ranks("/* ranks: 2 8 */\n"), Some(2));
        assert_eq!(ranks("/* ranks: 2 */\n/* expect: fatal x */\n"), None);
        assert_eq!(ranks("int main"), None);
    }
}
