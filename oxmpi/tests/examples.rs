//! Every example runs under the launcher on four ranks, on one, and on three, and finds its own
//! result right.

macro_rules! examples {
    ($($name:ident)*) => {
        /// All of them, to be compared with the folder.
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                for size in [4, 1, 3] {
                    let (outcome, text) = oxmpi_harness::example(stringify!($name), size);
                    assert!(outcome.success(), "as {size} rank(s): {text}");
                }
            }
        )*
    };
}

examples! {
    async_requests
    collectives
    columns
    errors
    files
    grid
    halo
    hello
    library
    objects
    overlap
    own_operation
    particles
    partitions
    pipeline
    port_buffers
    probe
    ring
    sample_sort
    split
    task_farm
    threads
    two_groups
    windows
}

/// This one measures a network without MPI: two processes, and no check of a result.
const ELSEWHERE: &str = "pm_ping";

#[test]
fn no_example_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            NAMES.contains(&name) || name == ELSEWHERE,
            "{name} is not run"
        );
    }
}
