//! Writes `mpi.h`: types, constants, callback types and the prototypes of all functions, `MPI_` and `PMPI_`.
//!
//! The text is valid C89, C99, C11 and C++98 and later, with `-Wall -Wextra -pedantic`; tests/header.rs compiles it in all of
//! them. Sizes that programs compiled elsewhere rely on are asserted in the header itself, by array types
//! that have a negative size when they are wrong (C89 has nothing better).

use std::fmt::Write;

use crate::kind::HANDLES;
use crate::model::{Callback, Constant, Face, Function, Table};
use crate::removed;

const OPENING: &str = "\
/* mpi.h of OxMPI: MPI 5.0, standard ABI 1.0 (chapter 20 of the standard).
 *
 * Generated from abi/table/mpi5.table. A program compiled with this header runs on every library of the
 * standard ABI, whose name is libmpi_abi.so.1.
 */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
";

const CLOSING: &str = "
#ifdef __cplusplus
}
#endif

#endif /* MPI_H_ABI */
";

/// What programs compiled elsewhere rely on: a name for the assertion, and the condition.
const ASSERTIONS: [(&str, &str); 8] = [
    ("int_has_32_bits", "sizeof(int) == 4"),
    ("status_has_32_bytes", "sizeof(MPI_Status) == 32"),
    (
        "status_begins_with_ints",
        "sizeof(((MPI_Status *)0)->MPI_internal) == 20",
    ),
    (
        "aint_is_as_wide_as_a_pointer",
        "sizeof(MPI_Aint) == sizeof(void *)",
    ),
    ("count_has_64_bits", "sizeof(MPI_Count) == 8"),
    ("offset_has_64_bits", "sizeof(MPI_Offset) == 8"),
    (
        "a_handle_is_a_pointer",
        "sizeof(MPI_Comm) == sizeof(void *)",
    ),
    (
        "fortran_statuses_are_as_long",
        "sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint)",
    ),
];

/// The text of `mpi.h`.
pub fn header(table: &Table) -> String {
    let mut out = String::from(OPENING);
    handle_types(&mut out, table);
    enumerations(&mut out, table);
    title(&mut out, "Integer constants");
    for constant in table
        .integers
        .iter()
        .filter(|c| enumeration_of(&c.name).is_none())
    {
        define(&mut out, &constant.name, &parenthesized(constant));
    }
    for handle in table
        .handles
        .iter()
        .filter(|handle| !handle.items.is_empty())
    {
        title(&mut out, &handle.name);
        for constant in &handle.items {
            define(
                &mut out,
                &constant.name,
                &format!("(({}){})", handle.name, constant.value),
            );
        }
    }
    title(&mut out, "Second names");
    for (name, of) in &table.aliases {
        define(&mut out, name, of);
    }
    title(&mut out, "Functions that the library calls");
    for callback in &table.callbacks {
        writeln!(out, "{}", callback_type(callback)).unwrap();
    }
    title(&mut out, "Constants that are addresses");
    for pointer in &table.pointers {
        for constant in &pointer.items {
            define(
                &mut out,
                &constant.name,
                &format!("(({}){})", pointer.name, constant.value),
            );
        }
    }
    title(
        &mut out,
        "What every program compiled with this header relies on",
    );
    for (name, condition) in ASSERTIONS {
        writeln!(
            out,
            "typedef char MPI_ABI_assert_{name}[({condition}) ? 1 : -1];"
        )
        .unwrap();
    }
    for chapter in &table.chapters {
        title(&mut out, &chapter.about.replace('§', ""));
        for prefix in ["", "P"] {
            for function in &chapter.functions {
                for face in function.faces() {
                    writeln!(out, "{};", prototype(function, face, prefix)).unwrap();
                }
            }
        }
    }
    interlanguage(&mut out);
    title(
        &mut out,
        "What MPI 3.0 removed: a use is a warning or an error that names the successor",
    );
    removed::declarations(&mut out);
    out.push_str(CLOSING);
    out
}

