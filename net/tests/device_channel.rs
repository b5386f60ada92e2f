//! Channels between processes: each has its own, and a process that is killed gives its channel
//! back.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use oxmpi_net::device::Channel;

/// No interface has such a number, so that the tests meet nobody else's channels.
const NOWHERE: u32 = u32::MAX - 7;
/// "at least 16 channels per interface"
const PROCESSES: usize = 16;

/// Not a test of its own: the process that others are started as.
#[test]
#[ignore = "a process that the other tests of this file start"]
fn hold_a_channel() {
    let channel = Channel::claim(NOWHERE).unwrap();
    // Written whole and past the test's own capture of output, behind a word of our own.
    writeln!(std::io::stderr(), "channel {}", channel.number()).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

/// Another process that has taken a channel, and the number of it.
fn holder() -> (Child, u16) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_a_channel", "--ignored", "--nocapture"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let number = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("channel ")?.parse().ok())
        .expect("the process says which channel it has");
    (child, number)
}

#[test]
fn processes_have_channels_of_their_own_until_they_are_killed() {
    let (mut children, mut numbers): (Vec<Child>, Vec<u16>) =
        (0..PROCESSES).map(|_| holder()).unzip();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=PROCESSES as u16).collect::<Vec<u16>>());
    // `kill` is SIGKILL: nothing is tidied up by the process itself.
    let mut killed = children.swap_remove(4);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(Channel::claim(NOWHERE).unwrap().number(), 5);
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(Channel::claim(NOWHERE).unwrap().number(), 1);
}

/// A user without rights: `nobody`.
const NOBODY: &str = "65534";
/// Its own interface number, because all names of it are taken for a while.
const SQUATTED: u32 = u32::MAX - 8;

/// Not a test of its own: a user without rights takes all names that are known.
#[test]
#[ignore = "a process that the other tests of this file start"]
fn squat() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let names = (1..=4095).map(|number| format!("oxmpi-channel-{SQUATTED}-{number}"));
    let held: Vec<UnixListener> = names
        .map(|name| {
            let address = SocketAddr::from_abstract_name(name).unwrap();
            UnixListener::bind_addr(&address).unwrap()
        })
        .collect();
    writeln!(std::io::stderr(), "channel {}", held.len()).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn another_user_cannot_take_all_channels() {
    // A copy that the other user may execute, wherever the tests are built.
    let folder = std::env::temp_dir().join(format!("oxmpi-squat-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("squat");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let started = Command::new("prlimit")
        .args(["--nofile=8192", "setpriv", "--reuid", NOBODY])
        .args(["--regid", NOBODY, "--clear-groups"])
        .arg(&program)
        .args(["--exact", "squat", "--ignored", "--nocapture"])
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.expect("prlimit and setpriv are part of util-linux");
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| line != "channel 4095")
        .collect();
    if said.iter().any(|line| line.contains("not permitted")) {
        child.wait().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        eprintln!("skipped: acting as another user takes root ({said:?})");
        return;
    }
    let channels = [
        Channel::claim(SQUATTED).unwrap(),
        Channel::claim(SQUATTED).unwrap(),
    ];
    let numbers = channels.each_ref().map(Channel::number);
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(numbers, [1, 2]);
}
