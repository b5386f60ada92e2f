//! A cable that is cut: the server lives, and the mount cannot reach it for a while.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Case, Outcome, equal, good};
use crate::sys;
use crate::world::{World, within};

pub const CASES: &[Case] = &[
    Case {
        name: "cut",
        time_s: 120,
        run: cut,
    },
    Case {
        name: "cut-lease",
        time_s: 120,
        run: cut_lease,
    },
];

/// For less than a lease: the session goes on, every operation is done once, and none fails.
fn cut() -> Outcome {
    let (told, before, after) = cut_for("30", 5)?;
    equal("the session", after, before)?;
    let in_doubt = told.values().filter(|done| !**done).count();
    equal("operations that failed", in_doubt, 0)
}

/// For longer: there is another session, and what was under way fails rather than being done twice.
fn cut_lease() -> Outcome {
    let (_, before, after) = cut_for("2", 6)?;
    match before == after {
        true => Err("the session is the same".into()),
        false => Ok(()),
    }
}

/// What a process was told of each of its records: that it is written, or EIO.
type Told = HashMap<String, bool>;

/// Cuts the cable while a process appends records to a file, and makes and moves others. What it
/// was told is compared with what the server has. Also the names of sessions, before and after.
fn cut_for(lease: &str, seconds: u64) -> Outcome<(Told, Vec<PathBuf>, Vec<PathBuf>)> {
    let mut world = World::new(&["--no-root-squash", "--lease", lease])?;
    let root = world.mount("timeo=2")?;
    let (told, stop) = (world.behind("../told"), world.behind("../stop"));
    for left in [&told, &stop] {
        let _ = fs::remove_file(left);
    }
    let child = sys::in_child(|| match work(&root, &told, &stop) {
        Ok(()) => 0,
        Err(why) => {
            println!("{why}");
            1
        }
    });
    let child = good("fork", child)?;
    let records = || fs::read_to_string(&told).map_or(0, |text| text.lines().count());
    let more = |what: &str| {
        let had = records();
        within(40, || records() > had + 20).map_err(|why| format!("{what}: {why}"))
    };
    let sessions = || -> Outcome<Vec<PathBuf>> {
        let found = good("sessions", fs::read_dir(world.behind("../state/sessions")))?;
        Ok(found.flatten().map(|entry| entry.path()).collect())
    };
    more("before")?;
    let before = sessions()?;
    link("down")?;
    std::thread::sleep(Duration::from_secs(seconds));
    link("up")?;
    more("after")?;
    let after = sessions()?;
    good("stop", fs::write(&stop, b""))?;
    equal("the process", good("wait", sys::wait(child))?, 0)?;
    let told = read_told(&told)?;
    verify(&told, &world.behind(""))?;
    world.unmount_all()?;
    Ok((told, before, after))
}

fn link(state: &str) -> Outcome {
    let mut command = Command::new("ip");
    let status = command.args(["link", "set", "veth0", state]).status();
    equal("ip link", good("ip", status)?.success(), true)
}

fn work(root: &Path, told: &Path, stop: &Path) -> Outcome {
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(root.join("log"));
    let mut log = good("open", log)?;
    let mut told = good("told", fs::File::create(told))?;
    let mut tell = |name: String, done: io::Result<()>| -> Outcome {
        let done = match done {
            Ok(()) => "done",
            Err(error) if error.raw_os_error() == Some(libc::EIO) => "doubt",
            Err(error) => return Err(format!("{name}: {error}")),
        };
        good("told", writeln!(told, "{name} {done}"))
    };
    for number in 0..1_000_000 {
        if stop.exists() {
            break;
        }
        let record = format!("record{number}\n");
        let wrote = log.write(record.as_bytes()).map(|bytes| {
            assert_eq!(bytes, record.len(), "a record is appended whole");
        });
        tell(record.trim().to_owned(), wrote)?;
        let path = |name: &str| root.join(format!("{name}{number}"));
        let mut new = OpenOptions::new();
        let made = new.write(true).create_new(true).open(path("made"));
        let is_made = made.is_ok();
        tell(format!("made{number}"), made.map(drop))?;
        if is_made {
            let moved = fs::rename(path("made"), path("moved"));
            tell(format!("moved{number}"), moved)?;
        }
    }
    Ok(())
}

fn read_told(path: &Path) -> Outcome<Told> {
    let text = good("told", fs::read_to_string(path))?;
    let words = text.lines().filter_map(|line| line.split_once(' '));
    Ok(words
        .map(|(name, done)| (name.to_owned(), done == "done"))
        .collect())
}

fn verify(told: &Told, export: &Path) -> Outcome {
    let log = good("log", fs::read_to_string(export.join("log")))?;
    let mut times: HashMap<&str, usize> = HashMap::new();
    for record in log.lines() {
        *times.entry(record).or_default() += 1;
    }
    for (name, done) in told {
        if name.starts_with("record") {
            let found = times.remove(name.as_str()).unwrap_or(0);
            if found > 1 || (*done && found == 0) {
                return Err(format!("{name} is there {found} times, done: {done}"));
            }
        } else if name.starts_with("moved") && *done {
            let before = name.replace("moved", "made");
            let there = [name.as_str(), &before].map(|name| export.join(name).exists());
            equal(name, there, [true, false])?;
        }
    }
    match times.is_empty() {
        true => Ok(()),
        false => Err(format!("records that nobody wrote: {times:?}")),
    }
}
