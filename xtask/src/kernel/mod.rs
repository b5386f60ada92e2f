//! `cargo xtask kernel`: builds the modules for Debian's kernels and tries them in QEMU.
//!
//! Walk: [`packages`] (kernels, headers and a compiler, unpacked and not installed) → [`core`] (the
//! Rust halves, as checked objects) → [`module`] (kbuild) → [`initramfs`], [`guest`], [`mpi`] and
//! [`oxfs`] (what is in the guest and what it does) → [`qemu`] (a boot) → [`console`] (what its lines mean).
//! Everything lies in `target/kernel`; removing that folder fetches the newest packages again.

mod console;
mod core;
mod debug;
mod guest;
mod initramfs;
mod module;
mod mpi;
mod nfs;
mod nfs_files;
mod oxfs;
mod packages;
mod pm_net;
mod qemu;

use std::path::PathBuf;

use crate::installed;
use crate::steps::{Expect, Steps, target};

/// A kernel that the modules are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// How it is called on the command line.
    pub name: &'static str,
    /// The packages that depend on the newest release of it, or its source.
    packages: &'static [&'static str],
    /// What its code looks like beyond what every kernel's does: indirect branches land on endbr64,
    /// and functions are padded for call thunks.
    flags: &'static [&'static str],
    /// kbuild gives objtool each object, not the linked module: the core's has to be given by us.
    objtool_by_hand: bool,
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        name: "6.1",
        packages: &["linux-image-cloud-amd64", "linux-headers-cloud-amd64"],
        flags: &[],
        objtool_by_hand: true,
    },
    Kernel {
        name: "6.12",
        packages: &[
            "linux-image-6.12-cloud-amd64",
            "linux-headers-6.12-cloud-amd64",
        ],
        flags: &["-Zcf-protection=branch", "-Zpatchable-function-entry=16,16"],
        objtool_by_hand: false,
    },
];

/// Of the same source as the second, with all its checks. Building it is a long task and part of no
/// other; where it has been built, the others use it.
const DEBUG: Kernel = Kernel {
    name: "debug",
    packages: &["linux-source-6.12"],
    // The last four have the compiler call the kernel before each access to memory, as the shim's
    // compiler does.
    flags: &[
        "-Zcf-protection=branch",
        "-Zsanitizer=kernel-address",
        "-Zsanitizer-recover=kernel-address",
        "-Cllvm-args=-asan-mapping-offset=0xdffffc0000000000 -asan-instrumentation-with-call-threshold=0",
        "-Cllvm-args=-asan-stack=0 -asan-globals=0",
    ],
    objtool_by_hand: false,
};

impl Kernel {
    fn is_debug(&self) -> bool {
        *self == DEBUG
    }
}

/// Kernels and numbers of CPUs: the two that differ most, and all.
const FEW: [(Kernel, u32); 2] = [(KERNELS[0], 1), (KERNELS[1], 2)];
const ALL: [(Kernel, u32); 4] = [
    (KERNELS[0], 1),
    (KERNELS[0], 2),
    (KERNELS[1], 1),
    (KERNELS[1], 2),
];

const TITLE: &str = "kernel module in QEMU";

/// What the words after `kernel` ask for.
#[derive(Default)]
struct Wish {
    task: Option<String>,
    kernel: Option<Kernel>,
    cpus: Option<u32>,
    only: Vec<String>,
}

/// `cargo xtask kernel …`; true when nothing failed.
pub fn run(words: &mut lexopt::Parser) -> Result<bool, lexopt::Error> {
    let wish = Wish::parse(words)?;
    let one = || {
        wish.kernel
            .ok_or("which kernel? --kernel 6.1, 6.12 or debug")
    };
    match wish.task.as_deref() {
        Some("build") => {
            let mut steps = Steps::new(None);
            build_all(&mut steps, &wish.boots());
            Ok(steps.close())
        }
        Some("test") => {
            let mut steps = Steps::new(None);
            let boots = build_all(&mut steps, &wish.boots());
            boot_all(&mut steps, &boots, &wish.only, Mpi::Everywhere);
            Ok(steps.close())
        }
        // The others are what the steps of these two execute.
        Some("programs") => {
            let compiled = mpi::compile(nfs_files::chapters(&wish.only));
            let compiled = match pm_net::is_chosen(&wish.only) {
                true => compiled.and_then(|()| pm_net::compile()),
                false => compiled,
            };
            Ok(report(compiled))
        }
        Some("module") => Ok(report(build(&one()?))),
        Some("boot") => Ok(qemu::run(&one()?, wish.cpus.unwrap_or(1), &wish.only)),
        _ => Err("kernel build or kernel test?".into()),
    }
}

