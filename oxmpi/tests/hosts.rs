//! What only happens between hosts: one that vanishes, one that stops for a while. Run by `cargo
//! xtask hosts 2 -- cargo test -p oxmpi --test hosts` (a step of `cargo xtask test`); elsewhere
//! these tests are skipped, and say so.

use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use oxmpi_harness as harness;

/// Where `cargo xtask hosts` has made hosts.
fn has_hosts(test: &str) -> bool {
    let there = std::env::var_os("OXMPI_TEST_HOSTS").is_some();
    if !there {
        println!("{test}: skipped, it needs cargo xtask hosts 2");
    }
    there
}

/// Takes this process's host off the network: nobody hears from it again, not even that its
/// connections end.
fn vanish() {
    let down = Command::new("ip")
        .args(["link", "set", "eth0", "down"])
        .status();
    assert!(
        down.is_ok_and(|status| status.success()),
        "ip link set eth0 down"
    );
}

/// Brings it back, from another host.
fn bring_back() {
    let template = std::env::var("OXMPI_LAUNCHER")
        .unwrap()
        .replace("{host}", "h1");
    let script = format!("{template} ip link set eth0 up");
    let up = Command::new("sh").args(["-c", &script]).status();
    assert!(up.is_ok_and(|status| status.success()), "{script}");
}

/// There is one h1 for all tests.
static HOSTS: Mutex<()> = Mutex::new(());

/// Rank 0 waits for rank 1, whose host vanishes; `under_way` messages are on their way to it then.
fn lose(path: &str, under_way: usize) {
    if std::env::var_os("OXMPI_RANK").is_none() && !has_hosts(path) {
        return;
    }
    let body = || {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut word = [0u64];
        if world.rank() == 1 {
            world.send(&[1u64], 0, 1).unwrap();
            world.recv(&mut word, 0, 2).unwrap();
            vanish();
            // The launcher's line to this process is not of this network: it ends with the job.
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        world.recv(&mut word, 1, 1).unwrap();
        world.send(&word, 1, 2).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        for _ in 0..under_way {
            world.send(&word, 1, 3).unwrap();
        }
        let error = world.recv(&mut word, 1, 4).unwrap_err();
        println!("after {} s: {error}", begun.elapsed().as_secs());
        std::process::exit(9);
    };
    let _alone = HOSTS.lock().unwrap_or_else(|broken| broken.into_inner());
    harness::run_and_judge(path, &[2], body, |outcome, text| {
        bring_back();
        assert_eq!(outcome.code, 9, "{text}");
        assert!(text.contains("has lost rank 1 on host h1: "), "{text}");
        let told_soon = (5..25).any(|second| text.contains(&format!("after {second} s:")));
        assert!(told_soon, "{text}");
    });
}

#[test]
fn who_waits_for_a_host_that_vanished_is_told() {
    lose(
        concat!(
            module_path!(),
            "::who_waits_for_a_host_that_vanished_is_told"
        ),
        0,
    );
}

#[test]
fn who_sends_to_a_host_that_vanished_is_told() {
    lose(
        concat!(
            module_path!(),
            "::who_sends_to_a_host_that_vanished_is_told"
        ),
        3,
    );
}

/// A process that is stopped for longer than any silence that means death: its peer waits, with
/// bytes under way, and goes on.
#[test]
fn a_process_that_is_stopped_and_continues_is_waited_for() {
    let path = concat!(
        module_path!(),
        "::a_process_that_is_stopped_and_continues_is_waited_for"
    );
    if std::env::var_os("OXMPI_RANK").is_none() && !has_hosts(path) {
        return;
    }
    let _alone = HOSTS.lock().unwrap_or_else(|broken| broken.into_inner());
    harness::run(path, &[2], &[&[]], || {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let mut data = vec![0u64; 1 << 20];
        if world.rank() == 1 {
            world.send(&[1u64], 0, 1).unwrap();
            let script = format!(
                "kill -STOP {pid}; sleep 14; kill -CONT {pid}",
                pid = std::process::id()
            );
            let mut stopper = Command::new("sh").args(["-c", &script]).spawn().unwrap();
            for turn in 0..4u64 {
                world.recv(&mut data, 0, 2).unwrap();
                assert!(data.iter().all(|word| *word == turn));
            }
            stopper.wait().unwrap();
            world.send(&[2u64], 0, 3).unwrap();
        } else {
            let mut word = [0u64];
            world.recv(&mut word, 1, 1).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            for turn in 0..4u64 {
                data.fill(turn);
                world.send(&data, 1, 2).unwrap();
            }
            world.recv(&mut word, 1, 3).unwrap();
        }
    });
}
