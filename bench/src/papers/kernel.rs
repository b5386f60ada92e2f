//! The paper on a messaging API inside the kernel: what can be measured where its modules are
//! loaded, and where the counts of the guest stand otherwise.
//!
//! The experiment is a remote file system over that API beside NFS. Here every folder that is
//! mounted by one of the two is read and written; counts of copies, requests and wake-ups need the
//! guest of `cargo xtask kernel test`.

use super::mounted::{self, Access};
use super::sheet::{Cell, Sheet};
use super::{Lab, PaperError};
use crate::figure::{Unit, size_name};

const PAPER: &str = "kernel";

/// The modules, with what has to be done for them.
const MODULES: [(&str, &str); 4] = [
    ("o2g", "docs/o2g.md"),
    ("oxk", "docs/oxk.md"),
    ("oxk_stream", "docs/oxk.md"),
    ("oxfs", "docs/oxfs.md"),
];

/// File systems that are compared.
const KINDS: [&str; 3] = ["oxfs", "nfs", "nfs4"];

/// Bytes of a call: the guest's.
const CALLS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// All of it.
pub fn run(lab: &mut Lab<'_>) -> Result<Vec<Sheet>, PaperError> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let mut state = Sheet::new(PAPER, "modules of this kernel", &["users"]);
    let modules = read("/proc/modules");
    for (module, page) in MODULES {
        match users(&modules, module) {
            Some(count) => state.line(module, vec![Cell::one(Unit::Count, count)]),
            None => state.note(format!("{module} is not loaded; {page} says how to")),
        }
    }
    state.note(
        "the tables of the paper, as counts of a guest: docs/benchmarks.md, \"oxfs: what a MiB \
         costs in the kernel\" and \"PM in the kernel\"; to count them anew, in the sources: \
         cargo xtask kernel test --kernel 6.12 --cpus 2 --only oxfs-nfs, and --only oxk_pm_reaping",
    );
    let mounts = mounted::mounts(&read("/proc/self/mounts"), &KINDS);
    let mut sheets = vec![state];
    if mounts.is_empty() {
        sheets[0].note(
            "no folder is mounted by oxfs or NFS here, so access to files is not measured; \
             docs/oxfs.md says how to mount one",
        );
        return Ok(sheets);
    }
    let names: Vec<String> = mounts
        .iter()
        .map(|mount| format!("{} ({})", mount.folder.display(), mount.kind))
        .collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sheet = Sheet::new(PAPER, "access to mounted folders, MB/s", &columns);
    for access in Access::ALL {
        for call in CALLS {
            let mut cells = Vec::new();
            for mount in &mounts {
                match mounted::measure(&mount.folder, access, call, lab.rounds()) {
                    Ok(rates) => cells.push(Cell::of(Unit::MegabytesPerSecond, &rates)),
                    Err(error) => {
                        let folder = mount.folder.display();
                        sheet.note(format!("{folder}, {}: {error}", access.name()));
                        cells.push(None);
                    }
                }
            }
            sheet.line(format!("{}, {}", access.name(), size_name(call)), cells);
        }
    }
    sheets.push(sheet);
    Ok(sheets)
}

/// How many use a module, if it is loaded, out of /proc/modules.
fn users(modules: &str, name: &str) -> Option<f64> {
    let line = modules
        .lines()
        .find(|line| line.split(' ').next() == Some(name))?;
    line.split(' ').nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_known_by_its_whole_name() {
        let modules = "oxk_stream 16384 0 - Live 0x0\noxk 65536 2 oxk_stream,oxfs, Live 0x0\n";
        assert_eq!(users(modules, "oxk"), Some(2.0));
        assert_eq!(users(modules, "oxk_stream"), Some(0.0));
        assert_eq!(users(modules, "o2g"), None);
    }
}
