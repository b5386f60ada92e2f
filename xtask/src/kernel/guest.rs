//! What is in the guest and what it does: busybox, the modules, the battery, and whatever else is to
//! be tried there.
//!
//! `init` mounts what programs expect, loads the modules, runs the battery and then each [`Trial`],
//! unloads the modules, and ends the machine. It reports with lines that begin with `guest:`, which
//! [`console`](super::console) reads; the battery and the trials with `ok NAME`, `FAIL NAME: why`
//! and `skip NAME: why`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder;
use super::initramfs::Initramfs;
use super::module::{self, BuildError, MODULES, at_boot};
use super::mpi;
use super::nfs;
use super::nfs_files;
use super::oxfs;
use super::packages::Tree;
use super::pm_net;
use crate::steps::cargo;

/// The battery's target: with the C library inside, so that nothing else has to be in the guest.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The kernel's own modules that the guest loads, by their place and in this order: a pair of
/// interfaces joins namespaces, and the driver of the two cards. Some kernels have some of them
/// inside.
const STOCK: [&str; 9] = [
    "kernel/net/core/failover",
    "kernel/drivers/net/net_failover",
    "kernel/drivers/net/veth",
    "kernel/drivers/virtio/virtio_ring",
    "kernel/drivers/virtio/virtio",
    "kernel/drivers/virtio/virtio_pci_legacy_dev",
    "kernel/drivers/virtio/virtio_pci_modern_dev",
    "kernel/drivers/virtio/virtio_pci",
    "kernel/drivers/net/virtio_net",
];

/// What the guest does. {BATTERY} runs the cases that are wanted; {LOAD} and {UNLOAD} name our
/// modules in the two orders, {STOCK} the kernel's.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /var/run
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp TERM=dumb
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
ip link set lo up
for module in {STOCK}; do
	module=/modules/$module.ko
	[ -e "$module" ] || continue
	insmod "$module" || echo "guest: $module cannot be loaded"
