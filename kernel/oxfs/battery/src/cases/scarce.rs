//! Memory that is scarce: for pages, and for whatever the kernel allocates.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Case, Outcome, equal, good, pattern, same, skip};
use crate::failslab::{FailSlab, MISSING, failing};
use crate::sys;
use crate::world::{MOUNTS, World, mount, within};

pub const CASES: &[Case] = &[
    Case {
        name: "memory",
        time_s: 240,
        run: memory,
    },
    Case {
        name: "out-of-memory",
        time_s: 120,
        run: out_of_memory,
    },
];

/// More is written than there is memory for pages.
fn memory() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let meminfo = good("meminfo", fs::read_to_string("/proc/meminfo"))?;
    let free = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let free_kb: u64 = free
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0);
    // The export is memory, too: a file that is written over and over again, while another process
    // takes most of what is left.
    let hog = good(
        "fork",
        sys::in_child(|| {
            let mut taken = vec![0u8; (free_kb as usize / 2) << 10];
            for page in taken.chunks_mut(4096) {
                page[0] = 1;
            }
            std::thread::sleep(Duration::from_secs(100));
            i32::from(taken[0])
        }),
    )?;
    let data = pattern(9, 4 << 20);
    for round in 0..2 {
        for file in 0..3 {
            let path = root.join(format!("f{file}"));
            good(&format!("round {round}"), fs::write(path, &data))?;
        }
    }
    for file in 0..3 {
        same(
            "read back",
            &good("read", fs::read(root.join(format!("f{file}"))))?,
            &data,
        )?;
    }
    sys::signal(hog, libc::SIGKILL);
    let _ = sys::wait(hog);
    world.unmount_all()
}

/// Allocations fail, of a process and of the kernel's workers: calls may fail, and what was said to
/// be done is done. Mounts that fail leave nothing behind.
fn out_of_memory() -> Outcome {
    let (mut world, root) = World::with_mount("")?;
    let Some(fail_slab) = good("failslab", FailSlab::begin(1))? else {
        return skip(MISSING);
    };
    let mut worked = [Vec::new(), Vec::new()];
    for round in 0..60u64 {
        let workers = round % 2;
        let work = || under_failures(&root, round);
        if good("failslab", failing(workers == 1, work))?.is_ok() {
            worked[workers as usize].push(round);
        }
    }
    let other = PathBuf::from(MOUNTS[1]);
    let mut mounted = 0;
    for _ in 0..20 {
        let tried = failing(true, || mount(&other, "soft,timeo=20"));
        if good("failslab", tried)?.is_ok() {
            mounted += 1;
            within(20, || sys::unmount(&other, 0).is_ok())?;
        }
    }
    drop(fail_slab);
    println!(
        "count oxfs/under_failslab={} with_failing_workers={} mounts={mounted}",
        worked[0].len(),
        worked[1].len()
    );
    for round in worked.into_iter().flatten() {
        let found = good("read", fs::read(world.behind(&format!("moved{round}"))))?;
        same("the server's", &found, &pattern(round, 50_000))?;
    }
    good("write", fs::write(root.join("f"), b"well"))?;
    let found = good("read", fs::read(world.behind("f")))?;
    equal("afterwards", found, b"well".to_vec())?;
    world.unmount_all()
}

/// What a process does with a file.
fn under_failures(root: &Path, round: u64) -> std::io::Result<()> {
    let (made, moved) = (
        root.join(format!("made{round}")),
        root.join(format!("moved{round}")),
    );
    let data = pattern(round, 50_000);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).open(&made)?;
    sys::lock(&file, libc::F_SETLK, libc::F_WRLCK, 0, 10)?;
    file.write_all_at(&[0; 60_000], 0)?;
    file.set_len(50_000)?;
    file.write_all_at(&data, 0)?;
    file.sync_all()?;
    fs::rename(&made, &moved)?;
    sys::set_xattr(&moved, "user.round", b"it", 0)?;
    let direct = sys::open(&moved, libc::O_RDWR | libc::O_DIRECT, 0)?;
    direct.write_all_at(&data[..8192], 0)?;
    let mut found = vec![0; 50_000];
    direct.read_exact_at(&mut found, 0)?;
    let listed = fs::read_dir(root)?.count();
    match found == data && listed > 0 {
        true => Ok(()),
        false => panic!("round {round}: other bytes were read"),
    }
}
