//! Mistakes in the command line: the exact text, the exit status, and nothing started.

use crate::mpiexec::{command, finish, run, start};

#[track_caller]
fn refused(words: &[&str], code: i32, text: &str) {
    let ran = run(words);
    assert_eq!(ran.stderr, format!("oxmpi: {text}\n"));
    assert_eq!((ran.code, ran.text().as_str()), (code, ""));
}

#[test]
fn counts() {
    refused(&["-n", "0", "true"], 2, "-n 0: a job needs at least 1 rank");
    refused(
        &["-np", "-4", "true"],
        2,
        "-n -4: a job needs at least 1 rank",
    );
    refused(&["-n", "four", "true"], 2, "-n four: not a number of ranks");
    refused(
        &["-n", "1000000", "true"],
        2,
        "-n 1000000: a job has at most 65535 ranks",
    );
    let host = oxmpi_launch::host_name();
    refused(
        &["-n", "4000", "true", ":", "-n", "4000", "true"],
        2,
        &format!(
            "host {host} would get 8000 ranks and carries at most 4096: name more hosts (-host, -hostfile) or start fewer ranks"
        ),
    );
    refused(
        &["-n", "40000", "true", ":", "-n", "40000", "true"],
        2,
        "a job of 80000 ranks: a job has at most 65535",
    );
    refused(&["-n", "2", "-n", "3", "true"], 2, "-n is given twice");
    refused(
        &["-n"],
        2,
        "-n lacks a value; mpiexec --help lists the options",
    );
}

#[test]
fn options() {
    refused(
        &["-tiemout", "3", "true"],
        2,
        "unknown option --tiemout: did you mean --timeout?",
    );
    refused(
        &["--qqq", "true"],
        2,
        "unknown option --qqq: mpiexec --help lists the options",
    );
    refused(
        &["--bind-to", "board", "true"],
        2,
        "--bind-to board: expected none, hwthread, core, l3, numa, socket (each with :N for N of them), or user:0+1,2+3",
    );
    refused(
        &["--timeout", "soon", "true"],
        2,
        "--timeout soon: expected a number of seconds above 0, such as 30 or 0.5",
    );
    refused(
        &["-env", "=1", "true"],
        2,
        "--env : not the name of an environment variable; write --env NAME VALUE",
    );
    refused(
        &["-x", "OXMPI_NOT_SET", "true"],
        2,
        "-x OXMPI_NOT_SET: OXMPI_NOT_SET is not set here; write -x OXMPI_NOT_SET=VALUE",
    );
}

#[test]
fn options_of_other_launchers() {
    refused(
        &["--output", "x", "true"],
        2,
        "--output is not known here; use --output-dir FOLDER, --label, --timestamp-output",
    );
    let ran = run(&["--mca", "btl", "self", "-v", "-np2", "echo", "here"]);
    assert_eq!((ran.code, ran.text().as_str()), (0, "here\nhere\n"));
    let told: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        told[0].starts_with("oxmpi: --mca btl changes nothing here: --net "),
        "{told:?}"
    );
    let places = &told[1..];
    let is_place = |line: &&str| line.starts_with("oxmpi: rank ") && line.contains(" is process ");
    assert!(places.len() == 2 && places.iter().all(is_place), "{told:?}");
}

#[test]
fn a_file_may_name_the_programs() {
    let file = std::env::temp_dir().join(format!("oxmpi-config-{}", std::process::id()));
    let text = "# two programs\n-n 1 echo 'a  b'\n\n-n 2 \\\n  echo c\n";
    std::fs::write(&file, text).unwrap();
    let name = file.to_str().unwrap();
    let ran = run(&["-configfile", name]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        (ran.code, ran.sorted()),
        (0, vec!["a  b".into(), "c".into(), "c".into()])
    );
    refused(
        &["-configfile", "/nonexistent/file"],
        2,
        "-configfile /nonexistent/file: No such file or directory (os error 2)",
    );
}

#[test]
fn hosts() {
    refused(
        &["-host", "a:x", "true"],
        2,
        "-host: the count 'x' of host a is not a number from 1 to 65535",
    );
    refused(
        &["-host", "-oProxyCommand=x", "true"],
        2,
        "-host: '-oProxyCommand=x' is not used as a host: it begins with '-', so the remote shell would take it for an option",
    );
    refused(
        &["-hostfile", "/nonesuch", "true"],
        2,
        "cannot read the hostfile /nonesuch: No such file or directory (os error 2)",
    );
    refused(
        &["-hostfile", "/nonesuch", "-host", "a", "true"],
        2,
        "--hostfile and --host exclude each other",
    );
    refused(
        &["-map-by", "rack", "true"],
        2,
        "-map-by rack: expected node, slot, core, socket or ppr:N:node; --bind-to and --cpus-per-rank say which CPUs a rank has",
    );
    refused(
        &["--launcher", "ssh 'a", "true"],
        2,
        "--launcher 'ssh 'a': a quote is not closed; write for example 'ssh -x {host}'",
    );
    refused(
        &["--port-range", "9-8", "true"],
        2,
        "--port-range 9-8: expected two ports from 1 to 65535, such as 5000-5100",
    );
    refused(
        &["-host", "a", "true", ":", "-host", "b", "true"],
        2,
        "two parts of the command line name different hosts; the hosts are those of the whole job, and ranks go to them in order",
    );
    refused(
        &["-host", "a", "--agent", "/a b/oxmpi", "true"],
        2,
        "the agent's path /a b/oxmpi contains ' ', which a remote shell would not leave alone: give a plain path with --agent (a link will do)",
    );
}

