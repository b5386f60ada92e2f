use proptest::prelude::*;

use super::*;

/// The allocation that a process with these variables finds, as (name, hosts, first word of the
/// launcher).
fn found(variables: &[(&str, &str)], commands: &[&str]) -> Result<Option<Allocation>, String> {
    Allocation::of(&Surroundings {
        variable: &|name| {
            let pair = variables.iter().find(|pair| pair.0 == name);
            pair.map(|pair| pair.1.to_owned())
        },
        has_command: &|command| commands.contains(&command),
        output: &|words| match words {
            ["flux", "hostlist", "local"] => Some("f[0-1]\n".to_owned()),
            ["flux", "resource", ..] => Some("8\n".to_owned()),
            _ => None,
        },
    })
    .map_err(|error| error.to_string())
}

fn hosts(variables: &[(&str, &str)]) -> Vec<(String, u32)> {
    let allocation = found(variables, &[]).unwrap().unwrap();
    let pair = |host: Host| (host.name, host.slots);
    allocation.hosts.into_iter().map(pair).collect()
}

fn named(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
    let pair = |pair: &(&str, u32)| (pair.0.to_owned(), pair.1);
    pairs.iter().map(pair).collect()
}

#[test]
fn no_batch_system_no_allocation() {
    assert_eq!(found(&[], &["srun"]), Ok(None));
    assert_eq!(found(&[("SLURM_JOB_NODELIST", "")], &["srun"]), Ok(None));
}

#[test]
fn slurm_lists_are_unfolded() {
    let given = [
        ("SLURM_JOB_NODELIST", "n[01-03,7],login,r[0-1]c[8-9]"),
        ("SLURM_TASKS_PER_NODE", "2(x3),1,4(x5)"),
        ("SLURM_JOB_ID", "77"),
    ];
    assert_eq!(
        hosts(&given),
        named(&[
            ("n01", 2),
            ("n02", 2),
            ("n03", 2),
            ("n7", 1),
            ("login", 4),
            ("r0c8", 4),
            ("r0c9", 4),
            ("r1c8", 4),
            ("r1c9", 4),
        ])
    );
    let allocation = found(&given, &["srun"]).unwrap().unwrap();
    assert_eq!(allocation.name, "Slurm job 77");
    assert_eq!(allocation.slots(), 27);
    let words = allocation.launcher.unwrap().command("n01", "/bin/oxmpi");
    assert_eq!(words[0], "srun");
    assert!(words.contains(&"--nodelist=n01".to_owned()), "{words:?}");
}

#[test]
fn slurm_without_tasks_counts_processors() {
    let given = [
        ("SLURM_JOB_NODELIST", "a,b"),
        ("SLURM_JOB_CPUS_PER_NODE", "8,3"),
        ("SLURM_CPUS_PER_TASK", "4"),
    ];
    assert_eq!(hosts(&given), named(&[("a", 2), ("b", 1)]));
    assert_eq!(hosts(&given[..1]), named(&[("a", 1), ("b", 1)]));
}

#[test]
fn groups_of_a_heterogeneous_job_follow_each_other() {
    let given = [
        ("SLURM_HET_SIZE", "2"),
        ("SLURM_JOB_NODELIST", "a"),
        ("SLURM_JOB_NODELIST_HET_GROUP_0", "a"),
        ("SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"),
        ("SLURM_JOB_NODELIST_HET_GROUP_1", "b[1-2]"),
        ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "4(x2)"),
    ];
    assert_eq!(hosts(&given), named(&[("a", 1), ("b1", 4), ("b2", 4)]));
}

#[test]
fn what_is_not_understood_is_said() {
    let error = |list| found(&[("SLURM_JOB_NODELIST", list)], &[]).unwrap_err();
    assert_eq!(
        error("n[3-1]"),
        "SLURM_JOB_NODELIST=n[3-1] is not understood: a range of hosts is wrong or too long; \
         name the hosts with -host or -hostfile, or set OXMPI_ALLOCATION=off"
    );
    for list in ["n[1-", "n[a-b]", "n[1-9999999]", "n]", "n[]", "n[1-2]]"] {
        assert!(error(list).contains("is not understood"), "{list}");
    }
    assert!(error("a b").contains("is not used as a host"));
    let counts = [
        ("SLURM_JOB_NODELIST", "a,b"),
        ("SLURM_TASKS_PER_NODE", "2(x3)"),
    ];
    assert!(found(&counts, &[]).unwrap_err().contains("as many counts"));
}

#[test]
fn files_of_other_batch_systems() {
    let folder = std::env::temp_dir().join(format!("oxmpi-allocation-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let nodes = write("nodes", "a\na\nb\n");
    assert_eq!(
        hosts(&[("PBS_NODEFILE", &nodes)]),
        named(&[("a", 2), ("b", 1)])
    );
    assert_eq!(
        hosts(&[("LSB_DJOB_HOSTFILE", &nodes)]),
        named(&[("a", 2), ("b", 1)])
    );
    assert_eq!(
        hosts(&[("HYDRA_HOST_FILE", &nodes)]),
        named(&[("a", 2), ("b", 1)])
    );
    let slots = write("slots", "a 4 all.q@a UNDEFINED\nb 2 all.q@b UNDEFINED\n");
    assert_eq!(
        hosts(&[("PE_HOSTFILE", &slots)]),
        named(&[("a", 4), ("b", 2)])
    );
    assert_eq!(
        hosts(&[("LSB_MCPU_HOSTS", "a 4 b 2")]),
        named(&[("a", 4), ("b", 2)])
    );
    assert!(
        found(&[("PBS_NODEFILE", "/nonesuch")], &[])
            .unwrap_err()
            .contains("/nonesuch")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn flux_is_asked_only_inside_an_allocation() {
    assert_eq!(found(&[("FLUX_URI", "local:///x")], &[]), Ok(None));
    assert_eq!(
        hosts(&[("FLUX_URI", "local:///x"), ("FLUX_ENCLOSING_ID", "f1")]),
        named(&[("f0", 4), ("f1", 4)])
    );
}

proptest! {
    #[test]
    fn no_list_panics(list in "[a-c0-9,\\[\\]()x-]{0,40}", counts in "[0-9(x),]{0,20}") {
        let _ = found(&[("SLURM_JOB_NODELIST", &list), ("SLURM_TASKS_PER_NODE", &counts)], &[]);
    }
}
