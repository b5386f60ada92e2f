//! Writes the entry points of the library: for every function of the table a `PMPI_X` with C linkage, its large twin, and the
//! weak names `MPI_X` that a tool can replace.
//!
//! An entry point decides nothing. It notes the call (name, form, and the object whose error handler is responsible), checks
//! the stage of the process, converts each parameter as its kind says ([`crate::kind`] is the page with all kinds and
//! the Rust types that they arrive as), calls the chapter, and runs the error handler if that failed:
//!
//! ```text
//! pub unsafe extern "C" fn PMPI_Send(buf: *const c_void, count: c_int, datatype: Handle, dest: c_int, tag: c_int, comm: Handle) -> c_int {
//!     let call = &Call::new("MPI_Send", Face::Int, Subject::Comm(comm));
//!     // SAFETY: the C program vouches for the memory that its arguments name.
//!     call.run(|| unsafe {
//!         let count = call.count("count", count as i64)?;
//!         let datatype = call.element("datatype", datatype, count == 0 || dest == constant::MPI_PROC_NULL)?;
//!         let comm = call.comm("comm", comm)?;
//!         chapter::point::send(call, buf, count, &datatype, dest, tag, &comm)
//!     })
//! }
//! alias!("MPI_Send");
//! ```
//!
//! So a chapter function is `pub fn send(call: &Call, buf: *const c_void, count: i64, datatype: &Type, dest: i32, tag: i32,
//! comm: &Communicator) -> Result<(), Failure>`: the call, then the parameters in the table's order. Parameters that only the
//! large form has are there too; in the `int` form they are 0, or swallow what is set. Functions marked `returns=` get
//! no call and return the value itself: `pub fn wtime() -> f64`.

use std::fmt::Write;

use crate::model::{Chapter, Face, Function, Parameter, Presence, Table};

/// Why generated code may follow pointers.
const VOUCHED: &str = "// SAFETY: the C program vouches for the memory that its arguments name.";

/// The Rust text of all entry points; `abi/src/generated.rs` includes it.
pub fn entries(table: &Table) -> String {
    let mut out = String::from("// Generated from abi/table/mpi5.table; edit that.\n");
    for chapter in &table.chapters {
        writeln!(out, "\n// {}: {}", chapter.name, chapter.about).unwrap();
        for function in &chapter.functions {
            for face in function.faces() {
                entry(&mut out, table, chapter, function, face);
            }
        }
    }
    out
}

/// A linker's version script that exports the weak names; the compiler exports the `PMPI_` ones by itself.
pub fn exported(table: &Table) -> String {
    let names: String = table
        .names()
        .iter()
        .map(|name| format!("    {name};\n"))
        .collect();
    format!("{{\n  global:\n{names}}};\n")
}

fn entry(out: &mut String, table: &Table, chapter: &Chapter, function: &Function, face: Face) {
    let name = function.c_name(face);
    let large = face == Face::Large;
    let parameters: Vec<String> = function
        .parameters_of(face)
        .map(|p| format!("{}: {}", p.name, p.kind.rust_type(large)))
        .collect();
    let returns = rust_return(function.returns.as_deref());
    writeln!(
        out,
        "\n#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn P{name}({}) -> {returns} {{",
        parameters.join(", ")
    )
    .unwrap();
    let body = match (&function.presence, &function.returns) {
        (Presence::Answer(code), _) => {
            format!("    Call::tool(\"{name}\").answer(constant::{code})")
        }
        (_, Some(_)) => plain(chapter, function),
        (Presence::Written, None) => written(table, chapter, function, face),
        (Presence::Later, None) => format!("{}\n    call.later()", note(function, face)),
        (Presence::Todo, None) => format!("{}\n    call.unfinished()", note(function, face)),
    };
    writeln!(out, "{body}\n}}\nalias!(\"{name}\");").unwrap();
}

/// A call of the chapter without checks, for functions that return a value.
fn plain(chapter: &Chapter, function: &Function) -> String {
    let arguments: Vec<&str> = function
        .parameters
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    let (module, name) = (&chapter.name, function.rust_name());
    format!("    chapter::{module}::{name}({})", arguments.join(", "))
}