done
for module in {LOAD}; do insmod /$module.ko; echo "guest: insmod $module $?"; done
{BATTERY}; echo "guest: battery $?"
for trial in /trials/*.sh; do
	[ -e "$trial" ] || continue
	sh "$trial"; echo "guest: trial $trial $?"
done
for module in {UNLOAD}; do
	# The last thread of what used it may still be ending.
	for second in 1 2 3 4 5; do rmmod $module && break; sleep 1; done
	[ -e /sys/module/$module ]; echo "guest: rmmod $module $((1 - $?))"
done
dmesg | grep ': left behind:'
# Once more, because what was freed a moment ago may still be named somewhere.
if [ -e /sys/kernel/debug/kmemleak ]; then
	echo scan > /sys/kernel/debug/kmemleak; sleep 6; echo scan > /sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak
fi
echo "guest: end"
# The emulator is told not to start again; a kernel needs less for this than for switching off.
reboot -f
"#;

/// How a script begins that needs two hosts and a cable between them: namespaces `a` (10.77.0.1) and
/// `b` (10.77.0.2), which end with the script. `into HOST COMMAND` runs a command on one.
pub const HOSTS: &str = r#"
mkdir -p /run
for host in a b; do
	unshare -n -u sh -c "hostname $host; exec sleep 100000" &
	echo $! > /run/$host.pid
done
sleep 1
ip link add cable type veth
ip link set cable netns $(cat /run/a.pid)
ip link set veth0 netns $(cat /run/b.pid)
cat > /bin/into <<'END'
#!/bin/sh
pid=$(cat /run/$1.pid)
shift
exec nsenter -t $pid -n -u "$@"
END
chmod 755 /bin/into
into a sh -c 'ip addr add 10.77.0.1/24 dev cable; ip link set cable up; ip link set lo up'
into b sh -c 'ip addr add 10.77.0.2/24 dev veth0; ip link set veth0 up; ip link set lo up'
trap 'kill $(cat /run/a.pid /run/b.pid)' EXIT
"#;

/// Something else to be tried in the guest, after the battery.
pub struct Trial {
    /// The script's name.
    pub name: &'static str,
    /// A script for busybox' shell.
    pub script: String,
    /// Programs of this machine and their places in the guest; the libraries that they are linked
    /// with come along.
    pub programs: Vec<(PathBuf, String)>,
    /// The kernel's own modules, by their place; those that the kernel has are `/stock/NAME.ko`.
    pub modules: Vec<&'static str>,
}

/// The word of `--only` that chooses all cases of the battery and nothing else.
pub const BATTERY: &str = "all";
/// The word of `--only` that chooses the trial of OxMPI; the others choose cases of the battery.
pub const MPI: &str = "mpi";

/// Whether OxMPI itself is to be tried.
pub fn wants_mpi(only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|word| word == MPI)
}

/// What is tried beside the battery.
pub fn trials(only: &[String]) -> Result<Vec<Trial>, BuildError> {
    let mut trials = Vec::new();
    if wants_mpi(only) {
        trials.push(mpi::trial()?);
    }
    if pm_net::is_chosen(only) {
        trials.push(pm_net::trial()?);
    }
    trials.extend(oxfs::trials(only)?);
    trials.extend(nfs::trial(only));
    trials.extend(nfs_files::trial(only)?);
    Ok(trials)
}

/// The command that builds the batteries.
pub fn build() -> Command {
    let mut build = cargo(&["build", "--locked", "--release", "--package"]);
    build
        .args(["oxmpi-battery", "--package", oxfs::BATTERY])
        .args(["--target", TARGET, "--target-dir"])
        .arg(folder().join("guest"))
        .env_remove("CARGO_TARGET_DIR")
        .env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
    build
}

/// Where a program lies that [`build`] has built.
pub fn built(name: &str) -> PathBuf {
    folder().join(format!("guest/{TARGET}/release/{name}"))
}

/// The archive for a boot; the battery runs the cases `only`, or all.
pub fn archive(tree: &Tree, only: &[String], trials: &[Trial]) -> Result<PathBuf, BuildError> {
    let mut files = Initramfs::default();
    let cases: Vec<&str> = only.iter().map(String::as_str).collect();
    let elsewhere = |word: &str| {
        [MPI, pm_net::WORD].contains(&word) || oxfs::is_word(word) || nfs_files::is_word(word)
    };
    let cases: Vec<&str> = cases.into_iter().filter(|word| !elsewhere(word)).collect();
    let battery_line = match (only, cases.as_slice()) {
        ([], _) => "oxmpi-battery all".to_owned(),
        (_, []) => "true".to_owned(),
        // Quoted, because a star is the battery's to understand, not the shell's.
        (_, cases) => format!("oxmpi-battery '{}'", cases.join("' '")),
    };
    let mut names: Vec<&str> = at_boot().map(|module| module.name).collect();
    let init = INIT.replace("{BATTERY}", &battery_line);
    let init = init.replace("{LOAD}", &names.join(" "));
    let init = init.replace("{STOCK}", &STOCK.map(base).join(" "));
    names.reverse();
    let init = init.replace("{UNLOAD}", &names.join(" "));
    files.file("/init", init.as_bytes());
    copy(&mut files, "/bin/busybox", &tree.root.join("bin/busybox"))?;
    copy(&mut files, "/bin/oxmpi-battery", &built("oxmpi-battery"))?;
    for module in MODULES {
        let to = format!("/{}.ko", module.name);
        copy(&mut files, &to, &module::path(tree, module))?;
    }
    add_modules(&mut files, tree, "/modules", &STOCK)?;
    for trial in trials {
        add_modules(&mut files, tree, "/stock", &trial.modules)?;
        let script = format!("/trials/{}.sh", trial.name);
        files.file(&script, trial.script.as_bytes());
        for (from, to) in &trial.programs {
            add_program(&mut files, from, to)?;
        }
    }
    // A name of its own: two guests of a release may begin at the same time.
    let place = tree
        .output()
        .join(format!("initramfs-{}.cpio", std::process::id()));
    if let Err(error) = fs::write(&place, files.close()) {
        // Half of it is of no use, and fills a disk that may be full.
        let _ = fs::remove_file(&place);
        return Err(BuildError::file(&place)(error));
    }
    Ok(place)
}

fn copy(files: &mut Initramfs, to: &str, from: &Path) -> Result<(), BuildError> {
    files.copy(to, from).map_err(BuildError::file(from))
}

/// The kernel's own modules in a folder of the guest. Newer packages have them compressed, which
/// busybox cannot load.
fn add_modules(
    files: &mut Initramfs,
    tree: &Tree,
    folder: &str,
    places: &[&str],
) -> Result<(), BuildError> {
    for name in places {
        let plain = tree.root.join("lib/modules").join(&tree.release);
        let plain = plain.join(format!("{name}.ko"));
        let packed = plain.with_extension("ko.xz");
        let to = format!("{folder}/{}.ko", base(name));
        if plain.exists() {
            copy(files, &to, &plain)?;
        } else if packed.exists() {
            let output = Command::new("xz").arg("-dc").arg(&packed).output();
            let output = output.map_err(BuildError::file(Path::new("xz")))?;
            files.file(&to, &output.stdout);
        }
    }
    Ok(())
}

/// A module's name, by its place.
fn base(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// A program at its place, and its libraries at theirs.
fn add_program(files: &mut Initramfs, from: &Path, to: &str) -> Result<(), BuildError> {
    copy(files, to, from)?;
    let listing = Command::new("ldd").arg(from).output();
    let listing = listing.map_err(BuildError::file(Path::new("ldd")))?;
    for library in libraries(&String::from_utf8_lossy(&listing.stdout)) {
        if !files.has(library) {
            copy(files, library, Path::new(library))?;
        }
    }
    Ok(())
}

/// The paths in what ldd lists.
fn libraries(listing: &str) -> impl Iterator<Item = &str> {
    let words = listing.lines().map(|line| {
        let place = line.split_once("=>").map_or(line, |(_, place)| place);
        place.split_whitespace().next().unwrap_or_default()
    });
    words.filter(|word| word.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_a_program_are_found() {
        let listing = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let found: Vec<_> = libraries(listing).collect();
        assert_eq!(
            found,
            [
                "/lib/x86_64-linux-gnu/libc.so.6",
                "/lib64/ld-linux-x86-64.so.2"
            ]
        );
    }
}
