//! Several programs, their environment and their folders.

use crate::mpiexec::{command, finish, run, start};

#[test]
fn without_a_count_there_is_one_rank() {
    let ran = run(&["sh", "-c", "echo $OXMPI_RANK of $OXMPI_SIZE"]);
    assert_eq!(ran.text(), "0 of 1\n");
}

#[test]
fn programs_share_one_job() {
    let line = "echo $0 $OXMPI_RANK of $OXMPI_SIZE";
    let ran = run(&[
        "-n", "1", "sh", "-c", line, "a", ":", "-np", "2", "sh", "-c", line, "b",
    ]);
    assert_eq!(ran.sorted(), ["a 0 of 3", "b 1 of 3", "b 2 of 3"]);
}

#[test]
fn arguments_after_the_program_are_its_own() {
    let ran = run(&["-n", "1", "echo", "-n", "--timeout", "x y", "-l"]);
    assert_eq!(ran.text(), "--timeout x y -l");
}

#[test]
fn variables_are_set_for_all_or_for_one_program() {
    let line = "echo \"$A $B $C $D\"";
    let mut mpiexec = command(&[
        "-genv", "A", "all", "-x", "B", "-x", "C=of all", "-env", "D", "-own", "sh", "-c", line,
        ":", "--env", "A", "mine", "sh", "-c", line,
    ]);
    let ran = finish(start(mpiexec.env("B", "here").env_remove("D")), b"");
    assert_eq!(ran.sorted(), ["all here of all -own", "mine here of all "]);
}

#[test]
fn a_stale_rank_in_the_environment_is_replaced() {
    let mut mpiexec = command(&["-n", "2", "sh", "-c", "echo $OXMPI_RANK $OXMPI_SIZE"]);
    mpiexec.env("OXMPI_RANK", "9").env("OXMPI_SIZE", "10");
    let ran = finish(start(&mut mpiexec), b"");
    assert_eq!(ran.sorted(), ["0 2", "1 2"]);
}

#[test]
fn ranks_run_in_their_folder() {
    let ran = run(&[
        "-wdir",
        "/usr",
        "pwd",
        ":",
        "--wdir=/",
        "pwd",
        ":",
        "-wdir",
        "/usr",
        "./bin/pwd",
    ]);
    assert_eq!(ran.sorted(), ["/", "/usr", "/usr"]);
}

#[test]
fn ranks_are_bound_in_turn() {
    let line = "grep Cpus_allowed_list /proc/self/status";
    let free = run(&["-n", "2", "sh", "-c", line]).sorted();
    assert_eq!(free[0], free[1]);
    let bound = run(&["--bind-to", "core", "-n", "2", "sh", "-c", line]).sorted();
    let cores = std::thread::available_parallelism().unwrap().get();
    assert!(cores == 1 || bound[0] != bound[1], "{bound:?}");
}

#[test]
fn ranks_see_default_signals_and_few_descriptors() {
    let line = "grep -E 'SigIgn|SigBlk' /proc/self/status; ls /proc/self/fd | wc -l";
    let direct = std::process::Command::new("sh")
        .args(["-c", line])
        .output()
        .unwrap();
    let direct = String::from_utf8(direct.stdout).unwrap();
    let ran = run(&["-n", "1", "sh", "-c", line]);
    let (direct, ran): (Vec<&str>, String) = (direct.lines().collect(), ran.text());
    let ran: Vec<&str> = ran.lines().collect();
    assert_eq!(ran[..2], direct[..2], "ignored and blocked signals");
    let count = |line: &str| line.trim().parse::<u32>().unwrap();
    assert_eq!(
        count(ran[2]),
        count(direct[2]) + 3,
        "the segment, the PMI socket and the socket for crashes are the only further descriptors"
    );
}

#[test]
fn options_of_other_launchers_that_ask_for_nothing_are_accepted() {
    let ran = run(&[
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        "2",
        "echo",
        "x",
    ]);
    assert_eq!((ran.code, ran.text().as_str()), (0, "x\nx\n"));
}

#[test]
fn two_hundred_ranks_fit() {
    let ran = run(&["-n", "200", "sh", "-c", "echo $OXMPI_RANK"]);
    assert_eq!((ran.code, ran.text().lines().count()), (0, 200));
}

#[test]
fn shipped_programs_run_by_their_names() {
    let ran = run(&["-n", "2", "ring", "--rounds", "10"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.text().contains("correct"), "{}", ran.text());
}

#[test]
fn a_shipped_program_alone_is_one_rank() {
    let mut oxmpi = std::process::Command::new(env!("CARGO_BIN_EXE_oxmpi"));
    let ran = finish(start(oxmpi.args(["program", "ring", "--rounds", "2"])), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.text().contains("1 rank"), "{}", ran.text());
}

/// Scripts choose a graphics card or a folder by the number of the rank on its host, under the name
/// that their former launcher had for it.
#[test]
fn ranks_know_their_number_on_the_host() {
    let names = [
        "OXMPI_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_NODE_RANK",
        "MPI_LOCALRANKID",
    ];
    let sizes = [
        "OXMPI_LOCAL_SIZE",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "MPI_LOCALNRANKS",
        "OMPI_COMM_WORLD_SIZE",
    ];
    for (names, number) in [(names, "1"), (sizes, "3")] {
        for name in names {
            let script = format!("[ $OXMPI_RANK = 1 ] && echo ${name} || true");
            let mut mpiexec = command(&["-n", "3", "sh", "-c", &script]);
            // What another launcher said to ours is not true of our ranks.
            let output = mpiexec.env(name, "77").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(text.trim(), number, "{name}");
        }
    }
}

#[test]
fn ranks_are_bound_and_say_so() {
    let show = "grep Cpus_allowed_list /proc/self/status | cut -f 2";
    let output = command(&["-n", "2", "--bind-to", "hwthread", "sh", "-c", show])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap();
    assert!(first.parse::<u32>().is_ok(), "one CPU each: {text}");
    let list = ["--cpu-list", first, "--report-bindings"];
    let output = command(&[&list[..], &["sh", "-c", show]].concat())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), first);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("oxmpi: rank 0 is bound to ["), "{said}");
    assert!(said.contains(&format!("(CPUs {first})")), "{said}");
    let output = command(&["--cpu-list", "1000", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("CPU 1000 is not usable here: usable are "),
        "{said}"
    );
}

#[test]
fn threads_follow_the_cores_of_a_rank() {
    let show = ["sh", "-c", "echo $OMP_NUM_THREADS"];
    for words in [["--cpus-per-rank", "2"], ["--map-by", "slot:PE=2"]] {
        let mut mpiexec = command(&[&words[..], &show[..]].concat());
        let output = mpiexec.env_remove("OMP_NUM_THREADS").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "2");
        let mut mpiexec = command(&[&words[..], &show[..]].concat());
        let output = mpiexec.env("OMP_NUM_THREADS", "5").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "5");
    }
}
