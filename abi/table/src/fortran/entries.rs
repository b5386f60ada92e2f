//! Writes the entry points of libmpifort_abi: for every procedure the code that turns Fortran's
//! arguments into C's, calls the C function, and turns its results back.
//!
//! ```text
//! #[unsafe(no_mangle)]
//! pub unsafe extern "C" fn mpi_comm_rank_(comm: *mut c_int, rank: *mut c_int, ierror: *mut c_int) {
//!     // SAFETY: the Fortran program vouches for its arguments.
//!     unsafe {
//!         let comm_c = handle::comm(*comm);
//!         let code = c::MPI_Comm_rank(comm_c, rank);
//!         give(ierror, code);
//!     }
//! }
//! ```
//!
//! `mpi_x_` calls `MPI_X` and `pmpi_x_` calls `PMPI_X`, so that a tool written in C sees the calls
//! of Fortran programs too. Where arguments mean more than their types say (callbacks, attributes,
//! lists of texts), the function is written by hand in `fortran/src/hand` and gets them as they
//! come.

use std::fmt::Write;

use super::dummy::is_left_out;
use super::{LARGE_ALONE, Procedure, procedures, procedures_f08};
use crate::kind::HANDLES;
use crate::model::{Face, Function, Parameter, Table};

/// The functions that are written by hand.
const HAND: [&str; 24] = [
    "MPI_Comm_create_keyval",
    "MPI_Type_create_keyval",
    "MPI_Win_create_keyval",
    "MPI_Keyval_create",
    "MPI_Comm_get_attr",
    "MPI_Type_get_attr",
    "MPI_Win_get_attr",
    "MPI_Attr_get",
    "MPI_Comm_set_attr",
    "MPI_Type_set_attr",
    "MPI_Win_set_attr",
    "MPI_Attr_put",
    "MPI_Comm_create_errhandler",
    "MPI_File_create_errhandler",
    "MPI_Win_create_errhandler",
    "MPI_Session_create_errhandler",
    "MPI_Op_create",
    "MPI_Grequest_start",
    "MPI_Register_datarep",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Info_get_string",
    "MPI_Session_get_nth_pset",
    "MPI_Abi_set_fortran_booleans",
];

/// Functions that give places in an array, which Fortran counts from 1.
const PLACES: [&str; 6] = [
    "MPI_Waitany",
    "MPI_Testany",
    "MPI_Request_get_status_any",
    "MPI_Waitsome",
    "MPI_Testsome",
    "MPI_Request_get_status_some",
];

/// Functions that mean the memory itself and not what lies in it: a descriptor's address is enough.
const PLACE_ALONE: [&str; 8] = [
    "MPI_Get_address",
    "MPI_Free_mem",
    "MPI_Win_attach",
    "MPI_Win_create",
    "MPI_Win_detach",
    "MPI_Buffer_attach",
    "MPI_Comm_attach_buffer",
    "MPI_Session_attach_buffer",
];

/// The declarations of the C functions, for an `extern` block.
pub fn fortran_externs(table: &Table) -> String {
    let mut out = String::from(
        "// Generated from abi/table/mpi5.table; edit that.\n\nunsafe extern \"C\" {\n",
    );
    for function in table.functions() {
        for face in function.faces() {
            if face == Face::Large && LARGE_ALONE.contains(&function.name.as_str()) {
                continue;
            }
            out.push_str(&declaration(function, face, ""));
            out.push_str(&declaration(function, face, "P"));
        }
    }
    out.push_str("}\n");
    out
}

/// The entry points.
pub fn fortran_entries(table: &Table) -> String {
    let mut out = String::from("// Generated from abi/table/mpi5.table; edit that.\n");
    for prefix in ["", "P"] {
        for procedure in procedures(table) {
            entry(&mut out, &procedure, prefix);
        }
        for procedure in procedures_f08(table).iter().filter(|p| !p.shares_code()) {
            entry(&mut out, procedure, prefix);
        }
    }
    for (name, of) in aliases(table) {
        writeln!(out, "\nalias!(\"{name}\", \"{of}\");").expect("a String takes it");
    }
    out
}

