//! What ranks tell about the addresses and ports that they are to use. Ranks of one host talk as if
//! they were on several.

use std::process::Command;

use oxmpi_net::address::Local;

use crate::mpiexec::{Ran, finish, start};

/// Two ranks of a program that communicates, apart from each other.
fn pi(words: &[&str]) -> Ran {
    let mut oxmpi = Command::new(env!("CARGO_BIN_EXE_oxmpi"));
    oxmpi
        .args(["run", "-n", "2"])
        .args(words)
        .arg("pi")
        .env("OXMPI_PORTS", "off");
    finish(start(&mut oxmpi), b"")
}

/// The first line of a rank; both say the same, and the launcher more after it.
#[track_caller]
fn told(words: &[&str], text: &str) {
    let ran = pi(words);
    let said = ran.stderr.lines().any(|line| line.ends_with(text));
    assert!(said, "{words:?} does not say {text:?}: {ran:?}");
    assert_ne!(ran.code, 0, "{ran:?}");
}

/// This host's addresses as messages list them.
fn there() -> String {
    let interfaces = Local::read().unwrap().interfaces;
    let text = |interface: &oxmpi_net::address::Interface| {
        let down = if interface.up { "" } else { " (down)" };
        format!("{interface}{down}")
    };
    interfaces.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_network_that_this_host_is_not_on() {
    let there = there();
    told(
        &["--net-include", "203.0.113.0/24"],
        &format!(
            "OXMPI_NET_INCLUDE=203.0.113.0/24 matches no interface of this host that is up: there is {there}; name one of these or unset OXMPI_NET_INCLUDE"
        ),
    );
    told(
        &["--net-exclude", "0.0.0.0/0,::/0"],
        &format!(
            "OXMPI_NET_EXCLUDE=0.0.0.0/0,::/0 leaves no address of this host: there is {there}; leave one of these"
        ),
    );
}

#[test]
fn words_and_ports_that_make_no_sense() {
    told(
        &["--net-include", "10.9/16"],
        "OXMPI_NET_INCLUDE=10.9/16: '10.9/16' is neither a network such as 10.1.0.0/16 or fd00::/8, nor an address, nor the name of an interface such as eth0",
    );
    told(
        &["--port-range", "5100-5000"],
        "--port-range 5100-5000: expected two ports from 1 to 65535, such as 5000-5100",
    );
    told(
        &["--net", "carrier-pigeon"],
        "expected auto, ethernet, xdp, pm-kernel, udp or tcp",
    );
}

#[test]
fn a_job_on_one_address_works_by_every_network() {
    for network in ["tcp", "udp"] {
        let ran = pi(&["--net", network, "--net-include", "127.0.0.1"]);
        assert_eq!(ran.code, 0, "{network}: {ran:?}");
        let ran = pi(&["--net", network, "--net-include", "lo"]);
        assert_eq!(ran.code, 0, "{network}: {ran:?}");
    }
}
