//! Ends at random: processes, servers and mounts go away beneath each other, by a seed.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Case, Outcome, equal, good, pattern};
use crate::sys;
use crate::world::{World, count, mount, within};

pub const CASES: &[Case] = &[Case {
    name: "ends",
    time_s: 240,
    run: ends,
}];

const CHILDREN: usize = 3;
const ROUNDS: usize = 30;
/// Files that the processes fight for.
const FILES: u8 = 4;

/// Processes that write, read, map, move, remove and list are killed, the server is killed or
/// stopped for a while, mounts are taken away while they are in use, lazily and by force, and the
/// module is asked to go. Nothing hangs, and in the end everything can be unmounted and the module
/// unloaded.
fn ends() -> Outcome {
    let seed: u64 = std::process::id().into();
    by_seed(seed).map_err(|why| format!("seed {seed}: {why}"))
}

fn by_seed(seed: u64) -> Outcome {
    let mut world = World::new(&["--no-root-squash"])?;
    let options = "timeo=2";
    let root = world.mount(options)?;
    let start = |number: u64| {
        let child = sys::in_child(|| work(&root, seed ^ number));
        good("fork", child)
    };
    let mut children = Vec::new();
    for number in 0..CHILDREN {
        children.push(start(number as u64)?);
    }
    for (round, dice) in pattern(seed, ROUNDS).into_iter().enumerate() {
        std::thread::sleep(Duration::from_millis(100 + u64::from(dice)));
        match dice % 7 {
            0 | 1 => {
                let index = usize::from(dice) % CHILDREN;
                end(children[index])?;
                children[index] = start((round + CHILDREN) as u64)?;
            }
            2 => {
                world.kill();
                std::thread::sleep(Duration::from_millis(u64::from(dice)));
                world.start()?;
            }
            3 => {
                sys::signal(world.server_pid(), libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(10 * u64::from(dice)));
                sys::signal(world.server_pid(), libc::SIGCONT);
            }
            // Those that stand in it go on in the old one.
            4 => {
                good("umount -l", sys::unmount(&root, libc::MNT_DETACH))?;
                mount_again(&root, options)?;
            }
            // Busy or not: what waits for the server fails.
            5 => {
                if sys::unmount(&root, libc::MNT_FORCE).is_ok() {
                    mount_again(&root, options)?;
                }
            }
            _ => equal("rmmod of a module in use", module("rmmod", "oxfs"), false)?,
        }
    }
    for child in children {
        end(child)?;
    }
    world.unmount_all()?;
    within(30, || count("alive") == 0).map_err(|why| format!("transactions: {why}"))?;
    within(10, || module("rmmod", "oxfs")).map_err(|why| format!("rmmod: {why}"))?;
    equal("insmod", module("insmod", "/oxfs.ko"), true)
}

/// On a busy machine an emulated CPU may stand still for longer than the two seconds in which a
/// server is to answer.
fn mount_again(root: &Path, options: &str) -> Outcome {
    let mut outcome = Ok(());
    let waited = within(60, || {
        outcome = mount(root, options);
        outcome.is_ok()
    });
    // Why it was refused says more.
    outcome.and(waited)
}

/// A process that waits for a server, or for a mount that is being ended, can be killed.
fn end(child: u32) -> Outcome {
    sys::signal(child, libc::SIGKILL);
    within(20, || sys::has_ended(child)).map_err(|why| format!("a killed process: {why}"))
}

fn module(command: &str, name: &str) -> bool {
    let ended = Command::new(format!("/bin/{command}")).arg(name).output();
    ended.is_ok_and(|ended| ended.status.success())
}

/// What a process does until it is killed. Whatever is refused is no matter, and so is the signal
/// for a page of a file that another process has made shorter.
fn work(root: &Path, seed: u64) -> i32 {
    if std::env::set_current_dir(root).is_err() {
        return 1;
    }
    for round in 0.. {
        let dice = pattern(seed.wrapping_add(round), 3);
        let path = format!("f{}", dice[0] % FILES);
        let other = format!("f{}", dice[1] % FILES);
        let data = pattern(round, 300 * usize::from(dice[1]));
        let _ = match dice[2] % 7 {
            0 => fs::write(&path, &data),
            1 => fs::read(&path).map(drop),
            2 => fs::rename(&path, &other),
            3 => fs::remove_file(&path),
            4 => fs::read_dir(".").map(|names| names.for_each(drop)),
            5 => synced(&path, &data),
            _ => mapped(&path, &data),
        };
    }
    0
}

fn open(path: &str) -> std::io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn synced(path: &str, data: &[u8]) -> std::io::Result<()> {
    let file = open(path)?;
    std::os::unix::fs::FileExt::write_all_at(&file, data, 1000)?;
    file.sync_all()
}

fn mapped(path: &str, data: &[u8]) -> std::io::Result<()> {
    let file = open(path)?;
    let bytes = data.len() + 1;
    file.set_len(bytes as u64)?;
    let mut mapping = sys::Mapping::new(&file, bytes, true)?;
    for at in (0..bytes).step_by(999) {
        mapping.set(at, at as u8);
    }
    mapping.sync()
}
