//! What the launcher says about settings before it starts a job, and `oxmpi info --settings`.

use std::process::Command;

use crate::mpiexec::{Ran, command, finish, start};

fn with(variables: &[(&str, &str)], words: &[&str]) -> Ran {
    let mut command = command(words);
    command.envs(variables.iter().copied());
    finish(start(&mut command), b"")
}

fn oxmpi(variables: &[(&str, &str)], words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxmpi"));
    command.args(words).envs(variables.iter().copied());
    finish(start(&mut command), b"")
}

#[test]
fn an_unknown_setting_is_told_once_per_job() {
    let ran = with(&[("OXMPI_WIAT", "spin")], &["-n", "3", "echo", "x"]);
    assert_eq!((ran.code, ran.text().as_str()), (0, "x\nx\nx\n"));
    assert_eq!(
        ran.stderr,
        "oxmpi: OXMPI_WIAT is no setting of OxMPI and is ignored; the nearest is OXMPI_WAIT \
         (oxmpi info --settings lists all)\n"
    );
    let ran = with(&[], &["-n", "2", "-x", "OXMPI_EAGER=4K", "true"]);
    assert_eq!(ran.stderr.matches("OXMPI_EAGER is no setting").count(), 1);
    assert_eq!(ran.code, 0);
}

#[test]
fn a_value_that_makes_no_sense_starts_no_rank() {
    for (variables, words) in [
        (&[("OXMPI_WAIT", "snooze")][..], &["echo", "x"][..]),
        (&[], &["-x", "OXMPI_WAIT=snooze", "echo", "x"]),
        (&[], &["-env", "OXMPI_WAIT", "snooze", "echo", "x"]),
    ] {
        let ran = with(variables, words);
        assert_eq!(
            ran.stderr,
            "oxmpi: OXMPI_WAIT=\"snooze\" makes no sense: expected auto, spin, yield or sleep\n"
        );
        assert_eq!((ran.code, ran.text().as_str()), (2, ""));
    }
}

#[test]
fn a_former_name_works_and_is_told() {
    let told = "oxmpi: OXMPI_PORTS is now called OXMPI_SHARED_MEMORY; the old name still works\n";
    let ran = with(&[("OXMPI_PORTS", "off")], &["-n", "2", "ring"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, told));
    // An option counts more than the environment, whichever name each of them uses.
    let environment = [("OXMPI_SHARED_MEMORY", "on")];
    let script = ["sh", "-c", "echo $OXMPI_SHARED_MEMORY"];
    let words = [&["-x", "OXMPI_PORTS=off"][..], &script].concat();
    assert_eq!(with(&environment, &words).text(), "off\n");
}

#[test]
fn a_setting_that_is_not_used_is_told() {
    let ran = with(&[("OXMPI_DUMP_BYTES", "1M")], &["true"]);
    assert_eq!(
        ran.stderr,
        "oxmpi: OXMPI_DUMP_BYTES=1M is not used: it counts only with OXMPI_PROGRESS=kernel or bpf\n"
    );
    assert_eq!(ran.code, 0);
}

#[test]
fn a_rank_without_a_launcher_tells_itself() {
    let ran = oxmpi(&[("OXMPI_WIAT", "spin")], &["program", "pi"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("the nearest is OXMPI_WAIT").count(), 1);
    let ran = with(&[("OXMPI_WIAT", "spin")], &["-n", "2", "pi"]);
    assert_eq!(ran.stderr.matches("the nearest is OXMPI_WAIT").count(), 1);
}

#[test]
fn every_setting_is_shown_with_its_source() {
    let ran = oxmpi(&[("OXMPI_WAIT", "yield")], &["info", "--settings"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    for line in [
        "  OXMPI_WAIT=yield (environment)\n",
        "  OXMPI_DRIVER=on (default)\n",
        "  OXMPI_PORT_RANGE=any free port (default)\n",
        "      How a thread waits for a message; auto decides by ranks and CPUs.\n",
    ] {
        assert!(ran.text().contains(line), "{line}{}", ran.text());
    }
    let own = env!("CARGO_BIN_EXE_oxmpi");
    let in_a_rank = with(&[], &["--net", "tcp", own, "info", "--settings"]);
    let line = "  OXMPI_NET=tcp (launcher option)\n";
    assert!(in_a_rank.text().contains(line), "{}", in_a_rank.text());
    let wrong = oxmpi(&[("OXMPI_WAIT", "snooze")], &["info", "--settings"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.text().contains("  OXMPI_WAIT=snooze (environment)\n"));
    let json = oxmpi(&[], &["info", "--settings", "--json"]).text();
    assert!(json.starts_with("[\n{\"name\":\"OXMPI_WAIT\",\"former\":[],\"type\":\"choice\","));
}
