//! Writes the source of module `mpi`: constants, sentinels and explicit interfaces.
//!
//! The module has no code of its own: its procedures are those of libmpifort_abi, so only the
//! compiler's module file is needed, never an object. Procedures with choice buffers are BIND(C) and
//! get descriptors, as in mpi_f08. Where an address alone is wanted, each compiler has its own
//! comment that switches off its check of type and rank, and both are written.

use std::fmt::Write;

use super::callbacks::{Interface, PREDEFINED, interface};
use super::constants::{SENTINELS, block, handles, integer_type, integers};
use super::dummy::{Dummy, Intent, Shape, dummies};
use super::{Procedure, procedures};
use crate::model::Table;

/// The kinds that interfaces import from the module around them.
pub(super) const KINDS: &str = "IMPORT";

/// The text of module `mpi`.
pub fn module_mpi(table: &Table) -> String {
    let mut out = opening("mpi");
    for (name, value) in integers(table) {
        let of = integer_type(&name);
        writeln!(out, "  {of}, PARAMETER :: {name} = {value}").expect("a String takes it");
    }
    for (_, name, value) in handles(table) {
        writeln!(out, "  INTEGER, PARAMETER :: {name} = {value}").expect("a String takes it");
    }
    supported(&mut out);
    for (name, of, _, dimensions, _) in SENTINELS {
        sentinel(&mut out, name, of, dimensions);
    }
    out.push_str("\n  INTERFACE\n");
    for (name, of) in PREDEFINED {
        let text = callback(name, interface(of), false);
        out.push_str(&text);
    }
    out.push_str("  END INTERFACE\n");
    for prefix in ["", "P"] {
        for procedure in procedures(table) {
            let name = format!("{prefix}{}", procedure.function.name);
            let specific = procedure.specific_with_descriptors();
            let specific = specific.map(|specific| format!("{prefix}{specific}"));
            let text = body(&procedure, specific.as_deref().unwrap_or(&name));
            if specific.is_some() {
                writeln!(out, "\n  INTERFACE {name}\n{text}  END INTERFACE")
            } else if gives_pointer(&procedure) {
                // A generic name lets the specific one keep the name of the symbol.
                let other = body(&procedure, &format!("{name}_cptr")).replace(
                    "INTEGER(KIND=MPI_ADDRESS_KIND), INTENT(OUT) :: baseptr",
                    "TYPE(C_PTR), INTENT(OUT) :: baseptr",
                );
                writeln!(out, "\n  INTERFACE {name}\n{text}{other}  END INTERFACE")
            } else {
                writeln!(out, "\n  INTERFACE\n{text}  END INTERFACE")
            }
            .expect("a String takes it");
        }
        out.push_str(&sizeof(prefix, "fts"));
        out.push_str(&sync_reg(prefix, "fts"));
    }
    out.push_str("END MODULE mpi\n");
    out
}

pub(super) fn opening(module: &str) -> String {
    format!(
        "! Module {module} of OxMPI: MPI 5.0, standard ABI 1.0. Generated from\n\
         ! abi/table/mpi5.table; compiled by `cargo xtask install` with each compiler.\n\
         MODULE {module}\n  USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR\n  IMPLICIT NONE\n\n"
    )
}

/// Choice buffers are descriptors and, where they are used after the call, ASYNCHRONOUS.
pub(super) fn supported(out: &mut String) {
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        writeln!(out, "  LOGICAL, PARAMETER :: {name} = .TRUE.").expect("a String takes it");
    }
}

pub(super) fn sentinel(out: &mut String, name: &str, of: &str, dimensions: &str) {
    let of = of.replace("*1", "(LEN=1)");
    writeln!(
        out,
        "  {of} :: {name}{dimensions}\n  COMMON /{0}/ {name}\n  SAVE /{0}/",
        block(name)
    )
    .expect("a String takes it");
}