/// Second names: name, and the entry point it stands for. Those of mpi_f08 without choice buffers,
/// those of module mpi with choice buffers, and those of module mpi that give a C_PTR.
fn aliases(table: &Table) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for prefix in ["", "P"] {
        for procedure in procedures_f08(table).iter().filter(|p| p.shares_code()) {
            let of = symbol(
                &Procedure {
                    f08: false,
                    ..*procedure
                },
                prefix,
            );
            found.push((symbol(procedure, prefix), of));
        }
        for procedure in procedures(table) {
            if let Some(name) = procedure.specific_with_descriptors() {
                let of = Procedure {
                    f08: true,
                    ..procedure
                };
                let name = format!("{prefix}{name}_").to_lowercase();
                found.push((name, symbol(&of, prefix)));
            }
            if procedure
                .function
                .parameters
                .iter()
                .any(|p| p.name == "baseptr")
            {
                let of = symbol(&procedure, prefix);
                found.push((format!("{of}cptr_"), of));
            }
        }
    }
    found
}

/// A linker's version script for the names that the assembler makes.
pub fn fortran_exported(table: &Table) -> String {
    let names: String = aliases(table)
        .iter()
        .map(|(name, _)| format!("    {name};\n"))
        .collect();
    format!("{{\n  global:\n{names}}};\n")
}

fn symbol(procedure: &Procedure<'_>, prefix: &str) -> String {
    format!("{prefix}{}_", procedure.specific()).to_lowercase()
}

fn declaration(function: &Function, face: Face, prefix: &str) -> String {
    let parameters: Vec<String> = function
        .parameters_of(face)
        .map(|p| format!("{}: {}", p.name, p.kind.rust_type(face == Face::Large)))
        .collect();
    let more = if function.variadic { ", ..." } else { "" };
    let returns = match function.returns.as_deref() {
        None | Some("int") => "c_int",
        Some("double") => "f64",
        Some("MPI_Aint") => "i64",
        Some(_) => "Handle",
    };
    let (name, parameters) = (function.c_name(face), parameters.join(", "));
    format!("    pub fn {prefix}{name}({parameters}{more}) -> {returns};\n")
}

/// How one argument is treated.
#[derive(Default)]
struct Treatment {
    /// The Rust type of the entry point's parameter; empty if Fortran does not pass it.
    arrives: String,
    /// Statements before the call.
    before: String,
    /// What C gets.
    passed: String,
    /// Statements after the call.
    after: String,
    /// Whether a hidden length follows the arguments.
    has_length: bool,
}

fn entry(out: &mut String, procedure: &Procedure<'_>, prefix: &str) {
    let function = procedure.function;
    let treated: Vec<(&Parameter, Treatment)> = function
        .parameters_of(procedure.face)
        .map(|p| (p, treatment(procedure, p)))
        .collect();
    let mut signature = Vec::new();
    let mut lengths = Vec::new();
    for (p, t) in treated.iter().filter(|(_, t)| !t.arrives.is_empty()) {
        signature.push(format!("{}: {}", p.name, t.arrives));
        if t.has_length {
            lengths.push(format!("{}_length: usize", p.name));
        }
    }
    if procedure.has_ierror() {
        signature.push("ierror: *mut c_int".into());
    }
    signature.extend(lengths.iter().cloned());
    let returns = match function.returns.as_deref() {
        None => "",
        Some("double") => " -> f64",
        Some(_) => " -> i64",
    };
    // Libraries differ in these, so they are looked for when they are called.
    let is_looked_for = LARGE_ALONE.contains(&function.name.as_str());
    let module = if is_looked_for { "partitioned" } else { "c" };
    let c_name = format!("{module}::{prefix}{}", function.c_name(procedure.face));
    let arguments = |of: Vec<String>| of.join(", ");
    let mut body = String::new();
    let mut line = |text: &str| {
        if !text.is_empty() {
            writeln!(body, "        {text}").expect("a String takes it");
        }
    };
    if HAND.contains(&function.name.as_str()) {
        let mut names: Vec<String> = treated.iter().map(|(p, _)| p.name.clone()).collect();
        names.extend(
            treated
                .iter()
                .filter(|(_, t)| t.has_length)
                .map(|(p, _)| format!("{}_length", p.name)),
        );
        let (large, profiled) = (procedure.face == Face::Large, prefix == "P");
        let form = if function.large {
            format!("{large}, ")
        } else {
            String::new()
        };
        let name = function.rust_name();
        line(&format!(
            "let code = hand::{name}::<{form}{profiled}>({});",
            arguments(names)
        ));
        line("give(ierror, code);");
    } else {
        let staged = procedure.has_descriptors();
        if staged {
            line("let mut staged = Staged::new();");
        }
        treated.iter().for_each(|(_, t)| line(&t.before));
        let passed = arguments(treated.iter().map(|(_, t)| t.passed.clone()).collect());
        match function.returns {
            Some(_) => line(&format!("{c_name}({passed})")),
            None => {
                line(before_all(function));
                line(&format!("let code = {c_name}({passed});"));
                treated.iter().for_each(|(_, t)| line(&t.after));
                line(after_all(procedure, staged));
                if procedure.has_ierror() {
                    line("give(ierror, code);");
                }
            }
        }
    }
    writeln!(
        out,
        "\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {}({}){returns} {{\n    \
         // SAFETY: the Fortran program vouches for its arguments.\n    unsafe {{\n{body}    }}\n}}",
        symbol(procedure, prefix),
        signature.join(", ")
    )
    .expect("a String takes it");
}

