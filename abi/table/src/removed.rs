//! Names of MPI-1 that MPI 3.0 removed (§16.1 of the standard).
//!
//! They are not part of the ABI, so the library does not have them. Old programs use them still,
//! and without a word from here their authors would see an implicit declaration and, later, a
//! symbol that is missing. The header declares them so that a use is an error of the compiler which
//! names the successor; a program without them, or with a macro of that name, sees nothing.

use std::fmt::Write;

/// A function: its name, its parameters, and what takes its place.
const FUNCTIONS: [(&str, &str, &str); 10] = [
    (
        "Address",
        "void *location, MPI_Aint *address",
        "MPI_Get_address",
    ),
    (
        "Errhandler_create",
        "void (*function)(MPI_Comm *, int *, ...), MPI_Errhandler *errhandler",
        "MPI_Comm_create_errhandler",
    ),
    (
        "Errhandler_get",
        "MPI_Comm comm, MPI_Errhandler *errhandler",
        "MPI_Comm_get_errhandler",
    ),
    (
        "Errhandler_set",
        "MPI_Comm comm, MPI_Errhandler errhandler",
        "MPI_Comm_set_errhandler",
    ),
    (
        "Type_extent",
        "MPI_Datatype datatype, MPI_Aint *extent",
        "MPI_Type_get_extent",
    ),
    (
        "Type_hindexed",
        "int count, int *lengths, MPI_Aint *places, MPI_Datatype oldtype, MPI_Datatype *newtype",
        "MPI_Type_create_hindexed",
    ),
    (
        "Type_hvector",
        "int count, int length, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype",
        "MPI_Type_create_hvector",
    ),
    (
        "Type_lb",
        "MPI_Datatype datatype, MPI_Aint *displacement",
        "MPI_Type_get_extent",
    ),
    (
        "Type_struct",
        "int count, int *lengths, MPI_Aint *places, MPI_Datatype *types, MPI_Datatype *newtype",
        "MPI_Type_create_struct",
    ),
    (
        "Type_ub",
        "MPI_Datatype datatype, MPI_Aint *displacement",
        "MPI_Type_get_extent",
    ),
];

/// A constant or a type, and what takes its place, as a part of a name.
const NAMES: [(&str, &str); 6] = [
    ("MPI_LB", "use_MPI_Type_create_resized"),
    ("MPI_UB", "use_MPI_Type_create_resized"),
    ("MPI_Handler_function", "use_MPI_Comm_errhandler_function"),
    ("MPI_COMBINER_HINDEXED_INTEGER", "use_MPI_COMBINER_HINDEXED"),
    ("MPI_COMBINER_HVECTOR_INTEGER", "use_MPI_COMBINER_HVECTOR"),
    ("MPI_COMBINER_STRUCT_INTEGER", "use_MPI_COMBINER_STRUCT"),
];

/// The part of `mpi.h` about them. Compilers without the attribute see nothing of the functions.
pub(crate) fn declarations(out: &mut String) {
    out.push_str(
        "#if defined(__has_attribute)\n#if __has_attribute(error)\n\
         #define MPI_ABI_removed(text) __attribute__((error(text)))\n#endif\n#endif\n\
         #ifdef MPI_ABI_removed\n",
    );
    for prefix in ["", "P"] {
        for (name, parameters, successor) in FUNCTIONS {
            let name = format!("{prefix}MPI_{name}");
            writeln!(
                out,
                "#ifndef {name}\nint {name}({parameters})\n    \
                 MPI_ABI_removed(\"{name} was removed in MPI 3.0; use {successor}\");\n#endif"
            )
            .unwrap();
        }
    }
    out.push_str("#endif\n");
    for (name, successor) in NAMES {
        writeln!(
            out,
            "#ifndef {name}\n#define {name} {name}_was_removed_in_MPI_3_0_{successor}\n#endif"
        )
        .unwrap();
    }
}