/// MPI_SIZEOF asks the descriptor, whatever the module.
pub(super) fn sizeof(prefix: &str, suffix: &str) -> String {
    let symbol = format!("{}mpi_sizeof_{suffix}_", prefix.to_lowercase());
    let ierror = if suffix == "fts" {
        "INTEGER, INTENT(OUT)"
    } else {
        "INTEGER, OPTIONAL, INTENT(OUT)"
    };
    format!(
        "\n  INTERFACE {prefix}MPI_Sizeof\n\
        \x20   SUBROUTINE {prefix}MPI_Sizeof_{suffix}(x, size, ierror) BIND(C, NAME=\"{symbol}\")\n\
        \x20     TYPE(*), DIMENSION(..), INTENT(IN) :: x\n\
        \x20     INTEGER, INTENT(OUT) :: size\n\
        \x20     {ierror} :: ierror\n\
        \x20   END SUBROUTINE\n  END INTERFACE\n"
    )
}

/// MPI_F_sync_reg does nothing; that the compiler does not know so is its use.
pub(super) fn sync_reg(prefix: &str, suffix: &str) -> String {
    let symbol = format!("{}mpi_f_sync_reg_{suffix}_", prefix.to_lowercase());
    format!(
        "\n  INTERFACE {prefix}MPI_F_sync_reg\n\
        \x20   SUBROUTINE {prefix}MPI_F_sync_reg_{suffix}(buf) BIND(C, NAME=\"{symbol}\")\n\
        \x20     TYPE(*), DIMENSION(..), ASYNCHRONOUS :: buf\n\
        \x20   END SUBROUTINE\n  END INTERFACE\n"
    )
}

fn gives_pointer(procedure: &Procedure<'_>) -> bool {
    dummies(procedure)
        .iter()
        .any(|dummy| dummy.name == "baseptr")
}

/// An argument of any type and rank, passed by address.
fn unchecked(name: &str) -> String {
    format!(
        "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n!DIR$ IGNORE_TKR(TKRDMA) {name}\n      \
         TYPE(*), DIMENSION(*) :: {name}\n"
    )
}

fn body(procedure: &Procedure<'_>, name: &str) -> String {
    let dummies = dummies(procedure);
    let mut names: Vec<&str> = dummies.iter().map(|dummy| dummy.name.as_str()).collect();
    let mut text = String::new();
    for dummy in &dummies {
        text.push_str(&declaration(dummy));
    }
    if procedure.has_ierror() {
        names.push("ierror");
        text.push_str("      INTEGER, INTENT(OUT) :: ierror\n");
    }
    let bind = match procedure.specific_with_descriptors() {
        Some(_) => bind(name),
        None => String::new(),
    };
    frame(procedure, name, &names, &bind, &text)
}

/// What makes a procedure take descriptors, under the name of its symbol.
pub(super) fn bind(name: &str) -> String {
    format!(" &\n        BIND(C, NAME=\"{}_\")", name.to_lowercase())
}

/// The lines around declarations; functions with a value say their type.
pub(super) fn frame(
    procedure: &Procedure<'_>,
    name: &str,
    names: &[&str],
    bind: &str,
    text: &str,
) -> String {
    let (word, result) = match procedure.function.returns.as_deref() {
        None => ("SUBROUTINE", String::new()),
        Some("double") => ("FUNCTION", format!("      DOUBLE PRECISION :: {name}\n")),
        Some(_) => (
            "FUNCTION",
            format!("      INTEGER(KIND=MPI_ADDRESS_KIND) :: {name}\n"),
        ),
    };
    let head = wrapped(&format!("    {word} {name}({}){bind}", names.join(", ")));
    format!("{head}      {KINDS}\n{result}{text}    END {word}\n")
}