#[test]
fn programs() {
    refused(
        &[],
        2,
        "the command line names no program: mpiexec -n 4 PROGRAM",
    );
    refused(
        &["true", ":", "-n", "2"],
        2,
        "part 2 of the command line, between the ':', names no program: mpiexec -n 4 PROGRAM",
    );
    let mut unknown = command(&["-n", "2", "nonesuch"]);
    let ran = finish(start(unknown.env("PATH", "/bin:/usr/bin")), b"");
    assert_eq!(
        ran.stderr,
        "oxmpi: no program 'nonesuch' in PATH (/bin:/usr/bin), nor among the shipped programs (pi, mm, lu, is, ring)\n"
    );
    assert_eq!(ran.code, 127);
    refused(
        &["/nonesuch/a.out"],
        127,
        "cannot run /nonesuch/a.out: /nonesuch/a.out does not exist",
    );
    refused(
        &["-wdir", "/usr", "./nonesuch"],
        127,
        "cannot run ./nonesuch: /usr/nonesuch does not exist",
    );
    refused(&["/usr"], 126, "cannot run /usr: /usr is a directory");
    refused(
        &["/etc/passwd"],
        126,
        "cannot run /etc/passwd: /etc/passwd is not executable (chmod +x would make it so)",
    );
    refused(
        &["-wdir", "/nonesuch", "./true"],
        2,
        "cannot use /nonesuch as working directory: No such file or directory (os error 2)",
    );
}

#[test]
fn programs_the_kernel_refuses() {
    use std::os::unix::fs::PermissionsExt;
    let folder = std::env::temp_dir().join(crate::mpiexec::marker("refused"));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in [
        ("plain", "neither ELF nor script"),
        ("orphan", "#!/nonesuch/sh\n"),
    ] {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let wdir = folder.to_str().unwrap();
    let plain = run(&["-n", "3", "-wdir", wdir, "./plain"]);
    let orphan = run(&["-n", "3", "-wdir", wdir, "./orphan"]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((plain.code, orphan.code), (126, 127));
    // Which rank is refused first is chance.
    let about = |ran: &crate::mpiexec::Ran| {
        ran.stderr
            .split_once(" cannot ")
            .map(|cut| cut.1.to_owned())
    };
    assert_eq!(
        about(&plain).unwrap(),
        "execute ./plain: Exec format error (os error 8); a script needs a first line such as #!/bin/sh\n"
    );
    assert_eq!(
        about(&orphan).unwrap(),
        "execute ./orphan: No such file or directory (os error 2); the interpreter or loader it names is missing\n"
    );
}

#[test]
fn limits() {
    let limited = |limit: &str, ranks: &str| {
        let script = format!(
            "ulimit {limit}; exec {} -n {ranks} true",
            env!("CARGO_BIN_EXE_mpiexec")
        );
        let mut shell = std::process::Command::new("sh");
        finish(start(shell.args(["-c", &script])), b"")
    };
    // Whatever is made when the limit is reached, the text is the same.
    for limit in 10..=64 {
        let ran = limited(&format!("-n {limit}"), "8");
        if ran.code != 0 {
            assert_eq!(
                ran.stderr,
                format!(
                    "oxmpi: 8 ranks need up to 240 open files and the limit is {limit}: \
                     raise it (ulimit -n) or start fewer ranks\n"
                )
            );
            assert_eq!(ran.code, 1);
        }
    }
    let ran = limited("-n 64", "100");
    assert_eq!(
        ran.stderr,
        "oxmpi: 100 ranks need up to 792 open files and the limit is 64: raise it (ulimit -n) or start fewer ranks\n"
    );
    assert_eq!(ran.code, 1);
    let ran = limited("-f 1", "2");
    assert!(
        ran.stderr
            .starts_with("oxmpi: cannot make the shared segment of 2 ranks: "),
        "{}",
        ran.stderr
    );
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1));
}

#[test]
fn help_and_version_go_to_standard_output() {
    let help = run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(
        help.text().contains("Usage: mpiexec [OPTIONS] PROGRAM"),
        "{}",
        help.text()
    );
    let version = run(&["--version"]);
    assert_eq!(
        version.text(),
        format!("mpiexec (OxMPI) {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn the_command_oxmpi() {
    let oxmpi = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_oxmpi"));
        finish(start(command.args(words)), b"")
    };
    assert_eq!(
        oxmpi(&["runn"]).stderr,
        "oxmpi: unknown command runn: did you mean run?\n"
    );
    assert_eq!(
        oxmpi(&["run", "-n", "0", "pi"]).stderr,
        "oxmpi: -n 0: a job needs at least 1 rank\n"
    );
    let ran = oxmpi(&["program", "nonesuch"]);
    assert_eq!(
        ran.stderr,
        "oxmpi: no shipped program 'nonesuch'; there are pi, mm, lu, is, ring\n"
    );
    assert_eq!(ran.code, 127);
    let ran = oxmpi(&[]);
    assert_eq!(
        (ran.code, ran.stderr.starts_with("oxmpi: what to do? ")),
        (2, true)
    );
    let info = oxmpi(&["info"]);
    assert_eq!(info.code, 0);
    assert!(info.text().contains("usable CPUs"));
    let all = oxmpi(&["info", "--all"]);
    assert_eq!(all.code, 0);
    for words in [
        "usable CPUs",
        "\nnetwork\n",
        "  OXMPI_WAIT=auto (default)\n",
    ] {
        assert!(all.text().contains(words), "{words}: {}", all.text());
    }
    let help = oxmpi(&["help", "run"]);
    assert!(help.text().contains("--report-bindings"), "{}", help.text());
    assert_eq!(oxmpi(&["run", "-n", "2", "echo", "x"]).text(), "x\nx\n");
}
