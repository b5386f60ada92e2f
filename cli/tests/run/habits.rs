//! Command lines of users of other launchers, each as they would type it.

use crate::mpiexec::run;

/// What a line comes to.
enum Comes {
    /// It runs, and nothing is said.
    Silent,
    /// It runs, and one line has these words.
    Note(&'static str),
    /// It does not run; the line has these words.
    Refused(&'static str),
}

use Comes::{Note, Refused, Silent};

const LINES: &[(&str, Comes)] = &[
    // The standard's own (MPI 5.0 §11.5).
    ("-n 2 -soft 2:4", Silent),
    ("-n 2 -host localhost", Silent),
    ("-n 2 -arch x86_64", Note("-arch")),
    ("-n 2 -wdir /tmp", Silent),
    ("-n 2 -path /bin", Silent),
    (
        "-n 2 -soft 3:4",
        Refused("-soft: none of its numbers is from 1 to 2"),
    ),
    ("-n 2 -soft some", Refused("such as 4,8 or 2:16")),
    ("-n 2 -file some", Refused("-file some: No such file")),
    ("-n 2 -initial-errhandler mpi_errors_return", Silent),
    ("-n 2 -initial-errhandler MPI_ERRORS_ABORT", Silent),
    (
        "-n 2 -initial-errhandler none",
        Refused("expected mpi_errors_are_fatal"),
    ),
    (
        "-n 2 -memory-alloc-kinds system",
        Note("-memory-alloc-kinds"),
    ),
    // MPICH and Intel MPI.
    ("-np 2", Silent),
    ("-np2", Silent),
    ("-n 1 -v", Note("rank 0 is process")),
    ("-n 1 -verbose", Note("rank 0 is process")),
    ("-n 2 -genvall", Note("-genvall")),
    ("-n 2 -genvlist PATH,HOME", Silent),
    ("-n 2 -genvnone", Refused("env -i")),
    ("-n 2 -genv NAME value", Silent),
    ("-n 2 -genv NAME=value -env OTHER=value", Silent),
    ("-n 2 -l -prepend-rank --tag-output", Silent),
    ("-n 2 -iface lo", Silent),
    ("-n 2 -ppn 2", Silent),
    ("-n 2 -perhost 2", Silent),
    ("-n 2 -rmk slurm", Note("-rmk")),
    ("-n 2 -bootstrap ssh", Refused("--launcher")),
    ("-n 2 -launcher-exec /bin/ssh", Refused("--launcher")),
    (
        "-n 2 -print-all-exitcodes",
        Note("exit codes: ranks 0-1: status 0"),
    ),
    ("-n 2 -prepend-rank", Silent),
    ("-n 2 -l", Silent),
    ("-n 2 -s all", Silent),
    ("-n 2 -outfile-pattern /dev/null", Silent),
    ("-n 2 -xterm 0", Refused("xterm -e")),
    // Open MPI.
    ("-n 2 --mca btl tcp,self", Note("--mca")),
    ("-n 2 --mca btl_tcp_if_include lo", Silent),
    (
        "-n 2 --mca plm_rsh_agent rsh",
        Note("--launcher 'ssh {host}'"),
    ),
    ("-n 2 --bind-to-socket --bysocket", Silent),
    ("-n 2 --npersocket 1", Refused("--bind-to socket")),
    ("-n 2 --report-pid -", Note("--report-pid")),
    ("-c 2", Silent),
    ("-n 2 --oversubscribe", Silent),
    ("-n 2 --allow-run-as-root", Silent),
    ("-n 2 -x PATH", Silent),
    ("-n 2 --map-by node", Silent),
    ("-n 2 --map-by slot:PE=1", Silent),
    ("-n 2 --bind-to none", Silent),
    ("-n 2 --rank-by node", Note("--rank-by")),
    ("-n 1 --display-map", Note("rank 0 is process")),
    ("-n 1 --display map", Note("rank 0 is process")),
    ("-n 2 --use-hwthread-cpus", Note("--use-hwthread-cpus")),
    ("-n 2 --prefix /usr", Note("--prefix")),
    ("-n 2 --tag-output", Silent),
    ("-n 2 --timestamp-output", Silent),
    ("-n 2 --stdin none", Silent),
    ("-n 2 --enable-recovery", Silent),
    ("-n 2 --merge-stderr-to-stdout", Refused("2>&1")),
    ("-n 2 --app file", Refused("-configfile")),
    ("-n 2 --timeout 100", Silent),
    ("-n 2 --map-by socket", Silent),
    ("-n 2 --map-by :OVERSUBSCRIBE", Silent),
    ("-n 2 --map-by slot:PE=1:OVERSUBSCRIBE", Silent),
    ("-n 2 -cd /tmp", Silent),
    ("-n 2 --with-ft ulfm", Refused("--keep-going")),
    ("-n 2 --get-stack-traces", Refused("gdb -p PID")),
    // Words that begin with letters of ours.
    ("-nameserver here -n 2", Note("-nameserver")),
    ("-skip-launch-node -n 2", Refused("-host")),
    ("-n 2 -static_mpi", Note("-static_mpi")),
    ("-n 2 -check_mpi", Note("-check_mpi")),
    ("-n 2 -ordered-output", Note("-ordered-output")),
    ("-n 2 -gtool gdb:0=attach", Refused("behind the tool")),
    // Slurm.
    ("-n 2 --cpus-per-task 1 --bind-to none", Silent),
    ("--ntasks=2", Silent),
    ("--ntasks 2 --ntasks-per-node 2", Silent),
    ("-n 2 --mpi=pmix", Note("--mpi")),
    ("-n 2 --partition=debug", Note("--partition")),
    ("-n 2 --time 10", Refused("--timeout")),
    // Microsoft MPI.
    ("-n 2 -lines", Silent),
    ("-n 2 -affinity", Silent),
    ("-n 2 --export=ALL", Note("--export")),
    ("-n 2 -w localhost", Silent),
    ("-n 2 --cpu-bind=cores", Refused("--bind-to core")),
    ("-n 2 --nodes 1", Refused("-host")),
];

#[test]
fn every_habit_runs_or_is_told_what_to_write() {
    let mut wrong = String::new();
    for (line, comes) in LINES {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.push("true");
        let ran = run(&words);
        let good = match comes {
            Silent => ran.code == 0 && ran.stderr.is_empty(),
            Note(text) => {
                ran.code == 0 && ran.stderr.contains(text) && ran.stderr.lines().count() == 1
            }
            Refused(text) => ran.code == 2 && ran.stderr.contains(text),
        };
        if !good {
            wrong += &format!("mpiexec {line} true: status {}: {}\n", ran.code, ran.stderr);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn acceptable_numbers_of_ranks_are_kept_to() {
    let ranks = |words: &[&str]| {
        let ran = run(&[words, &["echo", "x"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
        ran.text().lines().count()
    };
    assert_eq!(ranks(&["-n", "7", "-soft", "2:8:2"]), 6);
    assert_eq!(ranks(&["-n", "2", "-soft", "4:1:-1"]), 2);
    assert_eq!(ranks(&["-soft", "3", "-host", "localhost:5"]), 3);
    assert_eq!(ranks(&["-soft", "1:9", "-host", "localhost:5"]), 5);
    assert_eq!(ranks(&["-soft", "1000:3:-1", "-host", "localhost:1"]), 3);
}

#[test]
fn a_file_may_have_options_of_a_program() {
    let file = std::env::temp_dir().join(format!("oxmpi-file-{}", std::process::id()));
    let name = file.to_str().unwrap();
    std::fs::write(&file, "# of this program\n-n 2\n-env WORD 'two words'\n").unwrap();
    let script = "echo $WORD";
    let ran = run(&[
        "-file", name, "sh", "-c", script, ":", "-n", "1", "sh", "-c", script,
    ]);
    std::fs::write(&file, "-n 2 a.out").unwrap();
    let wrong = run(&["-file", name, "true"]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        (ran.code, ran.sorted()),
        (
            0,
            ["", "two words", "two words"].map(str::to_owned).to_vec()
        )
    );
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("'a.out' is no option"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn folders_of_the_option_come_before_path() {
    let folder = std::env::temp_dir().join(format!("oxmpi-path-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("true");
    std::fs::write(&program, "#!/bin/sh\necho another\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    // The name of a shipped program.
    std::fs::copy(&program, folder.join("pi")).unwrap();
    let in_folder = |name| run(&["-n", "2", "-path", folder.to_str().unwrap(), name]);
    let (ran, shipped, other) = (in_folder("true"), in_folder("pi"), in_folder("ring"));
    std::fs::remove_dir_all(&folder).unwrap();
    for ran in [ran, shipped] {
        assert_eq!((ran.code, ran.text().as_str()), (0, "another\nanother\n"));
    }
    assert_eq!(other.code, 0, "what the folders lack is shipped: {other:?}");
}

#[test]
fn all_exit_codes_are_told_when_they_are_asked_for() {
    let script = "exit $((OXMPI_RANK == 1 ? 3 : 0))";
    let ran = run(&[
        "-n",
        "2",
        "--exit-codes",
        "--keep-going",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(ran.code, 3);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "oxmpi: exit codes: rank 0: status 0; rank 1: status 3"
    );
}