/// Handles and statuses of Fortran programs (§19.3). The standard ABI leaves the functions to the
/// Fortran library; handles are macros here, so that C code which uses them need not link with it.
fn interlanguage(out: &mut String) {
    title(out, "Handles and statuses of Fortran programs");
    for (_, c, _) in HANDLES {
        let name = if c == "MPI_Datatype" { "MPI_Type" } else { c };
        for (old, new, of) in [("c2f", "toint", "handle"), ("f2c", "fromint", "number")] {
            for prefix in ["", "P"] {
                let (macro_name, function) = (
                    format!("{prefix}{name}_{old}"),
                    format!("{prefix}{name}_{new}"),
                );
                writeln!(
                    out,
                    "#ifndef {macro_name}\n#define {macro_name}({of}) {function}({of})\n#endif"
                )
                .unwrap();
            }
        }
    }
    out.push_str(
        "\n/* These are in libmpifort_abi. */\ntypedef MPI_Status MPI_F08_status;\n\
         extern MPI_Fint *const MPI_F_STATUS_IGNORE;\n\
         extern MPI_Fint *const MPI_F_STATUSES_IGNORE;\n\
         extern MPI_F08_status *const MPI_F08_STATUS_IGNORE;\n\
         extern MPI_F08_status *const MPI_F08_STATUSES_IGNORE;\n",
    );
    let types = [
        ("c", "MPI_Status"),
        ("f", "MPI_Fint"),
        ("f08", "MPI_F08_status"),
    ];
    for (from, of) in types {
        for (to, other) in types.into_iter().filter(|(to, _)| *to != from) {
            writeln!(
                out,
                "int MPI_Status_{from}2{to}(const {of} *{from}_status, {other} *{to}_status);"
            )
            .unwrap();
        }
    }
}

/// The C declaration of a form of a function, without the semicolon; the prefix is empty or `P`.
pub(crate) fn prototype(function: &Function, face: Face, prefix: &str) -> String {
    let mut parameters: Vec<String> = function
        .parameters_of(face)
        .map(|parameter| {
            parameter
                .kind
                .c_declaration(face == Face::Large, &parameter.name)
        })
        .collect();
    if function.variadic {
        parameters[0].insert_str(0, "const ");
        parameters.push("...".into());
    }
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    let returns = function.returns.as_deref().unwrap_or("int");
    let name = function.c_name(face);
    format!("{returns} {prefix}{name}({})", parameters.join(", "))
}

fn handle_types(out: &mut String, table: &Table) {
    title(
        out,
        "Handles: pointers to types that no program can look into",
    );
    for handle in &table.handles {
        let name = &handle.name;
        let tag = name.replacen("MPI_", "MPI_ABI_", 1);
        writeln!(out, "typedef struct {tag} *{name};").unwrap();
    }
}

/// The tool information interface has two enumerations; their constants are integers in the table.
fn enumerations(out: &mut String, table: &Table) {
    for name in ["MPI_T_cb_safety", "MPI_T_source_order"] {
        let items: Vec<String> = table
            .integers
            .iter()
            .filter(|constant| enumeration_of(&constant.name) == Some(name))
            .map(|constant| format!("    {} = {}", constant.name, constant.value))
            .collect();
        writeln!(
            out,
            "\ntypedef enum {name} {{\n{}\n}} {name};",
            items.join(",\n")
        )
        .unwrap();
    }
}

fn enumeration_of(constant: &str) -> Option<&'static str> {
    if constant.starts_with("MPI_T_CB_REQUIRE_") {
        Some("MPI_T_cb_safety")
    } else if constant.starts_with("MPI_T_SOURCE_") {
        Some("MPI_T_source_order")
    } else {
        None
    }
}

fn callback_type(callback: &Callback) -> String {
    let parameters = callback.parameters.join(", ").replace("* ", " *");
    let Callback { returns, name, .. } = callback;
    format!("typedef {returns} ({name})({parameters});")
}

fn title(out: &mut String, text: &str) {
    writeln!(out, "\n/* {text} */").unwrap();
}

fn define(out: &mut String, name: &str, value: &str) {
    writeln!(out, "#define {name} {value}").unwrap();
}

fn parenthesized(constant: &Constant) -> String {
    match constant.value {
        value if value < 0 => format!("({value})"),
        value => value.to_string(),
    }
}
