//! OxMPI over PM in the kernel, in the guest: the network layer's own tests of it, and conformance
//! programs with `--net pm-kernel` between two network namespaces.
//!
//! What programs say decides, and so does the module afterwards, which must have no port left.
//! Without /dev/oxk-pm the same command has to be refused with the reason.

use std::fs;
use std::path::{Path, PathBuf};

use super::guest::{HOSTS, Trial};
use super::module::BuildError;
use super::mpi::{library, programs, programs_folder};
use crate::steps::cargo;

/// The word of `--only` that chooses it, with the conformance programs of [`CHAPTERS`].
pub const WORD: &str = "pm-kernel";

/// The tests in `net/tests` that need the modules.
const TESTS: &str = "device_oxk";
/// What makes their cables; busybox' own does not know how.
const IP: &str = "/usr/sbin/ip";

/// Chapters of `conformance/c` whose programs run with it.
const CHAPTERS: [&str; 1] = ["point_to_point"];

/// `job NAME COMMAND` runs a job on both of the [hosts](super::guest::HOSTS).
const SCRIPT: &str = r#"
status=0
run() {
	into a timeout 600 oxmpi run --net pm-kernel --launcher '/bin/into {host}' -host a:2,b:2 -map-by node "$@" > /tmp/said 2>&1
}
failed() {
	echo "FAIL pm-kernel/$1: $2"
	tail -n 20 /tmp/said
	status=1
}
job() {
	name=$1
	shift
	if run "$@"; then
		echo "ok pm-kernel/$name"
	else
		failed $name "status $?"
	fi
}
# says NAME TEXT: what was said last has the text.
says() {
	if grep -q "$2" /tmp/said; then
		echo "ok pm-kernel/$1"
	else
		failed $1 "it did not say: $2"
	fi
}
nothing_left() {
	users=1
	for second in 1 2 3 4 5 6 7 8; do
		users=$(cat /sys/module/oxk_pm/refcnt)
		[ "$users" = 0 ] && break
		sleep 1
	done
	if [ "$users" = 0 ]; then
		echo "ok pm-kernel/$1"
	else
		failed $1 "$users ports are left"
	fi
}
# The network layer's tests; one that is skipped says so.
if PATH=/programs:$PATH /programs/device_oxk --nocapture --test-threads 1 > /tmp/said 2>&1 && ! grep -q skipped: /tmp/said; then
	echo "ok pm-kernel/tests-of-net"
	grep '^count' /tmp/said
else
	failed tests-of-net "status $?"
fi
mv /dev/oxk-pm /dev/oxk-pm-away
run -n 2 /programs/sendrecv && failed absent 'it ran without /dev/oxk-pm'
says absent '/dev/oxk-pm does not exist: load the modules oxk.ko and oxk_pm.ko'
mv /dev/oxk-pm-away /dev/oxk-pm
{JOBS}
nothing_left afterwards
exit $status
"#;

/// Whether words choose it alone.
pub fn is_chosen(only: &[String]) -> bool {
    only.iter().any(|word| word == WORD)
}

/// Compiles the tests.
pub fn compile() -> Result<(), BuildError> {
    let mut build = cargo(&[
        "test",
        "--locked",
        "--package",
        "oxmpi-net",
        "--test",
        TESTS,
    ]);
    build.args(["--no-run", "--message-format", "json"]);
    let to = programs_folder().join(TESTS);
    let output = build.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(BuildError::file(&to))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(program) = text.lines().find_map(executable) else {
        let error = std::io::Error::other(format!("cargo names no program: {}", output.status));
        return Err(BuildError::file(&to)(error));
    };
    fs::copy(&program, &to).map_err(BuildError::file(&program))?;
    Ok(())
}

/// The program that a line of cargo's is about.
fn executable(line: &str) -> Option<PathBuf> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let name = line.get("target")?.get("name")?;
    let program = line.get("executable")?.as_str()?;
    (name == TESTS).then(|| program.into())
}

/// The trial.
pub fn trial() -> Result<Trial, BuildError> {
    let mut jobs = String::new();
    let mut files = library().to_vec();
    files.push((programs_folder().join(TESTS), format!("/programs/{TESTS}")));
    if Path::new(IP).exists() {
        files.push((IP.into(), "/programs/ip".to_owned()));
    }
    for program in programs(&CHAPTERS)? {
        let (name, ranks) = (&program.name, program.ranks);
        jobs += &format!("job {name} -n {ranks} /programs/{name}\n");
        files.push(program.placed());
    }
    Ok(Trial {
        name: WORD,
        script: HOSTS.to_owned() + &SCRIPT.replace("{JOBS}", &jobs),
        programs: files,
        modules: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_names_the_program() {
        let line = r#"{"reason":"compiler-artifact","target":{"name":"device_oxk"},"executable":"/t/device_oxk-1"}"#;
        assert_eq!(executable(line), Some("/t/device_oxk-1".into()));
        assert_eq!(executable(&line.replace("oxk\"", "udp\"")), None);
        assert_eq!(executable("{}"), None);
        assert_eq!(executable("warning: unused"), None);
    }
}