/// The steps of `cargo xtask test`.
pub fn test(steps: &mut Steps, long: bool) {
    if !steps.selects(TITLE) {
        return;
    }
    let stock: &[_] = if long { &ALL } else { &FEW };
    // The last is the one that OxMPI is tried in.
    let mut boots: Vec<_> = debug::is_there()
        .then_some((DEBUG, 2))
        .into_iter()
        .collect();
    boots.extend(stock);
    let mut boots = build_all(steps, &boots);
    // The older kernel's modules are built every day and tried in long runs.
    boots.retain(|(kernel, _)| long || kernel.name != KERNELS[0].name);
    // OxMPI takes as long there as the whole battery: once is enough for every day.
    let mpi = if long { Mpi::Everywhere } else { Mpi::Last };
    boot_all(steps, &boots, &[], mpi);
}

/// Builds the modules for each kernel; those boots that can be tried.
fn build_all(steps: &mut Steps, boots: &[(Kernel, u32)]) -> Vec<(Kernel, u32)> {
    let debug = boots.iter().any(|(kernel, _)| kernel.is_debug());
    if let Err(reason) = packages::tools(steps, debug && !debug::is_there()) {
        steps.skip(TITLE, &reason);
        return Vec::new();
    }
    let mut kernels: Vec<Kernel> = boots.iter().map(|boot| boot.0).collect();
    kernels.dedup();
    kernels.retain(|kernel| {
        let name = format!("{TITLE}: build for {}", kernel.name);
        if let Err(error) = packages::fetch(kernel) {
            steps.skip(&name, &error.to_string());
            return false;
        }
        let minutes = if kernel.is_debug() { 180 } else { 15 };
        let mut build = installed::task(&["kernel", "module", "--kernel", kernel.name]);
        steps.run_always(&name, minutes, Expect::Text("built "), &mut build)
    });
    let built = |boot: &&(Kernel, u32)| kernels.contains(&boot.0);
    boots.iter().filter(built).copied().collect()
}

/// Builds the modules for one kernel.
fn build(kernel: &Kernel) -> Result<(), module::BuildError> {
    let tree = packages::unpack(kernel)?;
    for module in module::build(kernel, &tree)? {
        println!("built {}", module.display());
    }
    Ok(())
}

/// In which boots OxMPI itself is tried, unless cases are chosen by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mpi {
    Everywhere,
    /// In the last.
    Last,
}

fn boot_all(steps: &mut Steps, boots: &[(Kernel, u32)], only: &[String], mpi: Mpi) {
    if boots.is_empty() {
        return;
    }
    let name = format!("{TITLE}: build of the battery");
    if !steps.run_always(&name, 15, Expect::Success, &mut guest::build()) {
        return;
    }
    let needs_mpi = guest::wants_mpi(only) || pm_net::is_chosen(only) || nfs_files::is_chosen(only);
    if needs_mpi && !build_mpi(steps, only) {
        return;
    }
    let battery = [guest::BATTERY.to_owned()];
    let daily: Vec<String> = [guest::BATTERY, guest::MPI]
        .map(str::to_owned)
        .into_iter()
        .chain(oxfs::daily())
        .collect();
    let file_system = [oxfs::WORD.to_owned()];
    let loads = [oxfs::LOAD.to_owned()];
    let nfs = [oxfs::NFS.to_owned()];
    let long = mpi == Mpi::Everywhere && only.is_empty();
    let wants_nfs = long || nfs::is_chosen(only) || nfs_files::is_chosen(only);
    let has_nfs = wants_nfs && nfs::fetch(steps);
    oxfs::fetch_loads(steps, if long { &loads } else { only });
    for (index, (kernel, cpus)) in boots.iter().enumerate() {
        let last = index + 1 == boots.len();
        let words = match mpi {
            _ if !only.is_empty() => only,
            Mpi::Everywhere => only,
            Mpi::Last if last => &daily,
            Mpi::Last => &battery,
        };
        boot(steps, kernel, *cpus, words);
        // The file system has boots of its own in long runs, because it takes longer than all else.
        if long {
            boot(steps, kernel, *cpus, &file_system);
            boot(steps, kernel, *cpus, &loads);
        }
        if long && last && has_nfs {
            boot(steps, kernel, *cpus, &nfs);
        } else if long && last {
            steps.skip(
                &format!("{TITLE}: oxfs beside NFS"),
                "nfs-ganesha cannot be installed",
            );
        }
    }
}

