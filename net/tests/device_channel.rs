//! Channels between processes: each has its own, and a process that is killed gives its channel back.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use oxmpi_net::device::Channel;

/// No interface has such a number, so that the tests meet nobody else's channels.
const NOWHERE: u32 = u32::MAX - 7;
/// "at least 16 channels per interface"
const PROCESSES: usize = 16;

/// Not a test of its own: the process that others are started as.
#[test]
#[ignore = "a process of the other tests"]
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
