//! Which ranks read standard input.

use crate::mpiexec::{Ran, command, finish, run, start};

fn fed(words: &[&str], input: &[u8]) -> Ran {
    finish(start(&mut command(words)), input)
}

#[test]
fn rank_0_reads_unless_another_is_named() {
    let words = ["-n", "3", "-l", "cat"];
    assert_eq!(fed(&words, b"a\nb\n").text(), "[0] a\n[0] b\n");
    let ran = fed(&["-n", "3", "-l", "--stdin", "2", "cat"], b"a\nb\n");
    assert_eq!((ran.code, ran.text().as_str()), (0, "[2] a\n[2] b\n"));
    let ran = fed(&["-n", "3", "-stdin", "none", "cat"], b"a\n");
    assert_eq!((ran.code, ran.text().as_str()), (0, ""));
}

/// More than a pipe and all windows hold, so that the slowest reader decides.
#[test]
fn all_ranks_read_everything() {
    let input: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let ran = fed(&["-n", "3", "-s", "all", "cksum"], &input);
    let lines = ran.sorted();
    assert_eq!((ran.code, lines.len()), (0, 3), "{}", ran.stderr);
    assert!(lines.iter().all(|line| line == &lines[0]), "{lines:?}");
    assert!(lines[0].ends_with(" 1200000"), "{lines:?}");
}

#[test]
fn a_rank_that_stops_reading_stops_no_other() {
    let input = vec![b'x'; 1_000_000];
    let script = "if [ $OXMPI_RANK = 0 ]; then exit 0; fi; wc -c";
    let ran = fed(&["-n", "2", "-s", "all", "sh", "-c", script], &input);
    assert_eq!((ran.code, ran.text().trim()), (0, "1000000"));
}

#[test]
fn a_reader_that_is_not_there_is_a_mistake() {
    let ran = run(&["-n", "2", "--stdin", "2", "cat"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.stderr,
        "oxmpi: --stdin 2: the job has the ranks 0 to 1\n"
    );
    let ran = run(&["-n", "2", "--stdin", "some", "cat"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the number of a rank, all or none"));
}
