//! Jobs on several hosts. The hosts here are names on this machine: the template starts the agent
//! as it is and tells it by FAKE_HOST which host it is meant to be. Two agents per process make a
//! deep tree of seven.

use std::process::Command;
use std::time::Duration;

use crate::mpiexec::{Ran, command, eventually, finish, kill, marked, marker, start};

/// Seven hosts, three agents deep.
const SEVEN: &str = "h1,h2,h3,h4,h5,h6,h7";

/// mpiexec with made-up hosts.
fn spread(words: &[&str]) -> Command {
    let mut mpiexec = command(words);
    mpiexec
        .env("OXMPI_LAUNCHER", "env FAKE_HOST={host}")
        .env("OXMPI_AGENT_FANOUT", "2");
    mpiexec
}

fn run(words: &[&str]) -> Ran {
    finish(start(&mut spread(words)), b"")
}

#[test]
fn ranks_know_their_place() {
    let script = "echo $OXMPI_RANK of $OXMPI_SIZE on $FAKE_HOST, PMI $PMI_RANK of $PMI_SIZE";
    let ran = run(&["-host", "a:2,b:1", "-n", "4", "sh", "-c", script]);
    assert_eq!(
        ran.sorted(),
        [
            "0 of 4 on a, PMI 0 of 4",
            "1 of 4 on a, PMI 1 of 4",
            "2 of 4 on b, PMI 2 of 4",
            "3 of 4 on a, PMI 3 of 4",
        ],
        "{ran:?}"
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn all_slots_without_a_count_and_the_ways_to_map() {
    let script = "echo $OXMPI_RANK $FAKE_HOST";
    let placed = |words: &[&str]| {
        let ran = run(&[words, &["sh", "-c", script]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.sorted().join(",")
    };
    assert_eq!(placed(&["-hosts", "a:2,b"]), "0 a,1 a,2 b");
    assert_eq!(placed(&["-H", "a,b", "-ppn", "2"]), "0 a,1 a,2 b,3 b");
    assert_eq!(
        placed(&["-host", "a:2,b:2", "-map-by", "node"]),
        "0 a,1 b,2 a,3 b"
    );
    assert_eq!(
        placed(&["-host", "a,b", "-map-by", "ppr:1:node", "-n", "2"]),
        "0 a,1 b"
    );
    let file = std::env::temp_dir().join(marker("hostfile"));
    std::fs::write(&file, "# two\na slots=1 max_slots=1\nb:2\n").unwrap();
    assert_eq!(placed(&["-f", file.to_str().unwrap()]), "0 a,1 b,2 b");
    let mut by_environment = spread(&["-n", "2", "sh", "-c", script]);
    by_environment.env("OXMPI_HOSTFILE", &file);
    let ran = finish(start(&mut by_environment), b"");
    assert_eq!(ran.sorted(), ["0 a", "1 b"]);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn this_host_needs_no_shell() {
    let mut mpiexec = spread(&["-host", "localhost:2", "sh", "-c", "echo $OXMPI_RANK"]);
    mpiexec.env("OXMPI_LAUNCHER", "/nonesuch");
    let ran = finish(start(&mut mpiexec), b"");
    assert_eq!(
        (ran.sorted().join(" ").as_str(), ran.code),
        ("0 1", 0),
        "{ran:?}"
    );
    let mixed = run(&[
        "-host",
        "localhost,b",
        "sh",
        "-c",
        "echo $OXMPI_RANK ${FAKE_HOST-here}",
    ]);
    assert_eq!(mixed.sorted(), ["0 here", "1 b"]);
}

#[test]
fn output_of_a_deep_tree_is_complete_and_whole() {
    let script = "seq -f \"$OXMPI_RANK line %.0f\" 20000; echo error $OXMPI_RANK >&2";
    let ran = run(&["-host", SEVEN, "-n", "14", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = ran.text();
    let mut next = [1; 14];
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [rank, "line", number] = words[..] else {
            panic!("a broken line: {line}")
        };
        let next = &mut next[rank.parse::<usize>().unwrap()];
        assert_eq!(number.parse::<u32>().unwrap(), *next, "{line}");
        *next += 1;
    }
    assert_eq!(next, [20001; 14]);
    assert_eq!(ran.stderr.lines().count(), 14);
}

#[test]
fn input_reaches_rank_0_wherever_it_is() {
    let input: Vec<u8> = (0..3_000_000u32).map(|byte| (byte % 251) as u8).collect();
    let ran = finish(
        start(&mut spread(&["-host", SEVEN, "-n", "7", "cat"])),
        &input,
    );
    assert_eq!(ran.code, 0);
    assert!(ran.stdout == input, "{} bytes came back", ran.stdout.len());
    // A rank that does not read to the end does not keep the job.
    let ran = finish(start(&mut spread(&["-host", "a,b", "true"])), &input);
    assert_eq!(ran.code, 0);
}

/// The rank that is left reads on, in the time that it has to end.
#[test]
fn a_host_that_is_lost_reads_no_more_input() {
    let agent = "$(cut -d ' ' -f 4 /proc/$PPID/stat)";
    let script = format!(
        "if [ $OXMPI_RANK = 1 ]; then sleep 0.3; kill -KILL {agent}; sleep 1000; fi; \
         trap '' TERM; wc -c"
    );
    let words = [
        "-host",
        "a,b",
        "-n",
        "2",
        "-s",
        "all",
        "--grace",
        "60",
        "--keep-going",
    ];
    let child = start(&mut spread(&[&words[..], &["sh", "-c", &script]].concat()));
    let ran = finish(child, &vec![b'x'; 1_000_000]);
    assert_eq!((ran.code, ran.text().trim()), (1, "1000000"), "{ran:?}");
}

#[test]
fn the_environment_is_the_heads_but_for_what_belongs_to_a_host() {
    let mut mpiexec = spread(&[
        "-host",
        "a",
        "-genv",
        "JOB",
        "3",
        "sh",
        "-c",
        "echo $COLOUR $JOB ${PMI_PORT-none} ${OWN-none}; pwd",
    ]);
    mpiexec
        .env("COLOUR", "blue")
        .env("PMI_PORT", "elsewhere:1")
        .env(
            "OXMPI_LAUNCHER",
            "env OWN=there COLOUR=red FAKE_HOST={host}",
        )
        .current_dir("/usr");
    let ran = finish(start(&mut mpiexec), b"");
    assert_eq!(ran.text(), "blue 3 none there\n/usr\n", "{ran:?}");
}

#[test]
fn failures_name_the_host() {
    let script = "if [ $OXMPI_RANK = 5 ]; then echo last words; kill -SEGV $$; fi; sleep 1000";
    let ran = run(&["-host", SEVEN, "-n", "7", "sh", "-c", script]);
    assert_eq!(ran.text(), "last words\n");
    assert_eq!(
        ran.said(),
        "oxmpi: rank 5 (pid PID on h6, sh) was killed by signal 11 (SIGSEGV, invalid memory access); ending the other 6 ranks\n"
    );
    assert_eq!(ran.code, 128 + 11);
    let ran = run(&[
        "-host",
        "a,b",
        "-n",
        "3",
        "sh",
        "-c",
        "exit $((OXMPI_RANK * 7))",
    ]);
    assert!([7, 14].contains(&ran.code), "{ran:?}");
    let ran = run(&["--timeout", "0.3", "-host", "a,b", "sleep", "1000"]);
    assert_eq!(ran.code, 124);
    assert_eq!(
        ran.stderr,
        "oxmpi: the job has reached its --timeout of 0.3 s; ending its 2 ranks\n"
    );
    let ran = run(&["-host", "a", "-wdir", "/nonesuch", "/bin/true"]);
    assert_eq!(
        ran.stderr,
        "oxmpi: host a: cannot use /nonesuch as working directory: No such file or directory (os error 2)\n"
    );
    assert_eq!(ran.code, 1);
}

#[test]
fn a_host_that_cannot_be_reached_is_named_with_the_command() {
    let reached = |launcher: &str| {
        let words = [
            "-host",
            "b",
            "--launch-timeout",
            "0.5",
            "--launcher",
            launcher,
            "true",
        ];
        let ran = run(&words);
        assert_eq!(ran.code, 1);
        assert!(ran.wall < Duration::from_secs(300), "{ran:?}");
        let agent = format!("{} agent", env!("CARGO_BIN_EXE_oxmpi"));
        ran.stderr.replace(&agent, "AGENT")
    };
    assert_eq!(
        reached("sh -c 'echo welcome; echo no route to {host} >&2; exit 255' --"),
        "oxmpi: cannot start an agent on host b: sh -c echo welcome; echo no route to b >&2; exit 255 -- AGENT exited with status 255; it said: no route to b / welcome\n"
    );
    assert_eq!(
        reached("sh -c 'echo knocking >&2; sleep 1000' {host}"),
        "oxmpi: host b has not answered within 0.5 s (--launch-timeout): sh -c echo knocking >&2; sleep 1000 b AGENT; it said: knocking\n"
    );
    assert_eq!(
        reached("/nonesuch/ssh"),
        "oxmpi: cannot start anything on host b: cannot execute /nonesuch/ssh: No such file or directory (os error 2); --launcher or OXMPI_LAUNCHER says how hosts are reached\n"
    );
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        reached("sh -c \"printf '\\0oxmpi-agent 0 9.9\\n'; sleep 10\" {host}"),
        format!(
            "oxmpi: host b runs OxMPI 9.9 and this is {version}, they do not understand each other: install the same version on both or name another one with --agent (sh -c printf '\\0oxmpi-agent 0 9.9\\n'; sleep 10 b AGENT)\n"
        )
    );
}

#[test]
fn what_login_scripts_print_does_no_harm() {
    let ran = run(&[
        "-host",
        "a,b",
        "--launcher",
        "sh -c 'echo Welcome to $0; echo mind the step >&2; exec \"$@\"' {host}",
        "sh",
        "-c",
        "echo $OXMPI_RANK",
    ]);
    assert_eq!(ran.sorted(), ["0", "1"], "{ran:?}");
    assert_eq!(ran.code, 0);
}

#[test]
fn noise_instead_of_an_agent_ends_the_reading() {
    // A shell that floods would fill any memory: mpiexec has to do with a gigabyte of addresses.
    let flooded = |launcher: &str| {
        let mut limited = Command::new("prlimit");
        limited
            .arg("--as=1000000000")
            .arg(env!("CARGO_BIN_EXE_mpiexec"))
            .args(["-host", "b", "--launcher", launcher, "true"]);
        let ran = finish(start(&mut limited), b"");
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        ran.stderr
    };
    let said = flooded("cat /dev/zero");
    assert!(
        said.starts_with("oxmpi: host b sends something else than an agent would, beginning with "),
        "{said}"
    );
    assert!(said.contains(r#"beginning with "\0\0\0\0"#), "{said}");
    assert!(said.contains("run that command by hand"), "{said}");
    let said = flooded("yes tra\\x1bla");
    assert!(said.contains(r#"beginning with "tra"#), "{said}");
    // Frames that make no sense, after a greeting that does, end it as well.
    let greeting = format!("\\0oxmpi-agent {} 1\\n", oxmpi_launch::AGENT_PROTOCOL);
    let said = flooded(&format!(
        "sh -c 'printf \"{greeting}\"; exec cat /dev/urandom'"
    ));
    assert!(
        said.starts_with("oxmpi: lost host b: its agent sent a frame of "),
        "{said}"
    );
}

#[test]
fn signals_reach_all_hosts() {
    let marker = marker("signals");
    let script =
        format!("trap 'echo bye; exit 3' INT; echo up; while :; do sleep 0.01; : {marker}; done");
    let mut child = start(&mut spread(&[
        "-host", SEVEN, "-n", "7", "sh", "-c", &script,
    ]));
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = [0; 21];
    std::io::Read::read_exact(&mut stdout, &mut seen).unwrap();
    assert_eq!(seen, *b"up\nup\nup\nup\nup\nup\nup\n");
    child.stdout = Some(stdout);
    kill("INT", child.id() as i32);
    let ran = finish(child, b"");
    assert_eq!(ran.text(), "bye\n".repeat(7), "{ran:?}");
    assert_eq!(ran.code, 3);
    assert!(eventually(|| marked(&marker).is_empty()));
}

#[test]
fn nothing_survives_whatever_is_killed() {
    // Agents and remote shells have no marker in their command lines; their environment has the
    // hosts'.
    let mut seed = u64::from(std::process::id());
    for round in 0..12 {
        let marker = marker(&format!("kills-{round}"));
        let hosts: Vec<String> = (1..=7).map(|host| format!("{marker}-{host}")).collect();
        let script = format!("setsid sh -c 'sleep 1000; : {marker}' & sleep 1000; : {marker}");
        let words = ["-host", &hosts.join(","), "-n", "7", "sh", "-c", &script];
        let mut mpiexec = spread(&words);
        if round % 2 == 1 {
            // A remote shell that stays between the agent and its parent.
            let shell = "sh -c '\"$@\"; exit $?' {host} env FAKE_HOST={host}";
            mpiexec.env("OXMPI_LAUNCHER", shell);
        }
        let mut child = start(&mut mpiexec);
        assert!(
            // The head, and two processes of each rank.
            eventually(|| marked(&marker).len() > 2 * 7),
            "{:?}",
            marked(&marker)
        );
        let head = child.id() as i32;
        let all = guardians(&marker);
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(round);
        let victim = match round {
            0 | 1 => head,
            _ => all[(seed >> 33) as usize % all.len()],
        };
        let killed = std::fs::read_to_string(format!("/proc/{victim}/comm")).unwrap_or_default();
        kill("KILL", victim);
        let context = format!(
            "round {round}, seed {}, killed {killed}",
            std::process::id()
        );
        assert!(
            eventually(|| family(&marker).is_empty()),
            "{context}: {:?} are left",
            family(&marker)
        );
        let ended = child.wait().unwrap();
        assert!(!ended.success(), "{context}");
    }
}

/// The agents, wardens and remote shells of a job.
fn guardians(marker: &str) -> Vec<i32> {
    let guards = |pid: &i32| {
        let read = |file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let (comm, line) = (read("comm"), read("cmdline"));
        comm == b"oxmpi\n"
            || comm == b"oxmpi-warden\n"
            || String::from_utf8_lossy(&line).contains("exit $?")
    };
    family(marker).into_iter().filter(guards).collect()
}

/// The processes of a job: those with the marker in their command line or, as a host's name, in
/// their environment. Zombies have neither.
fn family(marker: &str) -> Vec<i32> {
    let mut found = marked(marker);
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if let (Some(pid), true) = (pid, String::from_utf8_lossy(&environment).contains(marker)) {
            found.push(pid);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
#[ignore = "200 processes of agents: cargo test -p oxmpi-cli --test run -- --ignored two_hundred"]
fn two_hundred_hosts_start() {
    let hosts: Vec<String> = (0..200).map(|host| format!("h{host}")).collect();
    let mut mpiexec = spread(&["-host", &hosts.join(","), "true"]);
    mpiexec.env("OXMPI_AGENT_FANOUT", "8");
    let ran = finish(start(&mut mpiexec), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    println!("200 hosts in {:?}", ran.wall);
}

/// The doctor asks the doctors of other hosts, and tries a job over all.
#[test]
fn the_doctor_visits_all_hosts() {
    let visit = |host: &str| {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_oxmpi"));
        doctor.args(["doctor", "-host", host]);
        let output = doctor
            .env("OXMPI_LAUNCHER", "env FAKE_HOST={host}")
            .output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    };
    let (code, text) = visit("a,b");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("  good  way to it").count(), 2, "{text}");
    assert!(
        text.contains("2 ranks on 2 hosts talked to each other"),
        "{text}"
    );
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_oxmpi"));
    doctor.args(["doctor", "--host", "a", "--launcher", "false {host}"]);
    let output = doctor.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("  BAD   way to it       `false a "), "{text}");
}
