//! Nothing survives: neither a good end, nor a bad one, nor kill -9 of the launcher or of the
//! warden.

use std::os::unix::process::CommandExt;

use crate::mpiexec::{command, eventually, finish, kill, marked, marker, run, start};

/// Ranks that start children in the background, in a session of their own, and twice removed.
fn brood(marker: &str) -> String {
    let sleeper = format!("sh -c 'sleep 1000; : {marker}'");
    format!("{sleeper} & ({sleeper} &); setsid {sleeper} & {sleeper}; : {marker}")
}

fn started(marker: &str, at_least: usize) {
    assert!(
        eventually(|| marked(marker).len() >= at_least),
        "{:?}",
        marked(marker)
    );
}

#[test]
fn kill_9_of_the_launcher_leaves_nothing() {
    let marker = marker("launcher");
    let mut child = start(&mut command(&["-n", "3", "sh", "-c", &brood(&marker)]));
    // The launcher, the warden, and five processes of each rank.
    started(&marker, 2 + 3 * 5);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        eventually(|| marked(&marker).is_empty()),
        "{:?}",
        marked(&marker)
    );
}

#[test]
fn kill_9_of_the_launchers_group_leaves_nothing() {
    let marker = marker("group");
    let mut mpiexec = command(&["-n", "2", "sh", "-c", &brood(&marker)]);
    let mut child = start(mpiexec.process_group(0));
    started(&marker, 2 + 2 * 5);
    kill("KILL", -(child.id() as i32));
    child.wait().unwrap();
    assert!(
        eventually(|| marked(&marker).is_empty()),
        "{:?}",
        marked(&marker)
    );
}

#[test]
fn kill_9_of_the_warden_ends_the_job() {
    let marker = marker("warden");
    let script =
        format!("sh -c 'sleep 1000; : {marker}' & sh -c 'sleep 1000; : {marker}'; : {marker}");
    let child = start(&mut command(&["-n", "2", "sh", "-c", &script]));
    started(&marker, 2 + 2 * 3);
    let warden = marked(&marker).into_iter().find(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name == "oxmpi-warden\n")
    });
    kill("KILL", warden.expect("there is a warden"));
    let ran = finish(child, b"");
    assert_eq!(
        ran.stderr,
        "oxmpi: the job's warden process was killed, and all ranks with it\n"
    );
    assert_eq!(ran.code, 128 + 9);
    assert!(
        eventually(|| marked(&marker).is_empty()),
        "{:?}",
        marked(&marker)
    );
}

#[test]
fn nobody_waits_for_a_killed_wardens_confirmation() {
    // A process in a session of its own outlives the warden here and keeps the ranks' output open.
    let marker = marker("unconfirmed");
    let script = format!("setsid sh -c 'sleep 1000; : {marker}' & sleep 1000; : {marker}");
    let child = start(&mut command(&["-n", "2", "sh", "-c", &script]));
    started(&marker, 2 + 2 * 2);
    let is_warden = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name == "oxmpi-warden\n")
    };
    let warden = marked(&marker).into_iter().find(is_warden);
    kill("KILL", warden.expect("there is a warden"));
    let ran = finish(child, b"");
    for orphan in marked(&marker) {
        kill("KILL", orphan);
    }
    assert_eq!(ran.code, 128 + 9);
    assert!(
        ran.wall < std::time::Duration::from_secs(8),
        "hosts get 10 s to confirm the end of a job; there was no one to wait for: {ran:?}"
    );
}

#[test]
fn a_good_end_leaves_nothing() {
    let marker = marker("good");
    let script = format!(
        "setsid sh -c 'sleep 1000; : {marker}' >/dev/null 2>&1 & sh -c 'sleep 1000; : {marker}' & exit 0"
    );
    let ran = run(&["-n", "2", "sh", "-c", &script]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(marked(&marker), [], "at once, not eventually");
}

#[test]
fn a_bad_end_leaves_nothing() {
    let marker = marker("bad");
    let script = format!(
        "if [ $OXMPI_RANK = 0 ]; then sleep 0.3; exit 1; fi; {}",
        brood(&marker)
    );
    let ran = run(&["-n", "3", "sh", "-c", &script]);
    assert_eq!(ran.code, 1);
    assert_eq!(marked(&marker), []);
}

#[test]
fn ctrl_c_leaves_nothing() {
    let marker = marker("interrupt");
    let child = start(&mut command(&["-n", "2", "sh", "-c", &brood(&marker)]));
    started(&marker, 2 + 2 * 5);
    kill("INT", child.id() as i32);
    let ran = finish(child, b"");
    assert_eq!(ran.signal, Some(2));
    assert_eq!(marked(&marker), []);
}
