//! The table's constants as Rust: integers as `i32`, handles and addresses as `Handle` and `usize`.

use std::fmt::Write;

use crate::Table;

/// The text of a Rust module of constants, and the list of predefined handle constants with their names.
pub fn constants(table: &Table) -> String {
    let mut out = String::from("// Generated from abi/table/mpi5.table; edit that.\n\n");
    for constant in &table.integers {
        let (name, value) = (&constant.name, constant.value);
        writeln!(
            out,
            "/// {name} of the standard.\npub const {name}: i32 = {value};"
        )
        .unwrap();
    }
    let mut named = String::new();
    for handle in &table.handles {
        for constant in &handle.items {
            let (name, value, of) = (&constant.name, constant.value, &handle.name);
            writeln!(
                out,
                "/// {of}.\npub const {name}: Handle = Handle({value});"
            )
            .unwrap();
            if !of.starts_with("MPI_T_") {
                writeln!(named, "    ({value}, \"{name}\"),").unwrap();
            }
        }
    }
    for (name, of) in &table.aliases {
        writeln!(
            out,
            "/// The same as {of}.\npub const {name}: Handle = {of};"
        )
        .unwrap();
    }
    for pointer in &table.pointers {
        for constant in &pointer.items {
            let (name, value, of) = (&constant.name, constant.value, &pointer.name);
            writeln!(
                out,
                "/// The address that C sees as `{of}`.\npub const {name}: usize = {value};"
            )
            .unwrap();
        }
    }
    let rows = table.integers.iter().filter(|c| is_error_class(&c.name));
    let rows: String = rows
        .map(|c| format!("    ({}, \"{}\"),\n", c.value, c.name))
        .collect();
    writeln!(
        out,
        "\n/// The names of predefined handles, for texts.\npub const HANDLE_NAMES: &[(usize, &str)] = &[\n{named}];\n\n\
         /// The names of the error classes, for texts.\npub const CLASS_NAMES: &[(i32, &str)] = &[\n{rows}];"
    )
    .unwrap();
    out
}

fn is_error_class(name: &str) -> bool {
    name == "MPI_SUCCESS"
        || (name.starts_with("MPI_ERR_") && name != "MPI_ERR_LASTCODE")
        || name.starts_with("MPI_T_ERR_")
}
