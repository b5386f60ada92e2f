//! A boot of the guest in QEMU, by software emulation, without any way out, and never longer than
//! [`minutes_max`].
//!
//! The exit status and a line as libtest prints it say what came of it. Time in there says nothing
//! about speed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Kernel;
use super::console::Console;
use super::guest;
use super::module::BuildError;
use super::nfs_files;
use super::oxfs;
use super::packages::{self, Tree};
use super::pm_net;
use crate::steps::{Next, Patience, Running};

/// How long a guest may take before it is ended as hanging. Half a minute is enough for the
/// battery, and a few for OxMPI's programs, where nothing else runs; one that checks itself is
/// several times slower.
pub fn minutes_max(kernel: &Kernel, only: &[String]) -> u64 {
    let is_long =
        |word: &String| oxfs::is_word(word) || nfs_files::is_word(word) || word == pm_net::WORD;
    let minutes = match only.iter().any(is_long) {
        true => oxfs::MINUTES_MAX,
        false => 12,
    };
    match kernel.is_debug() {
        true => 5 * minutes,
        false => minutes,
    }
}

/// Enough for 64 MiB messages on both sides and 200 sockets; a kernel that checks its memory keeps
/// more beside it.
fn memory(kernel: &Kernel) -> &'static str {
    match kernel.is_debug() {
        true => "2048M",
        false => "1024M",
    }
}

/// The guest ends at the first oops. Emulated CPUs share those of this machine, so they may be
/// without one for a while: also when the kernel tries whether the timer ticks, and would panic.
const COMMAND_LINE: &str = "console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60";

/// The kernel's allocator checks what it hands out and gets back. It takes time, so one number of
/// CPUs has to do.
const CHECKED: (u32, &str) = (1, " slub_debug=FZPU");

/// Boots a kernel whose module has been built, and judges what it prints; true when all is well.
pub fn run(kernel: &Kernel, cpus: u32, only: &[String]) -> bool {
    match boot(kernel, cpus, only) {
        Ok(console) => console.close(),
        Err(error) => {
            eprintln!("{error}");
            println!("test result: FAILED. 0 passed; 1 failed; 0 ignored");
            false
        }
    }
}

fn boot(kernel: &Kernel, cpus: u32, only: &[String]) -> Result<Console, BuildError> {
    let tree = packages::unpack(kernel)?;
    let archive = guest::archive(&tree, only, &guest::trials(only)?)?;
    let mut qemu = command(kernel, &tree, cpus);
    qemu.arg("-initrd").arg(&archive);
    let console = follow(&mut qemu, &archive, minutes_max(kernel, only));
    // It is still there if the guest never spoke.
    let _ = fs::remove_file(&archive);
    console
}

/// Starts the guest and hears it to its end.
fn follow(qemu: &mut Command, archive: &Path, minutes: u64) -> Result<Console, BuildError> {
    let mut running =
        Running::start(qemu).map_err(BuildError::file(Path::new("qemu-system-x86_64")))?;
    let mut patience = Patience::minutes(minutes);
    let mut console = Console::default();
    loop {
        match running.next(&mut patience) {
            Next::Line(line) => {
                // It has been read if the guest speaks.
                if line.starts_with("guest:") {
                    let _ = fs::remove_file(archive);
                }
                console.hear(&line);
            }
            Next::End => break,
            Next::Late => {
                running.kill();
                console.blame(&format!("ended after {minutes} minutes"));
                return Ok(console);
            }
        }
    }
    // What it printed says more than its status.
    let _ = running.wait();
    Ok(console)
}

fn command(kernel: &Kernel, tree: &Tree, cpus: u32) -> Command {
    let mut qemu = Command::new("qemu-system-x86_64");
    let mut words = COMMAND_LINE.to_owned();
    if cpus == CHECKED.0 {
        words += CHECKED.1;
    }
    qemu.args(["-machine", "pc", "-accel", "tcg", "-cpu", "max"]);
    qemu.args(["-smp", &cpus.to_string(), "-m", memory(kernel)]);
    qemu.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
    qemu.args(["-nic", "none", "-no-reboot", "-append", &words]);
    // Two cards with a driver that has interrupts, joined to each other and to nothing else.
    for end in ["near", "far"] {
        qemu.args(["-netdev", &format!("hubport,hubid=0,id={end}")]);
        qemu.args(["-device", &format!("virtio-net-pci,netdev={end},romfile=")]);
    }
    qemu.arg("-kernel").arg(&tree.image);
    qemu
}