/// Checks, conversions, and the call of the chapter.
fn written(table: &Table, chapter: &Chapter, function: &Function, face: Face) -> String {
    let mut lines = Vec::new();
    let mut arguments = vec!["call".to_string()];
    for parameter in &function.parameters {
        let name = &parameter.name;
        if parameter.large_only && face == Face::Int {
            let absent = parameter.kind.absent();
            lines.push(format!("let {name} = {absent};"));
        } else {
            let length = parameter
                .length
                .as_deref()
                .map(|l| length(table, function, l));
            let check = match needless(function, parameter) {
                Some(needless) => Some(format!("call.element(\"{name}\", {name}, {needless})?")),
                None => parameter.kind.check(name, &length.unwrap_or_default()),
            };
            lines.extend(check.map(|check| format!("let {name} = {check};")));
        }
        arguments.push(parameter.kind.pass(name));
    }
    let (module, name) = (&chapter.name, function.rust_name());
    let chapter_call = format!("chapter::{module}::{name}({})", arguments.join(", "));
    match tells_others(function) {
        Some(object) => {
            let names: Vec<&str> = function.parameters.iter().map(|p| &*p.name).collect();
            let names = names.join(", ");
            let checks = lines.join(" ");
            lines = vec![
                format!("let given = {object};"),
                format!("let checked = (|| {{ {checks} Ok(({names})) }})();"),
                format!(
                    "let refused = |failure| chapter::{module}::refused(call, given, failure);"
                ),
                format!("let ({names}) = checked.map_err(refused)?;"),
                chapter_call,
            ];
        }
        None => lines.push(chapter_call),
    }
    let run = match (function.tool, function.always) {
        (true, _) => "run_tool",
        (false, true) => "run_always",
        (false, false) => "run",
    };
    let body = lines
        .iter()
        .map(|line| format!("\n        {line}"))
        .collect::<String>();
    let quick = match function.quick {
        true => quick(chapter, function, face),
        false => String::new(),
    };
    let note = note(function, face);
    format!("{quick}{note}\n    {VOUCHED}\n    call.{run}(|| unsafe {{{body}\n    }})")
}

/// Asks the chapter for its short way, with the arguments as they came but for the width of counts.
/// It stands before everything else, because noting the call costs as much.
fn quick(chapter: &Chapter, function: &Function, face: Face) -> String {
    let arguments: Vec<String> = function
        .parameters
        .iter()
        .map(|p| match p.kind.name() {
            "count" | "count_if_used" => format!("{} as i64", p.name),
            _ => p.name.clone(),
        })
        .collect();
    let (module, name) = (&chapter.name, function.rust_name());
    let arguments = arguments.join(", ");
    let new = call_of(function, face);
    format!(
        "    {VOUCHED}\n    match unsafe {{ chapter::{module}::quick::{name}({arguments}) }} {{
        Some(Ok(())) => return constant::MPI_SUCCESS,
        Some(Err(failure)) => return {new}.fail(&failure),
        None => {{}}
    }}\n"
    )
}

/// For functions that all processes of a file call together and whose arguments can be refused on
/// one alone: the parameter that says who the others are. They must learn of it, or they wait.
fn tells_others(function: &Function) -> Option<&str> {
    let name = function.name.strip_prefix("MPI_File_")?;
    let is_access = name.contains("_all") || name.contains("_ordered");
    match name {
        "open" => Some("comm"),
        "set_view" => Some("fh"),
        _ if is_access && !name.ends_with("_end") => Some("fh"),
        _ => None,
    }
}

