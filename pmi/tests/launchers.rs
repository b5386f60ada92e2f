//! The client under the launchers that clusters run, real ones: whoami puts, fences and gets with
//! every one of them.
//!
//! They need programs that not every machine has, so they are ignored by default: `cargo test -p
//! oxmpi-pmi -- --ignored` runs them.

mod found;

use found::{check_whoami, example, run};

fn whoami() -> String {
    example("whoami")
        .to_str()
        .expect("a path of text")
        .to_owned()
}

#[test]
#[ignore = "needs mpiexec.hydra (Debian: mpich): cargo test -p oxmpi-pmi --test launchers -- --ignored"]
fn hydra() {
    let hosts = [0; 4];
    for (protocol, said) in [
        ("auto", "PMI-1 (Hydra)"),
        ("pmi1", "PMI-1 (Hydra)"),
        ("pmi2", "PMI-2 (Hydra)"),
    ] {
        let output = run(
            "mpiexec.hydra",
            &["-n", "4", &whoami()],
            &[("OXMPI_PMI", protocol)],
        );
        check_whoami(&output, said, &hosts);
    }
    let output = run("mpiexec.hydra", &["-pmi-port", "-n", "4", &whoami()], &[]);
    check_whoami(&output, "PMI-1 (Hydra)", &hosts);
}

#[test]
#[ignore = "needs mpiexec.hydra (Debian: mpich): cargo test -p oxmpi-pmi --test launchers -- --ignored"]
fn hydra_ends_the_job_when_a_rank_asks_for_it() {
    let output = run(
        "mpiexec.hydra",
        &["-n", "3", &whoami(), "--abort", "7"],
        &[],
    );
    assert_eq!(output.status.code(), Some(7), "{output:?}");
}

#[test]
#[ignore = "needs mpirun.openmpi and libpmix (Debian: openmpi-bin, libpmix2): cargo test -p oxmpi-pmi --test launchers -- --ignored"]
fn open_mpi() {
    let arguments = ["--allow-run-as-root", "--oversubscribe", "-n", "4"];
    let whoami = whoami();
    let with = |more: &[&'static str]| {
        let arguments: Vec<&str> = arguments
            .iter()
            .copied()
            .chain([whoami.as_str()])
            .chain(more.iter().copied())
            .collect();
        run("mpirun.openmpi", &arguments, &[])
    };
    check_whoami(&with(&[]), "PMIx ", &[0; 4]);
    assert_eq!(with(&["--abort", "7"]).status.code(), Some(7));
}

#[test]
#[ignore = "needs prterun (Python package openmpi): cargo test -p oxmpi-pmi --test launchers -- --ignored"]
fn prrte() {
    // As options of PRRTE 3; root is welcome in a test's container.
    let environment = [
        ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
        ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ];
    let arguments = ["--map-by", ":OVERSUBSCRIBE", "-n", "4", &whoami()];
    check_whoami(&run("prterun", &arguments, &environment), "PMIx ", &[0; 4]);
}

#[test]
#[ignore = "needs Slurm and root (Debian: slurm-wlm, munge, libpmix2): cargo test -p oxmpi-pmi --test launchers -- --ignored"]
fn slurm() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slurm/with-slurm");
    // One Slurm for all, because its start takes longer than the jobs.
    let commands = r#"
        set -e
        run() { echo "== $1"; shift; "$@"; }
        run pmi2 srun --quiet --mpi=pmi2 -N 2 -n 4 "$0"
        run pmi2-dealt srun --quiet --mpi=pmi2 -N 2 -n 4 --ntasks-per-node=2 --distribution=cyclic "$0"
        run pmi1 env OXMPI_PMI=pmi1 srun --quiet --mpi=pmi2 -n 3 "$0"
        run pmix srun --quiet --mpi=pmix -N 2 -n 4 --ntasks-per-node=2 "$0"
        run pmix-dealt srun --quiet --mpi=pmix -N 2 -n 4 --ntasks-per-node=2 --distribution=cyclic "$0"
    "#;
    let mut output = run(script, &["sh", "-c", commands, &whoami()], &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected: [(&str, &str, &[u32]); 5] = [
        ("pmi2", "PMI-2 (Slurm)", &[0, 0, 0, 1]),
        ("pmi2-dealt", "PMI-2 (Slurm)", &[0, 1, 0, 1]),
        ("pmi1", "PMI-1 (Slurm)", &[0, 0, 0]),
        ("pmix", "PMIx ", &[0, 0, 1, 1]),
        ("pmix-dealt", "PMIx ", &[0, 1, 0, 1]),
    ];
    for (name, launcher, hosts) in expected {
        let part = said
            .split("== ")
            .find(|part| part.lines().next() == Some(name));
        output.stdout = part.unwrap_or(&said).as_bytes().to_vec();
        check_whoami(&output, launcher, hosts);
    }
}
