//! The library exports exactly the functions of the table: every `MPI_X` weak, every `PMPI_X`
//! strong, at one address.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use oxmpi_abi_table::Table;

/// The library that cargo has built together with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a file");
    let directory = test.parent().expect("it lies in target/*/deps");
    directory.join("libmpi_abi.so")
}

fn read(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .arg(library())
        .output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} cannot read {}",
        library().display()
    );
    String::from_utf8(output.stdout).expect("names are ASCII")
}

#[test]
fn exports_every_function_under_both_names() {
    let mut exported = BTreeMap::new();
    for line in read("nm", &["-D", "--defined-only"]).lines() {
        let [address, kind, name] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("nm says '{line}'");
        };
        exported.insert(
            name.split('@').next().unwrap().to_string(),
            (kind.to_string(), address.to_string()),
        );
    }
    let names = Table::mpi5().names();
    assert_eq!(names.len(), 664);
    for name in &names {
        let weak = exported
            .remove(name)
            .unwrap_or_else(|| panic!("{name} is not exported"));
        let strong = exported
            .remove(&format!("P{name}"))
            .unwrap_or_else(|| panic!("P{name} is not exported"));
        assert_eq!((weak.0.as_str(), strong.0.as_str()), ("W", "T"), "{name}");
        assert_eq!(weak.1, strong.1, "{name}");
    }
    let others: Vec<&String> = exported
        .keys()
        .filter(|name| name.contains("MPI_"))
        .collect();
    assert!(
        others.is_empty(),
        "exported, but not in the table: {others:?}"
    );
}

#[test]
fn has_the_name_of_the_standard() {
    let dynamic = read("readelf", &["-d"]);
    assert!(dynamic.contains("[libmpi_abi.so.1]"), "{dynamic}");
}