/// For the datatype of a buffer, the condition under which no element of it is touched, so that
/// MPI_DATATYPE_NULL does no harm: the count before it is 0, or all processes that the buffer is for
/// or from are MPI_PROC_NULL. These are the ranks up to the next buffer, or else all there are.
fn needless(function: &Function, parameter: &Parameter) -> Option<String> {
    let is_buffer = |p: &&Parameter| p.kind.name().starts_with("buffer_");
    if parameter.kind.name() != "datatype" || !function.parameters.iter().any(|p| is_buffer(&p)) {
        return None;
    }
    let place = function
        .parameters
        .iter()
        .position(|p| p.name == parameter.name)?;
    let (before, after) = function.parameters.split_at(place);
    let is_rank = |p: &&Parameter| p.kind.name() == "rank";
    let near = after.iter().take_while(|p| !is_buffer(p)).filter(is_rank);
    let mut ranks: Vec<&Parameter> = near.collect();
    if ranks.is_empty() {
        ranks = function.parameters.iter().filter(is_rank).collect();
    }
    let nobody = |rank: &&Parameter| format!("{} == constant::MPI_PROC_NULL", rank.name);
    let nobody = ranks.iter().map(nobody).collect::<Vec<_>>().join(" && ");
    let count = before.last().filter(|p| p.kind.name() == "count");
    let nothing = count.map(|count| format!("{} == 0", count.name));
    let conditions = nothing
        .into_iter()
        .chain((!nobody.is_empty()).then_some(nobody));
    let conditions = conditions.collect::<Vec<_>>().join(" || ");
    (!conditions.is_empty()).then_some(conditions)
}

/// The statements that note the call.
fn note(function: &Function, face: Face) -> String {
    let name = function.c_name(face);
    if function.tool {
        return format!("    let call = &Call::tool(\"{name}\");");
    }
    let (before, subject) = match subject(function) {
        read if read.starts_with("unsafe") => (
            format!("    {VOUCHED}\n    let subject = {read};\n"),
            "subject".into(),
        ),
        subject => (String::new(), subject),
    };
    format!("{before}    let call = &Call::new(\"{name}\", Face::{face:?}, {subject});")
}

/// The call with its object, for functions that get the object's handle itself.
fn call_of(function: &Function, face: Face) -> String {
    let (name, subject) = (function.c_name(face), subject(function));
    format!("Call::new(\"{name}\", Face::{face:?}, {subject})")
}

/// Whose error handler is responsible: the first communicator, window, file or session among the arguments; for functions of
/// files that get none the default handler of files; for functions that create from groups the handler given to them.
fn subject(function: &Function) -> String {
    if function.name.starts_with("MPI_File_") || function.name == "MPI_Register_datarep" {
        let file = function
            .parameters
            .iter()
            .find(|p| p.kind.rust_type(false) == "Handle" && is(p.kind.name(), "file"));
        return match file {
            Some(file) => format!("Subject::File({})", file.name),
            None => "Subject::File(constant::MPI_FILE_NULL)".into(),
        };
    }
    for (word, variant) in [
        ("comm", "Comm"),
        ("win", "Win"),
        ("session", "Session"),
        ("errhandler", "Errhandler"),
    ] {
        for parameter in &function.parameters {
            let name = &parameter.name;
            match parameter.kind.name().strip_prefix(word) {
                Some("" | "_or_null") => return format!("Subject::{variant}({name})"),
                Some("_inout") if word != "errhandler" => {
                    return format!("unsafe {{ Subject::at(Subject::{variant}, {name}) }}");
                }
                _ => {}
            }
        }
    }
    "Subject::Nothing".into()
}

fn is(kind: &str, word: &str) -> bool {
    kind.strip_prefix(word)
        .is_some_and(|rest| rest.is_empty() || rest == "_or_null")
}

/// The Rust expression of a length: another parameter, or a constant; `+1` is the final zero of a text.
fn length(table: &Table, function: &Function, length: &str) -> String {
    let (name, more) = match length.strip_suffix("+1") {
        Some(name) => (name, " + 1"),
        None => (length, ""),
    };
    if table.integers.iter().any(|constant| constant.name == name) {
        return format!("constant::{name} as usize{more}");
    }
    let of = function.parameters.iter().find(|p| p.name == name);
    let of = of.expect("the parser has checked lengths");
    format!("{}{more}", of.kind.as_length(name))
}