fn boot(steps: &mut Steps, kernel: &Kernel, cpus: u32, only: &[String]) {
    let mut boot = installed::task(&["kernel", "boot", "--kernel", kernel.name]);
    boot.args(["--cpus", &cpus.to_string()]);
    for word in only {
        boot.args(["--only", word]);
    }
    let mut name = format!("{TITLE}: {}, CPUs: {cpus}", kernel.name);
    if !only.is_empty() && only.iter().all(|word| oxfs::is_word(word)) {
        name += ", file system";
    }
    if nfs_files::is_chosen(only) {
        name += ", MPI's files on NFS";
    }
    // A guest that hangs is ended before, and can still say how far it came.
    let minutes = qemu::minutes_max(kernel, only) + 1;
    steps.run_always(&name, minutes, Expect::Tests, &mut boot);
}

/// OxMPI and programs for the guest.
fn build_mpi(steps: &mut Steps, only: &[String]) -> bool {
    let words = mpi::install();
    let mut install = installed::task(&words.each_ref().map(String::as_str));
    let mut compile = installed::task(&["kernel", "programs"]);
    for word in only {
        compile.args(["--only", word]);
    }
    steps.run_always(
        &format!("{TITLE}: installation for the guest"),
        20,
        Expect::Text("to use it:"),
        &mut install,
    ) && steps.run_always(
        &format!("{TITLE}: programs for the guest"),
        5,
        Expect::Success,
        &mut compile,
    )
}

/// Says why something could not be built.
fn report<T>(built: Result<T, module::BuildError>) -> bool {
    if let Err(error) = &built {
        eprintln!("{error}");
    }
    built.is_ok()
}

impl Wish {
    /// What is to be booted.
    fn boots(&self) -> Vec<(Kernel, u32)> {
        let all = match self.kernel {
            Some(kernel) => vec![(kernel, 1), (kernel, 2)],
            None => ALL.to_vec(),
        };
        let wanted = |boot: &(Kernel, u32)| self.cpus.is_none_or(|cpus| cpus == boot.1);
        all.into_iter().filter(wanted).collect()
    }

    fn parse(words: &mut lexopt::Parser) -> Result<Wish, lexopt::Error> {
        use lexopt::prelude::*;
        let mut wish = Wish::default();
        while let Some(word) = words.next()? {
            match word {
                Long("kernel") => {
                    let name = words.value()?.string()?;
                    let mut kernels = KERNELS.iter().chain([&DEBUG]);
                    let kernel = kernels.find(|kernel| kernel.name == name);
                    let kernel =
                        kernel.ok_or_else(|| format!("no kernel {name}: 6.1, 6.12 or debug"))?;
                    wish.kernel = Some(*kernel);
                }
                Long("cpus") => wish.cpus = Some(words.value()?.parse()?),
                Long("only") => wish.only.push(words.value()?.string()?),
                Value(task) if wish.task.is_none() => wish.task = Some(task.string()?),
                other => return Err(other.unexpected()),
            }
        }
        Ok(wish)
    }
}

/// Everything these tasks make.
fn folder() -> PathBuf {
    target().join("kernel")
}
