//! MPI's files on NFS, in the guest: the conformance programs of the chapter, on one mount of an
//! export and on two.
//!
//! The two hosts are network namespaces, each with a mount of its own, so the kernel keeps two
//! clients with two caches, as two machines have. They mount without `noac`.

use super::guest::{HOSTS, Trial};
use super::module::BuildError;
use super::mpi::{Program, library, programs};
use super::nfs;
use super::oxfs::PREPARE;

/// The word of `--only` that chooses it; with a slash and a name, one program of it.
const WORD: &str = "nfs-files";
/// The chapter of `conformance/c`.
const CHAPTERS: [&str; 1] = ["files"];

/// `job NAME RANKS` runs a program on host b alone and then on both hosts. `at HOST COMMAND` runs a
/// command where /mnt/nfs is the mount of that host.
const SCRIPT: &str = r#"
cat > /bin/at <<'END'
#!/bin/sh
host=$1
shift
exec into $host unshare -m sh -c 'mount --bind /mnt/nfs-$0 /mnt/nfs; cd /mnt/nfs; exec "$@"' $host "$@"
END
chmod 755 /bin/at
mkdir -p /mnt/nfs-a /mnt/nfs-b
serve
status=0
for host in a:1 b:2; do
	name=${host%:*}
	into $name {MOUNT},clientaddr=10.77.0.${host#*:} 10.77.0.1:/nfs /mnt/nfs-$name || {
		echo "FAIL nfs-files/mount-$name: status $?"
		tail -n 40 /tmp/ganesha.log
		exit 1
	}
done
run() {
	name=$1
	shift
	if at "$@" > /tmp/said 2>&1; then
		echo "ok nfs-files/$name"
	else
		echo "FAIL nfs-files/$name: status $?"
		tail -n 20 /tmp/said
		status=1
	fi
}
job() {
	run $1-one-host b timeout 600 oxmpi run -n $2 /programs/$1
	run $1-two-hosts a timeout 600 oxmpi run --launcher '/bin/at {host}' -host a:2,b:2 -map-by node \
		-n $2 /programs/$1
}
{JOBS}
ls -A /srv/nfs | grep -q . && { echo "FAIL nfs-files/left: $(ls -A /srv/nfs)"; status=1; }
for host in a b; do
	into $host umount /mnt/nfs-$host || { echo "FAIL nfs-files/umount-$host: status $?"; status=1; }
done
kill -9 $server
exit $status
"#;

/// Whether a word of `--only` is about it.
pub fn is_word(word: &str) -> bool {
    word.strip_prefix(WORD)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether words choose it.
pub fn is_chosen(only: &[String]) -> bool {
    only.iter().any(|word| is_word(word))
}

/// What has to be compiled for it.
pub fn chapters(only: &[String]) -> &'static [&'static str] {
    match is_chosen(only) {
        true => &CHAPTERS,
        false => &[],
    }
}

/// The trial, if words choose it.
pub fn trial(only: &[String]) -> Result<Option<Trial>, BuildError> {
    if !is_chosen(only) {
        return Ok(None);
    }
    let named = |name: &str| {
        let mut words = only.iter().filter_map(|word| word.strip_prefix(WORD));
        words.any(|rest| rest.is_empty() || rest.strip_prefix('/') == Some(name))
    };
    let mut files: Vec<_> = library().into_iter().chain(nfs::server()).collect();
    let mut jobs = String::new();
    for program in programs(&CHAPTERS)? {
        let Program { name, ranks, .. } = &program;
        if named(name) {
            jobs += &format!("job {name} {ranks}\n");
            files.push(program.placed());
        }
    }
    let script = SCRIPT
        .replace("{MOUNT}", nfs::MOUNT)
        .replace("{JOBS}", &jobs);
    Ok(Some(Trial {
        name: WORD,
        script: format!("{HOSTS}{PREPARE}{}{script}", nfs::setup()),
        programs: files,
        modules: nfs::MODULES.to_vec(),
    }))
}