/// What is done with requests before C uses them: copies of sections are filled at a start.
fn before_all(function: &Function) -> &'static str {
    match function.name.as_str() {
        "MPI_Request_free" => "let is_over = is_over(*request);",
        "MPI_Start" => "persistent::start(request, 1);",
        "MPI_Startall" => "persistent::start(array_of_requests, *count);",
        "MPI_Pready" => "persistent::ready(*request, *partition, *partition);",
        "MPI_Pready_range" => "persistent::ready(*request, *partition_low, *partition_high);",
        "MPI_Pready_list" => "persistent::ready_list(*request, array_of_partitions, *length);",
        _ => "",
    }
}

/// What is done once all results are there.
fn after_all(procedure: &Procedure<'_>, staged: bool) -> &'static str {
    let name = procedure.function.name.as_str();
    let has_request = procedure
        .function
        .parameters
        .iter()
        .any(|p| p.kind.name() == "request_out");
    match name {
        "MPI_Init" | "MPI_Init_thread" => "logical::agree();",
        "MPI_Parrived" => {
            "if code == 0 && flag_c != 0 { persistent::arrived(*request, *partition); }"
        }
        "MPI_Request_get_status" => "persistent::look(request, 1);",
        "MPI_Request_get_status_all" | "MPI_Request_get_status_any" => {
            "persistent::look(array_of_requests, *count);"
        }
        "MPI_Request_get_status_some" => "persistent::look(array_of_requests, *incount);",
        _ if staged && LARGE_ALONE.contains(&name) => {
            "staged.persist_partitions(code, *request, *partitions, *count, datatype_c);"
        }
        _ if staged && name.ends_with("_init") => "staged.persist(code, *request);",
        _ if staged && has_request => "staged.keep(code, *request);",
        _ if staged => "staged.finish(code);",
        _ => "",
    }
}

fn treatment(procedure: &Procedure<'_>, parameter: &Parameter) -> Treatment {
    let function = procedure.function.name.as_str();
    let large = procedure.face == Face::Large;
    let p = parameter.name.as_str();
    let kind = parameter.kind.name().trim_end_matches("[]");
    let c_type = parameter.kind.rust_type(large);
    let local = format!("{p}_c");
    let plain = |arrives: &str, passed: String| Treatment {
        arrives: arrives.into(),
        passed,
        ..Treatment::default()
    };
    if is_left_out(function, parameter) {
        let nothing = if c_type == "c_int" {
            "0"
        } else {
            "std::ptr::null_mut()"
        };
        return plain("", nothing.into());
    }
    if let Some(treatment) = handles(procedure, parameter, kind) {
        return treatment;
    }
    match kind {
        "attribute" | "extra_state" => plain("*mut c_void", p.into()),
        "flag_out" => Treatment {
            before: format!("let mut {local}: c_int = 0;"),
            after: format!("if code == 0 {{ *{p} = logical::give({local} != 0); }}"),
            ..plain("*mut c_int", format!("&mut {local}"))
        },
        "logical" => plain("*mut c_int", format!("c_int::from(logical::take(*{p}))")),
        "logicals" | "logicals_out" => {
            let length = match (&parameter.length, function) {
                (Some(length), _) => format!("*{length}"),
                (None, _) => "dimensions(comm_c)".to_string(),
            };
            Treatment {
                before: format!("let mut {local} = Logicals::new({p}, {length});"),
                after: match kind {
                    "logicals_out" => format!("if code == 0 {{ {local}.give({p}); }}"),
                    _ => String::new(),
                },
                ..plain("*mut c_int", format!("{local}.as_mut_ptr()"))
            }
        }
        "status_out" | "statuses_out" => plain("*mut Status", format!("sentinel::status({p})")),
        "status" | "status_inout" => plain("*mut Status", p.into()),
        "weights" => plain("*mut c_int", format!("sentinel::weights({p})")),
        "string" | "key" | "value" => {
            let trim = if kind == "string" {
                "Trim::End"
            } else {
                "Trim::Both"
            };
            let (arrives, from) = match procedure.has_descriptors() {
                true => (
                    "*const Descriptor",
                    format!("(*{p}).text().0, (*{p}).text().1"),
                ),
                false => ("*mut c_char", format!("{p}, {p}_length")),
            };
            Treatment {
                before: format!("let {local} = TextIn::new({from}, {trim});"),
                has_length: !procedure.has_descriptors(),
                ..plain(arrives, format!("{local}.as_ptr()"))
            }
        }
        "text_out" => {
            let length = parameter
                .length
                .as_deref()
                .unwrap_or("MPI_MAX_ERROR_STRING");
            let length = match length.strip_suffix("+1") {
                Some(of) => format!("(*{of}).max(0) as usize + 1"),
                None => format!("constant::{length} as usize"),
            };
            let when = match function {
                "MPI_Info_get" => "code == 0 && flag_c != 0",
                _ => "code == 0",
            };
            Treatment {
                before: format!("let mut {local} = TextOut::new({length});"),
                after: format!("if {when} {{ {local}.give({p}, {p}_length); }}"),
                has_length: true,
                ..plain("*mut c_char", format!("{local}.as_mut_ptr()"))
            }
        }
        "raw(char*[])" | "raw(char**[])" => Treatment {
            has_length: true,
            ..plain("*mut c_char", String::new())
        },
        "buffer_in" | "buffer_out" if p.starts_with("logical_") => plain("*mut c_void", p.into()),
        "buffer_in" | "buffer_out" => buffer(procedure, parameter),
        "pointer_out" if p == "buffer_addr" && !procedure.f08 => Treatment {
            before: format!("let mut {local}: *mut c_void = std::ptr::null_mut();"),
            ..plain("*mut c_void", format!("(&raw mut {local}).cast()"))
        },
        "integer_out" if PLACES.contains(&function) && p == "indx" => Treatment {
            after: format!("place({p});"),
            ..plain(c_type, p.into())
        },
        "integers_out" if PLACES.contains(&function) => Treatment {
            after: format!("places({p}, *outcount, code);"),
            ..plain(c_type, p.into())
        },
        _ if kind.starts_with("MPI_") => plain("*const c_void", p.into()),
        _ if !c_type.starts_with('*') => match becomes_message(procedure, parameter) {
            true => Treatment {
                ..plain(&format!("*const {c_type}"), local)
            },
            false => plain(&format!("*const {c_type}"), format!("*{p}")),
        },
        _ => plain(c_type, p.into()),
    }
}

/// Handles, alone and in arrays.
fn handles(procedure: &Procedure<'_>, parameter: &Parameter, kind: &str) -> Option<Treatment> {
    let p = parameter.name.as_str();
    let local = format!("{p}_c");
    let array = match kind {
        "raw(const~MPI_Info[])" => {
            return Some(Treatment {
                arrives: "*mut c_int".into(),
                ..Treatment::default()
            });
        }
        "datatypes" | "datatypes_out" => Some("datatype"),
        "requests" | "requests_inout" => Some("request"),
        _ => None,
    };
    if let Some(word) = array {
        let length = match &parameter.length {
            Some(length) => format!("*{length} as i64"),
            None => counterparts(procedure, p),
        };
        let (before, after) = match kind {
            "datatypes_out" => (
                format!("let mut {local} = Handles::empty({length});"),
                format!("if code == 0 {{ {local}.give({p}, handle::{word}_out); }}"),
            ),
            "requests_inout" => (
                format!("let mut {local} = Handles::new({p}, {length}, handle::{word});"),
                format!("{local}.give_requests({p});"),
            ),
            _ if procedure
                .function
                .parameters
                .iter()
                .any(|q| q.kind.name() == "request_out") =>
            {
                (
                    format!("let mut {local} = Handles::lasting({p}, {length}, handle::{word});"),
                    format!("{local}.keep(code, *request);"),
                )
            }
            _ => (
                format!("let mut {local} = Handles::new({p}, {length}, handle::{word});"),
                String::new(),
            ),
        };
        return Some(Treatment {
            arrives: "*mut c_int".into(),
            before,
            passed: format!("{local}.as_mut_ptr()"),
            after,
            has_length: false,
        });
    }
    let (word, rest) = HANDLES.iter().find_map(|(word, ..)| {
        let rest = kind.strip_prefix(word)?;
        (rest.is_empty() || rest.starts_with('_')).then_some((*word, rest))
    })?;
    let null = "0 as Handle";
    let (before, passed, after) = match rest {
        "_out" => (
            format!("let mut {local}: Handle = {null};"),
            format!("&mut {local}"),
            format!("if code == 0 {{ *{p} = handle::{word}_out({local}); }}"),
        ),
        "_inout" => {
            let (done, more) = match (word, procedure.function.name.as_str()) {
                ("request", "MPI_Request_free") => ("freed", ", is_over"),
                ("request", _) => ("completed", ""),
                _ => ("changed", ""),
            };
            (
                format!("let mut {local} = handle::{word}(*{p});"),
                format!("&mut {local}"),
                format!("{done}({p}, handle::{word}_out({local}){more});"),
            )
        }
        _ if becomes_message(procedure, parameter) => (String::new(), local.clone(), String::new()),
        _ => (
            format!("let {local} = handle::{word}(*{p});"),
            local.clone(),
            String::new(),
        ),
    };
    Some(Treatment {
        arrives: "*mut c_int".into(),
        before,
        passed,
        after,
        has_length: false,
    })
}

/// How many datatypes a list has whose length is the number of processes at the other end.
fn counterparts(procedure: &Procedure<'_>, name: &str) -> String {
    let way = match (procedure.chapter.name.as_str(), name) {
        ("neighbor", "sendtypes") => "Destinations",
        ("neighbor", _) => "Sources",
        _ => "Members",
    };
    format!("counterparts(handle::comm(*comm), Counterparts::{way})")
}

/// Memory of any type.
fn buffer(procedure: &Procedure<'_>, parameter: &Parameter) -> Treatment {
    let p = parameter.name.as_str();
    let local = format!("{p}_c");
    let function = procedure.function.name.as_str();
    if !procedure.f08 {
        return Treatment {
            arrives: "*mut c_void".into(),
            passed: format!("sentinel::buffer({p})"),
            ..Treatment::default()
        };
    }
    let place_alone = PLACE_ALONE.contains(&function) || function.ends_with("_end");
    let before = if let Some((count, datatype)) = message(procedure, parameter) {
        let (count, datatype) = (&count.name, &datatype.name);
        let returns = parameter.kind.name() != "buffer_in";
        format!(
            "let mut {count}_c = *{count};\n        let mut {datatype}_c = \
             handle::datatype(*{datatype});\n        let {local} = \
             staged.message({p}, &mut {count}_c, &mut {datatype}_c, {returns});"
        )
    } else if place_alone {
        format!("let {local} = sentinel::buffer((*{p}).base);")
    } else if parameter.kind.name() == "buffer_in" {
        format!("let {local} = staged.input({p});")
    } else {
        format!("let {local} = staged.output({p});")
    };
    Treatment {
        arrives: "*const Descriptor".into(),
        before,
        passed: local,
        ..Treatment::default()
    }
}

/// The count and the datatype of a buffer that holds one message: a section of an array is then
/// described by a datatype of its own, and nothing is copied.
fn message<'a>(
    procedure: &Procedure<'a>,
    buffer: &Parameter,
) -> Option<(&'a Parameter, &'a Parameter)> {
    let chapters = ["point", "file", "window"];
    if !procedure.has_descriptors() || !chapters.contains(&procedure.chapter.name.as_str()) {
        return None;
    }
    let parameters = &procedure.function.parameters;
    let at = parameters.iter().position(|p| std::ptr::eq(p, buffer))?;
    let (count, datatype) = (parameters.get(at + 1)?, parameters.get(at + 2)?);
    let fits = count.kind.name().starts_with("count") && datatype.kind.name() == "datatype";
    fits.then_some((count, datatype))
}

/// Whether a parameter is the count or the datatype of such a message.
fn becomes_message(procedure: &Procedure<'_>, parameter: &Parameter) -> bool {
    procedure.function.parameters.iter().any(|buffer| {
        buffer.kind.name().starts_with("buffer_")
            && message(procedure, buffer).is_some_and(|(count, datatype)| {
                std::ptr::eq(count, parameter) || std::ptr::eq(datatype, parameter)
            })
    })
}
