//! Names of MPI-1 that MPI 3.0 removed (§16.1 of the standard).
//!
//! They are not part of the ABI, so the library does not have them. Old programs still use them, so
//! the header has each function as an inline call of its successor: such a program compiles, runs
//! on any library of the standard ABI, and its author gets a warning that names the successor. A
//! program without these names, or with a macro of that name, sees nothing. Constants that mark
//! bounds of a type have no successor with the same meaning; their use is an error of the compiler.

use std::fmt::Write;

/// A function: its name, its parameters, what takes its place, and the statements that call it.
/// `P` stands before the successor's name in the profiling form.
struct Removed {
    name: &'static str,
    parameters: &'static str,
    successor: &'static str,
    body: &'static str,
}

const FUNCTIONS: [Removed; 10] = [
    Removed {
        name: "Address",
        parameters: "void *location, MPI_Aint *address",
        successor: "MPI_Get_address",
        body: "return CALL(location, address);",
    },
    Removed {
        name: "Errhandler_create",
        parameters: "MPI_Handler_function *function, MPI_Errhandler *errhandler",
        successor: "MPI_Comm_create_errhandler",
        body: "return CALL(function, errhandler);",
    },
    Removed {
        name: "Errhandler_get",
        parameters: "MPI_Comm comm, MPI_Errhandler *errhandler",
        successor: "MPI_Comm_get_errhandler",
        body: "return CALL(comm, errhandler);",
    },
    Removed {
        name: "Errhandler_set",
        parameters: "MPI_Comm comm, MPI_Errhandler errhandler",
        successor: "MPI_Comm_set_errhandler",
        body: "return CALL(comm, errhandler);",
    },
    Removed {
        name: "Type_extent",
        parameters: "MPI_Datatype datatype, MPI_Aint *extent",
        successor: "MPI_Type_get_extent",
        body: "MPI_Aint lb; return CALL(datatype, &lb, extent);",
    },
    Removed {
        name: "Type_hindexed",
        parameters: "int count, int *lengths, MPI_Aint *places, MPI_Datatype oldtype,\n    \
                     MPI_Datatype *newtype",
        successor: "MPI_Type_create_hindexed",
        body: "return CALL(count, lengths, places, oldtype, newtype);",
    },
    Removed {
        name: "Type_hvector",
        parameters: "int count, int length, MPI_Aint stride, MPI_Datatype oldtype,\n    \
                     MPI_Datatype *newtype",
        successor: "MPI_Type_create_hvector",
        body: "return CALL(count, length, stride, oldtype, newtype);",
    },
    Removed {
        name: "Type_lb",
        parameters: "MPI_Datatype datatype, MPI_Aint *displacement",
        successor: "MPI_Type_get_extent",
        body: "MPI_Aint extent; return CALL(datatype, displacement, &extent);",
    },
    Removed {
        name: "Type_struct",
        parameters: "int count, int *lengths, MPI_Aint *places, MPI_Datatype *types,\n    \
                     MPI_Datatype *newtype",
        successor: "MPI_Type_create_struct",
        body: "return CALL(count, lengths, places, types, newtype);",
    },
    Removed {
        name: "Type_ub",
        parameters: "MPI_Datatype datatype, MPI_Aint *displacement",
        successor: "MPI_Type_get_extent",
        body: "MPI_Aint extent; int error = CALL(datatype, displacement, &extent);\n    \
               if (error == MPI_SUCCESS) *displacement += extent;\n    return error;",
    },
];

/// A constant, and what takes its place, as a part of a name.
const CONSTANTS: [(&str, &str); 5] = [
    ("MPI_LB", "use_MPI_Type_create_resized"),
    ("MPI_UB", "use_MPI_Type_create_resized"),
    ("MPI_COMBINER_HINDEXED_INTEGER", "use_MPI_COMBINER_HINDEXED"),
    ("MPI_COMBINER_HVECTOR_INTEGER", "use_MPI_COMBINER_HVECTOR"),
    ("MPI_COMBINER_STRUCT_INTEGER", "use_MPI_COMBINER_STRUCT"),
];

/// The part of `mpi.h` about them. Compilers without inline functions see nothing of the functions.
pub(crate) fn declarations(out: &mut String) {
    out.push_str(
        "#if defined(__GNUC__)\n\
         #define MPI_ABI_removed(text) __attribute__((deprecated(text))) static __inline__\n\
         #elif defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)\n\
         #define MPI_ABI_removed(text) static inline\n#endif\n\
         #ifdef MPI_ABI_removed\n\
         #ifndef MPI_Handler_function\n\
         typedef MPI_Comm_errhandler_function MPI_Handler_function;\n#endif\n",
    );
    for prefix in ["", "P"] {
        for removed in &FUNCTIONS {
            let name = format!("{prefix}MPI_{}", removed.name);
            let successor = removed.successor;
            let body = removed
                .body
                .replace("CALL", &format!("{prefix}{successor}"));
            writeln!(
                out,
                "#ifndef {name}\n\
                 MPI_ABI_removed(\"{name} was removed in MPI 3.0; use {successor}\")\n\
                 int {name}({})\n{{\n    {body}\n}}\n#endif",
                removed.parameters
            )
            .unwrap();
        }
    }
    out.push_str("#endif\n");
    for (name, successor) in CONSTANTS {
        writeln!(
            out,
            "#ifndef {name}\n#define {name} {name}_was_removed_in_MPI_3_0_{successor}\n#endif"
        )
        .unwrap();
    }
}
