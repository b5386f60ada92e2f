//! The interfaces of procedures that the library calls, and the predefined ones among them.
//!
//! The same text serves both modules: `HANDLE(MPI_Comm)` is an integer in module mpi and a derived
//! type in mpi_f08, `STATUS` an array or a derived type, `MEMORY` an assumed-size array or a C_PTR.
//! In memory they are the same, so one compiled procedure serves both.

/// An interface: name, arguments, declarations.
pub(super) struct Interface {
    pub(super) name: &'static str,
    pub(super) arguments: &'static [&'static str],
    pub(super) declarations: &'static [&'static str],
}

#[rustfmt::skip]
pub(super) const INTERFACES: [Interface; 20] = [
    Interface {
        name: "MPI_Comm_copy_attr_function",
        arguments: &["oldcomm", "comm_keyval", "extra_state", "attribute_val_in", "attribute_val_out", "flag", "ierror"],
        declarations: &[
            "HANDLE(MPI_Comm) :: oldcomm",
            "INTEGER :: comm_keyval, ierror",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: attribute_val_out",
            "LOGICAL :: flag",
        ],
    },
    Interface {
        name: "MPI_Comm_delete_attr_function",
        arguments: &["comm", "comm_keyval", "attribute_val", "extra_state", "ierror"],
        declarations: &[
            "HANDLE(MPI_Comm) :: comm",
            "INTEGER :: comm_keyval, ierror",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: attribute_val, extra_state",
        ],
    },
    Interface {
        name: "MPI_Type_copy_attr_function",
        arguments: &["oldtype", "type_keyval", "extra_state", "attribute_val_in", "attribute_val_out", "flag", "ierror"],
        declarations: &[
            "HANDLE(MPI_Datatype) :: oldtype",
            "INTEGER :: type_keyval, ierror",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: attribute_val_out",
            "LOGICAL :: flag",
        ],
    },
    Interface {
        name: "MPI_Type_delete_attr_function",
        arguments: &["datatype", "type_keyval", "attribute_val", "extra_state", "ierror"],
        declarations: &[
            "HANDLE(MPI_Datatype) :: datatype",
            "INTEGER :: type_keyval, ierror",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: attribute_val, extra_state",
        ],
    },
    Interface {
        name: "MPI_Win_copy_attr_function",
        arguments: &["oldwin", "win_keyval", "extra_state", "attribute_val_in", "attribute_val_out", "flag", "ierror"],
        declarations: &[
            "HANDLE(MPI_Win) :: oldwin",
            "INTEGER :: win_keyval, ierror",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: attribute_val_out",
            "LOGICAL :: flag",
        ],
    },
    Interface {
        name: "MPI_Win_delete_attr_function",
        arguments: &["win", "win_keyval", "attribute_val", "extra_state", "ierror"],
        declarations: &[
            "HANDLE(MPI_Win) :: win",
            "INTEGER :: win_keyval, ierror",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: attribute_val, extra_state",
        ],
    },
    Interface {
        name: "MPI_Copy_function",
        arguments: &["oldcomm", "keyval", "extra_state", "attribute_val_in", "attribute_val_out", "flag", "ierr"],
        declarations: &[
            "HANDLE(MPI_Comm) :: oldcomm",
            "INTEGER :: keyval, extra_state, attribute_val_in",
            "INTEGER :: attribute_val_out, ierr",
            "LOGICAL :: flag",
        ],
    },
    Interface {
        name: "MPI_Delete_function",
        arguments: &["comm", "keyval", "attribute_val", "extra_state", "ierror"],
        declarations: &[
            "HANDLE(MPI_Comm) :: comm",
            "INTEGER :: keyval, attribute_val, extra_state, ierror",
        ],
    },
    Interface {
        name: "MPI_Comm_errhandler_function",
        arguments: &["comm", "error_code"],
        declarations: &[
            "HANDLE(MPI_Comm) :: comm",
            "INTEGER :: error_code",
        ],
    },
    Interface {
        name: "MPI_File_errhandler_function",
        arguments: &["file", "error_code"],
        declarations: &[
            "HANDLE(MPI_File) :: file",
            "INTEGER :: error_code",
        ],
    },
    Interface {
        name: "MPI_Win_errhandler_function",
        arguments: &["win", "error_code"],
        declarations: &[
            "HANDLE(MPI_Win) :: win",
            "INTEGER :: error_code",
        ],
    },
    Interface {
        name: "MPI_Session_errhandler_function",
        arguments: &["session", "error_code"],
        declarations: &[
            "HANDLE(MPI_Session) :: session",
            "INTEGER :: error_code",
        ],
    },
    Interface {
        name: "MPI_User_function",
        arguments: &["invec", "inoutvec", "len", "datatype"],
        declarations: &[
            "MEMORY :: invec, inoutvec",
            "INTEGER :: len",
            "HANDLE(MPI_Datatype) :: datatype",
        ],
    },
    Interface {
        name: "MPI_User_function_c",
        arguments: &["invec", "inoutvec", "len", "datatype"],
        declarations: &[
            "MEMORY :: invec, inoutvec",
            "INTEGER(KIND=MPI_COUNT_KIND) :: len",
            "HANDLE(MPI_Datatype) :: datatype",
        ],
    },
    Interface {
        name: "MPI_Grequest_query_function",
        arguments: &["extra_state", "status", "ierror"],
        declarations: &[
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state",
            "STATUS :: status",
            "INTEGER :: ierror",
        ],
    },
    Interface {
        name: "MPI_Grequest_free_function",
        arguments: &["extra_state", "ierror"],
        declarations: &[
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state",
            "INTEGER :: ierror",
        ],
    },
    Interface {
        name: "MPI_Grequest_cancel_function",
        arguments: &["extra_state", "complete", "ierror"],
        declarations: &[
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state",
            "LOGICAL :: complete",
            "INTEGER :: ierror",
        ],
    },
    Interface {
        name: "MPI_Datarep_extent_function",
        arguments: &["datatype", "extent", "extra_state", "ierror"],
        declarations: &[
            "HANDLE(MPI_Datatype) :: datatype",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extent, extra_state",
            "INTEGER :: ierror",
        ],
    },
    Interface {
        name: "MPI_Datarep_conversion_function",
        arguments: &["userbuf", "datatype", "count", "filebuf", "position", "extra_state", "ierror"],
        declarations: &[
            "MEMORY :: userbuf, filebuf",
            "HANDLE(MPI_Datatype) :: datatype",
            "INTEGER :: count",
            "INTEGER(KIND=MPI_OFFSET_KIND) :: position",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state",
            "INTEGER :: ierror",
        ],
    },
    Interface {
        name: "MPI_Datarep_conversion_function_c",
        arguments: &["userbuf", "datatype", "count", "filebuf", "position", "extra_state", "ierror"],
        declarations: &[
            "MEMORY :: userbuf, filebuf",
            "HANDLE(MPI_Datatype) :: datatype",
            "INTEGER(KIND=MPI_COUNT_KIND) :: count",
            "INTEGER(KIND=MPI_OFFSET_KIND) :: position",
            "INTEGER(KIND=MPI_ADDRESS_KIND) :: extra_state",
            "INTEGER :: ierror",
        ],
    },
];

