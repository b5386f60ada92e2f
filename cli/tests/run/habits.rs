//! What people type who come from other launchers, each line as they would type it.

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
    ("-n 2 -soft 2:4", Note("-soft")),
    ("-n 2 -host localhost", Silent),
    ("-n 2 -arch x86_64", Note("-arch")),
    ("-n 2 -wdir /tmp", Silent),
    ("-n 2 -path /bin", Silent),
    ("-n 2 -file some", Refused("-configfile FILE")),
    (
        "-n 2 -initial-errhandler mpi_errors_return",
        Refused("MPI_Comm_set_errhandler"),
    ),
    (
        "-n 2 -memory-alloc-kinds system",
        Note("-memory-alloc-kinds"),
    ),
    // MPICH and Intel MPI.
    ("-np 2", Silent),
    ("-np2", Silent),
    ("-n 2 -v", Note("-v")),
    ("-n 2 -verbose", Note("-verbose")),
    ("-n 2 -genvall", Note("-genvall")),
    ("-n 2 -genvlist PATH,HOME", Silent),
    ("-n 2 -genvnone", Refused("env -i")),
    ("-n 2 -genv NAME value", Silent),
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
    ("-c 2", Silent),
    ("-n 2 --oversubscribe", Silent),
    ("-n 2 --allow-run-as-root", Silent),
    ("-n 2 -x PATH", Silent),
    ("-n 2 --map-by node", Silent),
    ("-n 2 --map-by slot:PE=1", Silent),
    ("-n 2 --bind-to none", Silent),
    ("-n 2 --rank-by node", Note("--rank-by")),
    ("-n 2 --display-map", Note("--display-map")),
    ("-n 2 --use-hwthread-cpus", Note("--use-hwthread-cpus")),
    ("-n 2 --prefix /usr", Note("--prefix")),
    ("-n 2 --tag-output", Silent),
    ("-n 2 --timestamp-output", Silent),
    ("-n 2 --stdin none", Silent),
    ("-n 2 --enable-recovery", Silent),
    ("-n 2 --merge-stderr-to-stdout", Refused("2>&1")),
    ("-n 2 --app file", Refused("-configfile")),
    ("-n 2 --timeout 100", Silent),
    // Slurm.
    ("-n 2 --cpus-per-task 1 --bind-to none", Silent),
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