fn rust_return(c: Option<&str>) -> &str {
    match c {
        None | Some("int") => "c_int",
        Some("double") => "f64",
        Some("MPI_Aint") => "i64",
        Some(_) => "Handle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_reads_as_the_page_says() {
        let table = Table::parse(
            "chapter point\nMPI_Send  large\n    buf:buffer_in count datatype dest:rank tag comm\n",
        )
        .unwrap();
        let text = entries(&table);
        let send = "\
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn PMPI_Send_c(buf: *const c_void, count: i64, datatype: Handle, dest: c_int, tag: c_int, comm: Handle) -> c_int {
    let call = &Call::new(\"MPI_Send_c\", Face::Large, Subject::Comm(comm));
    // SAFETY: the C program vouches for the memory that its arguments name.
    call.run(|| unsafe {
        let count = call.count(\"count\", count as i64)?;
        let datatype = call.element(\"datatype\", datatype, count == 0 || dest == constant::MPI_PROC_NULL)?;
        let comm = call.comm(\"comm\", comm)?;
        chapter::point::send(call, buf, count, &datatype, dest, tag, &comm)
    })
}
alias!(\"MPI_Send_c\");
";
        assert!(text.contains(send), "{text}");
    }

    #[test]
    fn a_short_way_is_asked_first() {
        let table = Table::parse("chapter window\nMPI_Win_flush  quick\n    rank win\n").unwrap();
        let text = entries(&table);
        let flush = "\
pub unsafe extern \"C\" fn PMPI_Win_flush(rank: c_int, win: Handle) -> c_int {
    // SAFETY: the C program vouches for the memory that its arguments name.
    match unsafe { chapter::window::quick::win_flush(rank, win) } {
        Some(Ok(())) => return constant::MPI_SUCCESS,
        Some(Err(failure)) => return Call::new(\"MPI_Win_flush\", Face::Int, Subject::Win(win)).fail(&failure),
        None => {}
    }
    let call = &Call::new(\"MPI_Win_flush\", Face::Int, Subject::Win(win));
";
        assert!(text.contains(flush), "{text}");
    }

    #[test]
    fn a_datatype_is_needless_where_nothing_of_it_moves() {
        let table = Table::mpi5();
        let of = |name: &str, parameter: &str| {
            let function = table.functions().find(|f| f.name == name).unwrap();
            let found = function.parameters.iter().find(|p| p.name == parameter);
            needless(function, found.unwrap()).map(|text| text.replace("constant::MPI_", ""))
        };
        let is = |text: &str| Some(text.to_string());
        assert_eq!(
            of("MPI_Sendrecv", "sendtype"),
            is("sendcount == 0 || dest == PROC_NULL")
        );
        assert_eq!(
            of("MPI_Sendrecv", "recvtype"),
            is("recvcount == 0 || source == PROC_NULL")
        );
        assert_eq!(
            of("MPI_Sendrecv_replace", "datatype"),
            is("count == 0 || dest == PROC_NULL && source == PROC_NULL")
        );
        assert_eq!(
            of("MPI_Put", "target_datatype"),
            is("target_count == 0 || target_rank == PROC_NULL")
        );
        assert_eq!(
            of("MPI_Fetch_and_op", "datatype"),
            is("target_rank == PROC_NULL")
        );
        assert_eq!(of("MPI_File_read", "datatype"), is("count == 0"));
        assert_eq!(of("MPI_Type_size", "datatype"), None);
        assert_eq!(of("MPI_Type_contiguous", "oldtype"), None);
    }

    #[test]
    fn the_responsible_object_is_found() {
        let table = Table::mpi5();
        let of = |name: &str| subject(table.functions().find(|f| f.name == name).unwrap());
        assert_eq!(of("MPI_Send"), "Subject::Comm(comm)");
        assert_eq!(
            of("MPI_Comm_free"),
            "unsafe { Subject::at(Subject::Comm, comm) }"
        );
        assert_eq!(
            of("MPI_File_open"),
            "Subject::File(constant::MPI_FILE_NULL)"
        );
        assert_eq!(of("MPI_File_read"), "Subject::File(fh)");
        assert_eq!(of("MPI_Session_init"), "Subject::Errhandler(errhandler)");
        assert_eq!(of("MPI_Wait"), "Subject::Nothing");
    }
}
