//! The constants of Fortran programs, and the variables whose addresses mean something.

use crate::model::Table;

/// Integer constants of Fortran, some under other names or with other values than in C.
pub(super) fn integers(table: &Table) -> Vec<(String, i64)> {
    let own = [
        ("MPI_STATUS_SIZE", 8),
        ("MPI_SOURCE", 1),
        ("MPI_TAG", 2),
        ("MPI_ERROR", 3),
        ("MPI_ADDRESS_KIND", 8),
        ("MPI_COUNT_KIND", 8),
        ("MPI_OFFSET_KIND", 8),
        ("MPI_INTEGER_KIND", 4),
    ];
    // A Fortran string has no final zero, so its greatest length is one less (§2.6.2).
    let is_text_length = |name: &str| name.starts_with("MPI_MAX_");
    let of_c = table
        .integers
        .iter()
        .filter(|c| !c.name.starts_with("MPI_T_") && !c.name.starts_with("MPI_F_"))
        .map(|c| (c.name.clone(), c.value - i64::from(is_text_length(&c.name))));
    own.iter()
        .map(|(name, value)| (name.to_string(), *value))
        .chain(of_c)
        .collect()
}

/// The declared type of an integer constant: that of the arguments which it is for.
pub(super) fn integer_type(name: &str) -> &'static str {
    match name {
        "MPI_DISPLACEMENT_CURRENT" => "INTEGER(KIND=MPI_OFFSET_KIND)",
        _ => "INTEGER",
    }
}

/// Handle constants: C type, name, value.
pub(super) fn handles(table: &Table) -> Vec<(String, String, i64)> {
    let mut found = Vec::new();
    for of in table
        .handles
        .iter()
        .filter(|of| !of.name.starts_with("MPI_T_"))
    {
        for constant in &of.items {
            found.push((of.name.clone(), constant.name.clone(), constant.value));
        }
    }
    for (name, of) in &table.aliases {
        if let Some((kind, _, value)) = found.iter().find(|(_, known, _)| known == of).cloned() {
            found.push((kind, name.clone(), value));
        }
    }
    found
}

/// A variable that stands for an address constant: name, type in mpif.h and module mpi, type in
/// mpi_f08, dimensions in both. Each is the only member of the common block /MPIFORT_.../, whose
/// memory the library has too.
pub(super) const SENTINELS: [(&str, &str, &str, &str, &str); 10] = [
    ("MPI_BOTTOM", "INTEGER", "INTEGER", "", ""),
    ("MPI_IN_PLACE", "INTEGER", "INTEGER", "", ""),
    ("MPI_BUFFER_AUTOMATIC", "INTEGER", "INTEGER", "", ""),
    (
        "MPI_STATUS_IGNORE",
        "INTEGER",
        "TYPE(MPI_Status)",
        "(MPI_STATUS_SIZE)",
        "",
    ),
    (
        "MPI_STATUSES_IGNORE",
        "INTEGER",
        "TYPE(MPI_Status)",
        "(MPI_STATUS_SIZE,1)",
        "(1)",
    ),
    ("MPI_ERRCODES_IGNORE", "INTEGER", "INTEGER", "(1)", "(1)"),
    ("MPI_UNWEIGHTED", "INTEGER", "INTEGER", "(1)", "(1)"),
    ("MPI_WEIGHTS_EMPTY", "INTEGER", "INTEGER", "(1)", "(1)"),
    (
        "MPI_ARGV_NULL",
        "CHARACTER*1",
        "CHARACTER(LEN=1)",
        "(1)",
        "(1)",
    ),
    (
        "MPI_ARGVS_NULL",
        "CHARACTER*1",
        "CHARACTER(LEN=1)",
        "(1,1)",
        "(1,1)",
    ),
];

/// The common block of a sentinel.
pub(super) fn block(name: &str) -> String {
    name.replacen("MPI_", "MPIFORT_", 1)
}
