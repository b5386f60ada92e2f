//! The dummy arguments of a procedure, from the kinds of the C parameters.

use super::Procedure;
use crate::model::{Face, Parameter};

/// What a dummy argument is; handles carry the C type's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Default INTEGER.
    Integer,
    /// INTEGER(KIND=MPI_ADDRESS_KIND).
    Address,
    /// INTEGER(KIND=MPI_COUNT_KIND).
    Count,
    /// INTEGER(KIND=MPI_OFFSET_KIND).
    Offset,
    /// Default LOGICAL.
    Logical,
    /// CHARACTER(LEN=*).
    Text,
    /// Memory of any type and rank.
    Choice,
    /// An address that is given out: TYPE(C_PTR) in mpi_f08, an integer elsewhere.
    Pointer,
    /// A status.
    Status,
    /// A handle of this C type.
    Handle(String),
    /// A procedure of this interface.
    Procedure(String),
}

/// INTENT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Read.
    In,
    /// Written.
    Out,
    /// Both.
    InOut,
}

/// A dummy argument.
#[derive(Debug, Clone)]
pub struct Dummy {
    /// Its name in Fortran.
    pub name: String,
    /// What it is.
    pub shape: Shape,
    /// INTENT.
    pub intent: Intent,
    /// The dimensions as text, without those of a status in mpif.h.
    pub dimensions: Option<&'static str>,
    /// Whether it is ASYNCHRONOUS: the library uses it after the procedure has returned.
    pub asynchronous: bool,
}

impl Shape {
    /// Whether it is an integer of 64 bits.
    pub fn is_wide(&self) -> bool {
        matches!(self, Shape::Address | Shape::Count | Shape::Offset)
    }
}

/// Functions that keep a buffer although they give no request (MPI 5.0 §19.1.16).
const KEEPS: [&str; 9] = [
    "MPI_Buffer_attach",
    "MPI_Comm_attach_buffer",
    "MPI_Session_attach_buffer",
    "MPI_Free_mem",
    "MPI_Get_address",
    "MPI_Win_attach",
    "MPI_Win_create",
    "MPI_Win_detach",
    "MPI_F_sync_reg",
];

/// The dummy arguments, without IERROR.
pub fn dummies(procedure: &Procedure<'_>) -> Vec<Dummy> {
    let function = procedure.function;
    let has_request = function
        .parameters
        .iter()
        .any(|p| p.kind.name() == "request_out");
    let split = function.name.ends_with("_begin") || function.name.ends_with("_end");
    let remote = procedure.chapter.name == "window";
    let keeps = has_request || split || remote || KEEPS.contains(&function.name.as_str());
    function
        .parameters_of(procedure.face)
        .filter(|p| !is_left_out(&function.name, p))
        .map(|p| {
            let mut dummy = dummy(&function.name, p, procedure.face);
            let kept = match p.kind.name() {
                "counts" | "displacements" | "datatypes" | "addresses" => has_request,
                "buffer_in" | "buffer_out" => keeps,
                "comm_out" => has_request,
                _ => false,
            };
            dummy.asynchronous = kept && !is_partitioned(&function.name);
            dummy
        })
        .collect()
}

fn is_partitioned(name: &str) -> bool {
    super::LARGE_ALONE.contains(&name)
}

/// Fortran has no argument vector to pass.
pub(super) fn is_left_out(function: &str, parameter: &Parameter) -> bool {
    matches!(
        function,
        "MPI_Init" | "MPI_Init_thread" | "MPI_Info_create_env"
    ) && ["argc", "argv"].contains(&parameter.name.as_str())
}

fn dummy(function: &str, parameter: &Parameter, face: Face) -> Dummy {
    let kind = parameter.kind.name().trim_end_matches("[]");
    let c = parameter.kind.c_declaration(face == Face::Large, "@");
    let old = ["MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create"].contains(&function);
    let attribute = parameter.name == "attribute_val" || kind == "extra_state";
    let shape = match kind {
        _ if attribute && old => Shape::Integer,
        _ if attribute => Shape::Address,
        "flag_out" | "logical" | "logicals" | "logicals_out" => Shape::Logical,
        "buffer_out" if parameter.name.starts_with("logical_") => Shape::Logical,
        "pointer_out" => Shape::Pointer,
        _ if kind.starts_with("MPI_") => {
            let has_twin = c.contains("_c *");
            Shape::Procedure(format!("{kind}{}", if has_twin { "_c" } else { "" }))
        }
        _ => by_c_type(&c),
    };
    Dummy {
        name: if parameter.name == "indx" {
            "index".into()
        } else {
            parameter.name.clone()
        },
        intent: intent(function, parameter, kind),
        dimensions: dimensions(kind, &c),
        asynchronous: false,
        shape,
    }
}

fn by_c_type(c: &str) -> Shape {
    let base = c
        .trim_start_matches("const ")
        .split([' ', '*', '@', '['])
        .next()
        .unwrap_or("");
    match base {
        "int" => Shape::Integer,
        "MPI_Aint" => Shape::Address,
        "MPI_Count" => Shape::Count,
        "MPI_Offset" => Shape::Offset,
        "char" => Shape::Text,
        "void" => Shape::Choice,
        "MPI_Status" => Shape::Status,
        handle => Shape::Handle(handle.to_string()),
    }
}

fn intent(function: &str, parameter: &Parameter, kind: &str) -> Intent {
    let reads = [
        "MPI_Buffer_attach",
        "MPI_Comm_attach_buffer",
        "MPI_Session_attach_buffer",
        "MPI_Free_mem",
        "MPI_Win_attach",
        "MPI_Win_create",
        "MPI_Win_detach",
        "MPI_Abi_set_fortran_booleans",
        "MPI_Precv_init",
    ];
    match kind {
        "buffer_out" if reads.contains(&function) => Intent::In,
        "buffer_out" if ["buffer", "inoutbuf"].contains(&parameter.name.as_str()) => Intent::InOut,
        "buffer_out" if function.ends_with("_replace") => Intent::InOut,
        "request_inout" if function == "MPI_Cancel" => Intent::In,
        "position" | "byte_position" => Intent::InOut,
        _ if kind.ends_with("_inout") => Intent::InOut,
        _ if kind.ends_with("_out") => Intent::Out,
        _ => Intent::In,
    }
}

fn dimensions(kind: &str, c: &str) -> Option<&'static str> {
    match kind {
        "ranges" => Some("3,*"),
        "weights" | "weights_out" | "statuses_out" => Some("*"),
        "raw(char**[])" => Some("count,*"),
        _ if c.contains("[]") => Some("*"),
        _ => None,
    }
}