/// Predefined procedures and the interface that each has.
#[rustfmt::skip]
pub(super) const PREDEFINED: [(&str, &str); 14] = [
    ("MPI_NULL_COPY_FN", "MPI_Copy_function"),
    ("MPI_DUP_FN", "MPI_Copy_function"),
    ("MPI_NULL_DELETE_FN", "MPI_Delete_function"),
    ("MPI_COMM_NULL_COPY_FN", "MPI_Comm_copy_attr_function"),
    ("MPI_COMM_DUP_FN", "MPI_Comm_copy_attr_function"),
    ("MPI_COMM_NULL_DELETE_FN", "MPI_Comm_delete_attr_function"),
    ("MPI_TYPE_NULL_COPY_FN", "MPI_Type_copy_attr_function"),
    ("MPI_TYPE_DUP_FN", "MPI_Type_copy_attr_function"),
    ("MPI_TYPE_NULL_DELETE_FN", "MPI_Type_delete_attr_function"),
    ("MPI_WIN_NULL_COPY_FN", "MPI_Win_copy_attr_function"),
    ("MPI_WIN_DUP_FN", "MPI_Win_copy_attr_function"),
    ("MPI_WIN_NULL_DELETE_FN", "MPI_Win_delete_attr_function"),
    ("MPI_CONVERSION_FN_NULL", "MPI_Datarep_conversion_function"),
    ("MPI_CONVERSION_FN_NULL_C", "MPI_Datarep_conversion_function_c"),
];

/// The interface of this name.
pub(super) fn interface(name: &str) -> &'static Interface {
    let found = INTERFACES.iter().find(|interface| interface.name == name);
    found.expect("every predefined procedure has one of these interfaces")
}
