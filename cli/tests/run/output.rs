//! Standard input, output and error: whole lines, in order, every byte.

use std::io::Read;
use std::time::{Duration, Instant};

use crate::mpiexec::{command, finish, run, start};

#[test]
fn lines_of_eight_ranks_stay_whole_and_in_order() {
    // seq writes blocks that end in the middle of lines; sh adds lines written in pieces on stderr.
    let script = "seq -f \"rank $OXMPI_RANK line %.0f of many that must stay in one piece\" 10000";
    let ran = run(&["-n", "8", "sh", "-c", script]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let mut next = [1u32; 8];
    for line in ran.text().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["rank", rank, "line", number, rest @ ..] = words.as_slice() else {
            panic!("broken line: {line}");
        };
        assert_eq!(rest.join(" "), "of many that must stay in one piece");
        let rank: usize = rank.parse().unwrap();
        assert_eq!(
            number.parse::<u32>().unwrap(),
            next[rank],
            "order of rank {rank}"
        );
        next[rank] += 1;
    }
    assert_eq!(next, [10001; 8]);
}

#[test]
fn lines_written_in_pieces_are_put_together_on_both_streams() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do printf a; printf b >&2; printf '%s' c; \
                  printf 'd\\n' >&2; printf 'e\\n'; done";
    let both = format!(
        "exec 2>&1; exec {} -n 6 sh -c \"$0\"",
        env!("CARGO_BIN_EXE_mpiexec")
    );
    let mut shell = std::process::Command::new("sh");
    let ran = finish(start(shell.args(["-c", &both, script])), b"");
    assert_eq!(ran.code, 0);
    let text = ran.text();
    assert_eq!(
        text.lines().filter(|line| *line == "ace").count(),
        60,
        "{text}"
    );
    assert_eq!(
        text.lines().filter(|line| *line == "bd").count(),
        60,
        "{text}"
    );
    assert_eq!(text.lines().count(), 120);
}

#[test]
fn labels_say_whose_line_it_is() {
    let ran = run(&[
        "-l",
        "-n",
        "3",
        "sh",
        "-c",
        "echo one; echo; printf two; echo x >&2",
    ]);
    let expected = [
        "[0] ", "[0] one", "[0] two", "[1] ", "[1] one", "[1] two", "[2] ", "[2] one", "[2] two",
    ];
    let mut found: Vec<String> = ran
        .text()
        .replace("two[", "two\n[")
        .lines()
        .map(str::to_owned)
        .collect();
    found.sort();
    assert_eq!(found, expected);
    let mut said: Vec<&str> = ran.stderr.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["[0] x", "[1] x", "[2] x"]);
}

#[test]
fn standard_input_goes_to_rank_0_alone() {
    let input: Vec<u8> = (0..1_000_000u32).flat_map(|i| i.to_le_bytes()).collect();
    let child = start(&mut command(&["-l", "-n", "3", "sh", "-c", "wc -c"]));
    let ran = finish(child, &input);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.sorted(), ["[0] 4000000", "[1] 0", "[2] 0"]);
}

#[test]
fn bytes_pass_unchanged_and_long_lines_do_not_pile_up() {
    // All byte values, lines of every length, then 8 MiB without a newline.
    let mut input: Vec<u8> = (0..2_000_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    input.extend(std::iter::repeat_n(b'x', 8 << 20));
    let ran = finish(start(&mut command(&["cat"])), &input);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout == input,
        "{} bytes became {}",
        input.len(),
        ran.stdout.len()
    );
}

#[test]
fn a_last_line_without_newline_appears() {
    let ran = run(&["-n", "1", "printf", "no newline"]);
    assert_eq!(ran.stdout, b"no newline");
}

#[test]
fn a_prompt_appears_while_the_program_waits() {
    let begin = Instant::now();
    let mut child = start(&mut command(&[
        "-n",
        "2",
        "sh",
        "-c",
        "printf '? '; sleep 1000",
    ]));
    let mut prompt = [0; 2];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut prompt)
        .unwrap();
    assert_eq!(&prompt, b"? ");
    assert!(begin.elapsed() < Duration::from_secs(300));
    crate::mpiexec::kill("TERM", child.id() as i32);
    assert_eq!(finish(child, b"").code, 143);
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_job_quietly() {
    let script = format!("{} -n 4 yes | head -n 3", env!("CARGO_BIN_EXE_mpiexec"));
    let mut shell = std::process::Command::new("sh");
    let ran = finish(start(shell.args(["-c", &script])), b"");
    assert_eq!(
        (ran.code, ran.text().as_str(), ran.stderr.as_str()),
        (0, "y\ny\ny\n", "")
    );
}

#[test]
fn a_full_disk_is_said() {
    let script = format!(
        "exec {} -n 2 echo hello > /dev/full",
        env!("CARGO_BIN_EXE_mpiexec")
    );
    let mut shell = std::process::Command::new("sh");
    let ran = finish(start(shell.args(["-c", &script])), b"");
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        "oxmpi: cannot write the job's output: No space left on device (os error 28)\n"
    );
}

#[test]
fn what_a_child_of_a_rank_still_writes_is_kept() {
    let ran = run(&["-n", "2", "sh", "-c", "(sleep 0.1; echo late) & exit 0"]);
    assert_eq!((ran.code, ran.text().as_str()), (0, "late\nlate\n"));
}

#[test]
fn each_rank_has_its_files() {
    let folder = std::env::temp_dir().join(crate::mpiexec::marker("files"));
    let script = "echo out $OXMPI_RANK; echo err $OXMPI_RANK >&2";
    let words = [
        "-n",
        "3",
        "--output-filename",
        folder.to_str().unwrap(),
        "sh",
        "-c",
        script,
    ];
    let ran = run(&words);
    assert_eq!((ran.stdout.len(), ran.stderr.as_str()), (0, ""));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("rank.2.stdout"), "out 2\n");
    assert_eq!(read("rank.0.stderr"), "err 0\n");
    let pattern = folder.join("only.%r");
    let words = [
        "-n",
        "2",
        "-outfile-pattern",
        pattern.to_str().unwrap(),
        "sh",
        "-c",
        script,
    ];
    let ran = run(&words);
    assert!(ran.stderr.contains("err 1\n"), "{}", ran.stderr);
    assert_eq!(read("only.1"), "out 1\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn lines_can_have_the_time() {
    let ran = run(&["--timestamp-output", "-l", "echo", "x"]);
    let mark = ran.stdout.strip_suffix(b" [0] x\n").unwrap();
    assert_eq!(mark.len(), "12:34:56.789".len());
}

#[test]
fn information_ends_quietly_when_nothing_reads_it() {
    for words in [
        &["info", "--all"][..],
        &["info", "--settings", "--json"],
        &["help"],
        &["version"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut oxmpi = std::process::Command::new(env!("CARGO_BIN_EXE_oxmpi"));
        let ran = oxmpi.args(words).stdout(writer).output().unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert_eq!((ran.status.code(), &*errors), (Some(141), ""), "{words:?}");
    }
}

#[test]
fn information_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut oxmpi = std::process::Command::new(env!("CARGO_BIN_EXE_oxmpi"));
    let ran = oxmpi.arg("info").stdout(full).output().unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1));
    assert_eq!(
        errors,
        "oxmpi: cannot write the output: No space left on device (os error 28)\n"
    );
}
