//! `cargo xtask kernel`: builds the module o2g.ko for Debian's kernels and tries it in QEMU.
//!
//! Walk: [`packages`] (kernels, headers and a compiler, unpacked and not installed) → [`core`] (the Rust half, as one checked object) →
//! [`module`] (kbuild) → [`initramfs`] and [`guest`] (what is in the guest and what it does) → [`qemu`] (a boot) → [`console`] (what its lines mean).
//! Everything lies in `target/kernel`; removing that folder fetches the newest packages again.

mod console;
mod core;
mod guest;
mod initramfs;
mod module;
mod packages;
mod qemu;

use std::path::PathBuf;

use crate::installed;
use crate::steps::{Expect, Steps, target};

/// A kernel that the module is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// How it is called on the command line.
    pub name: &'static str,
    /// The packages that depend on the newest release of it.
    metas: [&'static str; 2],
    /// What its code looks like beyond what every kernel's does: indirect branches land on endbr64, and functions are padded for call thunks.
    flags: &'static [&'static str],
    /// kbuild gives objtool each object, not the linked module: the core's has to be given by us.
    objtool_by_hand: bool,
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        name: "6.1",
        metas: ["linux-image-cloud-amd64", "linux-headers-cloud-amd64"],
        flags: &[],
        objtool_by_hand: true,
    },
    Kernel {
        name: "6.12",
        metas: [
            "linux-image-6.12-cloud-amd64",
            "linux-headers-6.12-cloud-amd64",
        ],
        flags: &["-Zcf-protection=branch", "-Zpatchable-function-entry=16,16"],
        objtool_by_hand: false,
    },
];

/// Kernels and numbers of CPUs: the two that differ most, and all.
const FEW: [(usize, u32); 2] = [(0, 1), (1, 2)];
const ALL: [(usize, u32); 4] = [(0, 1), (0, 2), (1, 1), (1, 2)];

/// A boot takes half a minute where nothing else runs.
const BOOT_MINUTES: u64 = 10;
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
    let chosen = |kernel: &Kernel| wish.kernel.is_none_or(|wanted| wanted == *kernel);
    match wish.task.as_deref() {
        Some("boot") => {
            let kernel = wish.kernel.ok_or("which kernel? --kernel 6.1 or 6.12")?;
            Ok(qemu::run(&kernel, wish.cpus.unwrap_or(1), &wish.only))
        }
        Some(task @ ("build" | "test")) => {
            let mut steps = Steps::new(None);
            if let Err(reason) = packages::tools(&mut steps) {
                steps.skip(TITLE, &reason);
                return Ok(false);
            }
            for kernel in KERNELS.iter().filter(|kernel| chosen(kernel)) {
                build(&mut steps, kernel);
            }
            if task == "test" {
                let boots = ALL.iter().filter(|(kernel, cpus)| {
                    chosen(&KERNELS[*kernel]) && wish.cpus.is_none_or(|wanted| wanted == *cpus)
                });
                boot_all(&mut steps, boots, &wish.only);
            }
            Ok(steps.close())
        }
        Some("module") => {
            let kernel = wish.kernel.ok_or("which kernel? --kernel 6.1 or 6.12")?;
            let tree = packages::unpack(&kernel).map_err(module::BuildError::from);
            let built = tree.and_then(|tree| module::build(&kernel, &tree));
            Ok(match built {
                Ok(module) => {
                    println!("built {}", module.display());
                    true
                }
                Err(error) => {
                    eprintln!("{error}");
                    false
                }
            })
        }
        _ => Err("kernel build or kernel test?".into()),
    }
}

/// The steps of `cargo xtask test`.
pub fn test(steps: &mut Steps, long: bool) {
    if !steps.selects(TITLE) {
        return;
    }
    if let Err(reason) = packages::tools(steps) {
        return steps.skip(TITLE, &reason);
    }
    for kernel in &KERNELS {
        if let Err(error) = packages::unpack(kernel) {
            return steps.skip(TITLE, &error.to_string());
        }
        build(steps, kernel);
    }
    match long {
        true => boot_all(steps, ALL.iter(), &[]),
        false => boot_all(steps, FEW.iter(), &[]),
    }
}

fn build(steps: &mut Steps, kernel: &Kernel) -> bool {
    let name = format!("{TITLE}: build for {}", kernel.name);
    let mut build = installed::task(&["kernel", "module", "--kernel", kernel.name]);
    steps.run_always(&name, 15, Expect::Text("built "), &mut build)
}

fn boot_all<'a>(steps: &mut Steps, boots: impl Iterator<Item = &'a (usize, u32)>, only: &[String]) {
    if !steps.run_always(
        &format!("{TITLE}: build of the battery"),
        15,
        Expect::Success,
        &mut guest::build(),
    ) {
        return;
    }
    for (kernel, cpus) in boots {
        let kernel = &KERNELS[*kernel];
        let cpus = cpus.to_string();
        let mut boot = installed::task(&["kernel", "boot", "--kernel", kernel.name]);
        boot.args(["--cpus", &cpus]);
        for word in only {
            boot.args(["--only", word]);
        }
        let name = format!("{TITLE}: {}, CPUs: {cpus}", kernel.name);
        steps.run_always(&name, BOOT_MINUTES, Expect::Tests, &mut boot);
    }
}

impl Wish {
    fn parse(words: &mut lexopt::Parser) -> Result<Wish, lexopt::Error> {
        use lexopt::prelude::*;
        let mut wish = Wish::default();
        while let Some(word) = words.next()? {
            match word {
                Long("kernel") => {
                    let name = words.value()?.string()?;
                    let kernel = KERNELS.iter().find(|kernel| kernel.name == name);
                    let kernel = kernel.ok_or_else(|| format!("no kernel {name}: 6.1 or 6.12"))?;
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