fn declaration(dummy: &Dummy) -> String {
    let name = &dummy.name;
    let intent = intent(dummy.intent);
    let (of, dimensions) = match (&dummy.shape, dummy.dimensions) {
        (Shape::Choice, _) => return descriptor(dummy),
        (Shape::Pointer, _) if name == "buffer_addr" => return unchecked(name),
        (Shape::Procedure(_), _) => return format!("      EXTERNAL :: {name}\n"),
        (Shape::Status, None) => ("INTEGER", "(MPI_STATUS_SIZE)".to_string()),
        (Shape::Status, Some(_)) => ("INTEGER", "(MPI_STATUS_SIZE,*)".to_string()),
        (shape, dimensions) => {
            let dimensions = dimensions
                .map(|text| format!("({text})"))
                .unwrap_or_default();
            (plain_type(shape), dimensions)
        }
    };
    let asynchronous = asynchronous(dummy);
    format!("      {of}{intent}{asynchronous} :: {name}{dimensions}\n")
}

/// Memory of any type and rank, sections of arrays included.
pub(super) fn descriptor(dummy: &Dummy) -> String {
    // The sentinels may be passed where memory is written, so its intent is not said.
    let intent = match dummy.intent {
        Intent::In => intent(Intent::In),
        Intent::Out | Intent::InOut => "",
    };
    let (name, asynchronous) = (&dummy.name, asynchronous(dummy));
    format!("      TYPE(*), DIMENSION(..){intent}{asynchronous} :: {name}\n")
}

/// Whether MPI may use the argument after the call.
pub(super) fn asynchronous(dummy: &Dummy) -> &'static str {
    if dummy.asynchronous {
        ", ASYNCHRONOUS"
    } else {
        ""
    }
}

pub(super) fn intent(intent: Intent) -> &'static str {
    match intent {
        Intent::In => ", INTENT(IN)",
        Intent::Out => ", INTENT(OUT)",
        Intent::InOut => ", INTENT(INOUT)",
    }
}

/// The type of what is no choice, status, handle or procedure in mpi_f08.
pub(super) fn plain_type(shape: &Shape) -> &'static str {
    match shape {
        Shape::Address | Shape::Pointer => "INTEGER(KIND=MPI_ADDRESS_KIND)",
        Shape::Count => "INTEGER(KIND=MPI_COUNT_KIND)",
        Shape::Offset => "INTEGER(KIND=MPI_OFFSET_KIND)",
        Shape::Logical => "LOGICAL",
        Shape::Text => "CHARACTER(LEN=*)",
        _ => "INTEGER",
    }
}

/// The interface body of a procedure that the library calls.
pub(super) fn callback(name: &str, interface: &Interface, f08: bool) -> String {
    let arguments = interface.arguments.join(", ");
    let mut text = wrapped(&format!("    SUBROUTINE {name}({arguments})"));
    writeln!(text, "      {KINDS}").expect("a String takes it");
    for line in interface.declarations {
        let line = if f08 {
            line.replace("HANDLE(", "TYPE(")
                .replace("STATUS", "TYPE(MPI_Status)")
                .replace("MEMORY", "TYPE(C_PTR), VALUE")
        } else {
            let line = match line.split_once(')') {
                Some((head, rest)) if head.starts_with("HANDLE(") => format!("INTEGER{rest}"),
                _ => line.to_string(),
            };
            line.replace("STATUS :: status", "INTEGER :: status(MPI_STATUS_SIZE)")
        };
        match line.strip_prefix("MEMORY :: ") {
            Some(names) => names
                .split(", ")
                .for_each(|name| text.push_str(&unchecked(name))),
            None => writeln!(text, "      {line}").expect("a String takes it"),
        }
    }
    text.push_str("    END SUBROUTINE\n");
    text
}

/// Breaks a statement at commas so that no line has more than 100 columns.
pub(super) fn wrapped(statement: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for piece in statement.split_inclusive(", ") {
        if line.len() + piece.len() > 96 {
            writeln!(out, "{}&", line).expect("a String takes it");
            line = "        ".to_string();
        }
        line.push_str(piece);
    }
    writeln!(out, "{line}").expect("a String takes it");
    out
}
