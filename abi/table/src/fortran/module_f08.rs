//! Writes the source of module `mpi_f08`: derived types, constants, operators, interfaces.
//!
//! Like module mpi it has no code: even `==` of handles is a function of libmpifort_abi. Procedures
//! with choice buffers are BIND(C), which fixes how descriptors look; the others are external
//! procedures as in module mpi, which lets them have LOGICAL and CHARACTER arguments.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::callbacks::{INTERFACES, PREDEFINED, interface};
use super::constants::{SENTINELS, handles, integer_type, integers};
use super::dummy::{Dummy, Shape, dummies};
use super::module::{
    asynchronous, bind, callback, descriptor, frame, intent, opening, plain_type, sentinel, sizeof,
    supported, sync_reg,
};
use super::{Procedure, procedures_f08};
use crate::model::Table;

/// The text of module `mpi_f08`.
pub fn module_mpi_f08(table: &Table) -> String {
    let mut out = opening("mpi_f08");
    for (name, value) in integers(table) {
        let of = integer_type(&name);
        writeln!(out, "  {of}, PARAMETER :: {name} = {value}").expect("a String takes it");
    }
    let kinds = handle_types(table);
    for name in &kinds {
        writeln!(
            out,
            "  TYPE, BIND(C) :: {name}\n    INTEGER :: MPI_VAL\n  END TYPE {name}"
        )
        .expect("a String takes it");
    }
    out.push_str(
        "  TYPE, BIND(C) :: MPI_Status\n    INTEGER :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n    \
         INTEGER, PRIVATE :: MPI_internal(5)\n  END TYPE MPI_Status\n",
    );
    for (of, name, value) in handles(table) {
        writeln!(out, "  TYPE({of}), PARAMETER :: {name} = {of}({value})")
            .expect("a String takes it");
    }
    supported(&mut out);
    for (name, _, of, _, dimensions) in SENTINELS {
        sentinel(&mut out, name, of, dimensions);
    }
    for (operator, word) in [("==", "eq"), ("/=", "ne")] {
        writeln!(out, "\n  INTERFACE OPERATOR ({operator})").expect("a String takes it");
        for name in &kinds {
            let function = format!("{name}_{word}");
            writeln!(
                out,
                "    PURE FUNCTION {function}(a, b)\n      IMPORT\n      LOGICAL :: {function}\n      \
                 TYPE({name}), INTENT(IN) :: a, b\n    END FUNCTION"
            )
            .expect("a String takes it");
        }
        out.push_str("  END INTERFACE\n");
    }
    out.push_str("\n  ABSTRACT INTERFACE\n");
    for interface in &INTERFACES {
        out.push_str(&callback(interface.name, interface, true));
    }
    out.push_str("  END INTERFACE\n\n  INTERFACE\n");
    for (name, of) in PREDEFINED {
        out.push_str(&callback(name, interface(of), true));
    }
    out.push_str(STATUSES);
    out.push_str("  END INTERFACE\n");
    for prefix in ["", "P"] {
        for (name, text) in generics(table, prefix) {
            writeln!(out, "\n  INTERFACE {name}\n{text}  END INTERFACE")
                .expect("a String takes it");
        }
        out.push_str(&sizeof(prefix, "f08ts"));
        out.push_str(&sync_reg(prefix, "f08ts"));
    }
    out.push_str("END MODULE mpi_f08\n");
    out
}

/// Statuses of one kind of program as those of the other (§19.3.5).
const STATUSES: &str = "    SUBROUTINE MPI_Status_f2f08(f_status, f08_status, ierror)
      IMPORT
      INTEGER, INTENT(IN) :: f_status(MPI_STATUS_SIZE)
      TYPE(MPI_Status), INTENT(OUT) :: f08_status
      INTEGER, OPTIONAL, INTENT(OUT) :: ierror
    END SUBROUTINE
    SUBROUTINE MPI_Status_f082f(f08_status, f_status, ierror)
      IMPORT
      TYPE(MPI_Status), INTENT(IN) :: f08_status
      INTEGER, INTENT(OUT) :: f_status(MPI_STATUS_SIZE)
      INTEGER, OPTIONAL, INTENT(OUT) :: ierror
    END SUBROUTINE
";

fn handle_types(table: &Table) -> Vec<String> {
    let of_programs = |name: &&String| !name.starts_with("MPI_T_");
    table
        .handles
        .iter()
        .map(|of| &of.name)
        .filter(of_programs)
        .cloned()
        .collect()
}

/// The interface bodies under each generic name.
fn generics(table: &Table, prefix: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for procedure in procedures_f08(table) {
        let text = found
            .entry(format!("{prefix}{}", procedure.generic()))
            .or_default();
        text.push_str(&body(
            &procedure,
            &format!("{prefix}{}", procedure.specific()),
        ));
    }
    found
}

fn body(procedure: &Procedure<'_>, name: &str) -> String {
    let dummies = dummies(procedure);
    let mut names: Vec<&str> = dummies.iter().map(|dummy| dummy.name.as_str()).collect();
    let mut text: String = dummies.iter().map(declaration).collect();
    if procedure.has_ierror() {
        names.push("ierror");
        text.push_str("      INTEGER, OPTIONAL, INTENT(OUT) :: ierror\n");
    }
    let bind = match procedure.has_descriptors() {
        true => bind(name),
        false => String::new(),
    };
    frame(procedure, name, &names, &bind, &text)
}

fn declaration(dummy: &Dummy) -> String {
    let name = &dummy.name;
    let mut attributes = intent(dummy.intent).to_string();
    let of = match &dummy.shape {
        Shape::Choice => return descriptor(dummy),
        Shape::Pointer => "TYPE(C_PTR)".to_string(),
        Shape::Status => "TYPE(MPI_Status)".to_string(),
        Shape::Handle(of) => format!("TYPE({of})"),
        Shape::Procedure(of) => return format!("      PROCEDURE({of}) :: {name}\n"),
        shape => plain_type(shape).to_string(),
    };
    attributes.push_str(asynchronous(dummy));
    // A status may be MPI_STATUS_IGNORE, which nothing may be written to.
    if dummy.shape == Shape::Status && attributes == ", INTENT(OUT)" {
        attributes.clear();
    }
    let dimensions = dummy
        .dimensions
        .map(|text| format!("({text})"))
        .unwrap_or_default();
    format!("      {of}{attributes} :: {name}{dimensions}\n")
}
