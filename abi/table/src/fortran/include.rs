//! Writes `mpif.h`, which a program of fixed or free form may include: statements begin in column
//! 7, end before column 73 and are never continued.

use std::fmt::Write;

use super::callbacks::PREDEFINED;
use super::constants::{SENTINELS, block, handles, integer_type, integers};
use crate::model::Table;

/// Functions with a value: name and type.
pub(super) const FUNCTIONS: [(&str, &str); 4] = [
    ("MPI_WTIME", "DOUBLE PRECISION"),
    ("MPI_WTICK", "DOUBLE PRECISION"),
    ("MPI_AINT_ADD", "INTEGER(KIND=MPI_ADDRESS_KIND)"),
    ("MPI_AINT_DIFF", "INTEGER(KIND=MPI_ADDRESS_KIND)"),
];

/// The text of `mpif.h`.
pub fn mpif_h(table: &Table) -> String {
    let mut out = String::from(
        "!     mpif.h of OxMPI: MPI 5.0, standard ABI 1.0. Generated from\n\
         !     abi/table/mpi5.table; for fixed and for free form.\n",
    );
    let mut line = |text: String| writeln!(out, "      {text}").expect("a String takes it");
    let all = integers(table).into_iter().chain(
        handles(table)
            .into_iter()
            .map(|(_, name, value)| (name, value)),
    );
    for (name, value) in all {
        line(format!("{} {name}", integer_type(&name)));
        line(format!("PARAMETER ({name}={value})"));
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        line(format!("LOGICAL {name}"));
        line(format!("PARAMETER ({name}=.FALSE.)"));
    }
    for (name, of, _, dimensions, _) in SENTINELS {
        line(format!("{of} {name}{dimensions}"));
        line(format!("COMMON /{}/ {name}", block(name)));
        line(format!("SAVE /{}/", block(name)));
    }
    for (name, of) in FUNCTIONS {
        for prefix in ["", "P"] {
            line(format!("{of} {prefix}{name}"));
            line(format!("EXTERNAL {prefix}{name}"));
        }
    }
    for (name, _) in PREDEFINED {
        line(format!("EXTERNAL {name}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_long_for_fixed_form() {
        let text = mpif_h(&Table::mpi5());
        assert!(
            text.lines()
                .all(|line| line.len() <= 72 && !line.ends_with('&'))
        );
        assert!(text.contains("      PARAMETER (MPI_COMM_WORLD=257)\n"));
        assert!(text.contains("      PARAMETER (MPI_MAX_PROCESSOR_NAME=255)\n"));
    }
}
