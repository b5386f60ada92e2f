//! The kinds of parameters: what each is in C, what is checked before the chapter sees it, and the Rust type it arrives as.
//!
//! This is the page to read before writing a chapter function. A row is a kind; `@` stands for the parameter's name in C, `{p}`
//! for it in Rust and `{l}` for the length in brackets. A kind whose name ends in `[]` is the one used with a length. Two C
//! types mean `int` form and large form; the chapter cannot tell them apart unless it asks `call.is_large()`.
//! Checks are methods of `Call` (abi/src/check.rs), types without a path are in abi/src/argument.rs.
//!
//! Handles have kinds of a common pattern, shown for communicators (`comm`); the others are `group`, `datatype`, `op`, `info`,
//! `errhandler`, `request`, `message`, `session`, `win` and `file`:
//!
//! | kind | in C | arrives as | checked |
//! |---|---|---|---|
//! | `comm` | `MPI_Comm comm` | `&Communicator` | names a living object, else MPI_ERR_COMM |
//! | `comm_or_null` | `MPI_Comm comm` | `Option<&Communicator>` | MPI_COMM_NULL is `None` |
//! | `comm_value` | `MPI_Comm comm` | `Handle` | nothing |
//! | `datatype_if_used` | `MPI_Datatype type` | `Handle` | nothing: MPI_IN_PLACE or not being root may mean it is never used |
//! | `comm_out` | `MPI_Comm *comm` | `Out<Handle>` | not null |
//! | `comm_inout` | `MPI_Comm *comm` | `InOut<Handle>` | not null; the chapter looks it up |
//!
//! The `datatype` of a buffer may be MPI_DATATYPE_NULL where nothing of the buffer is touched: the count before it is 0, or it is
//! for MPI_PROC_NULL (entries.rs finds both). Then a datatype that fits nothing arrives in its place.

/// What a parameter is.
#[derive(Debug, Clone)]
pub struct Kind {
    name: String,
    c: [String; 2],
    rust: [String; 2],
    check: String,
    pass: String,
    arrives: String,
}

/// Handle kinds: the word in kinds, the C type, the Rust type of the object.
pub const HANDLES: [(&str, &str, &str); 11] = [
    ("comm", "MPI_Comm", "Communicator"),
    ("group", "MPI_Group", "Group"),
    ("datatype", "MPI_Datatype", "Type"),
    ("op", "MPI_Op", "Op"),
    ("info", "MPI_Info", "Info"),
    ("errhandler", "MPI_Errhandler", "Errhandler"),
    ("request", "MPI_Request", "Request"),
    ("message", "MPI_Message", "Message"),
    ("session", "MPI_Session", "Session"),
    ("win", "MPI_Win", "Window"),
    ("file", "MPI_File", "File"),
];

/// Name, C type, large C type, Rust type at the border, the same in the large form, check, type of arrival.
type Row = [&'static str; 7];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Numbers. `count` is not negative (MPI_ERR_COUNT), `size`, `byte_size` and `length` neither (MPI_ERR_ARG), `dimensions`
    // neither (MPI_ERR_DIMS); ranks, roots and tags are checked by the layer that knows the communicator.
    ["count", "int @", "MPI_Count @", "c_int", "i64", "call.count(\"{p}\", {p} as i64)?", "i64"],
    ["count_if_used", "int @", "MPI_Count @", "c_int", "i64", "{p} as i64", "i64"],
    ["size", "int @", "MPI_Count @", "c_int", "i64", "call.size(\"{p}\", {p} as i64)?", "i64"],
    ["byte_size", "MPI_Aint @", "MPI_Count @", "i64", "i64", "call.size(\"{p}\", {p})?", "i64"],
    ["memory_size", "MPI_Aint @", "", "i64", "", "call.size(\"{p}\", {p})?", "i64"],
    ["stride", "int @", "MPI_Count @", "c_int", "i64", "{p} as i64", "i64"],
    ["byte_stride", "MPI_Aint @", "MPI_Count @", "i64", "i64", "", "i64"],
    ["unit", "int @", "MPI_Aint @", "c_int", "i64", "{p} as i64", "i64"],
    ["length", "int @", "", "c_int", "", "call.length(\"{p}\", {p})?", "usize"],
    ["dimensions", "int @", "", "c_int", "", "call.dimensions(\"{p}\", {p})?", "usize"],
    ["integer", "int @", "", "c_int", "", "", "i32"],
    ["rank", "int @", "", "c_int", "", "", "i32"],
    ["root", "int @", "", "c_int", "", "", "i32"],
    ["tag", "int @", "", "c_int", "", "", "i32"],
    ["address", "MPI_Aint @", "", "i64", "", "", "i64"],
    ["offset", "MPI_Offset @", "", "i64", "", "", "i64"],
    ["wide", "MPI_Count @", "", "i64", "", "", "i64"],
    // Results; a null pointer is MPI_ERR_ARG. A value that an `int` cannot hold becomes MPI_UNDEFINED in a `CountOut`.
    ["integer_out", "int *@", "", "*mut c_int", "", "call.out(\"{p}\", {p})?", "Out<i32>"],
    ["integer_inout", "int *@", "", "*mut c_int", "", "call.inout(\"{p}\", {p})?", "InOut<i32>"],
    ["flag_out", "int *@", "", "*mut c_int", "", "call.flag_out(\"{p}\", {p})?", "FlagOut"],
    ["count_out", "int *@", "MPI_Count *@", "*mut c_int", "*mut i64", "call.count_out(\"{p}\", {p})?", "CountOut"],
    ["unit_out", "int *@", "MPI_Aint *@", "*mut c_int", "*mut i64", "call.count_out(\"{p}\", {p})?", "CountOut"],
    ["extent_out", "MPI_Aint *@", "MPI_Count *@", "*mut i64", "*mut i64", "call.out(\"{p}\", {p})?", "Out<i64>"],
    ["address_out", "MPI_Aint *@", "", "*mut i64", "", "call.out(\"{p}\", {p})?", "Out<i64>"],
    ["offset_out", "MPI_Offset *@", "", "*mut i64", "", "call.out(\"{p}\", {p})?", "Out<i64>"],
    ["wide_out", "MPI_Count *@", "", "*mut i64", "", "call.out(\"{p}\", {p})?", "Out<i64>"],
    ["pointer_out", "void *@", "", "*mut c_void", "", "call.out(\"{p}\", {p}.cast::<*mut c_void>())?", "Out<*mut c_void>"],
    ["position", "int *@", "MPI_Count *@", "*mut c_int", "*mut i64", "call.position(\"{p}\", {p})?", "Position"],
    ["byte_position", "MPI_Aint *@", "MPI_Count *@", "*mut i64", "*mut i64", "call.position(\"{p}\", {p})?", "Position"],
    // Arrays. With a length they may be null only if it is 0 (MPI_ERR_ARG otherwise); without one, the chapter knows how
    // long they are, and `get` beyond that is the chapter's mistake.
    ["integers[]", "const int @[]", "", "*const c_int", "", "call.slice(\"{p}\", {p}, {l})?", "&[i32]"],
    ["integers_inout[]", "int @[]", "", "*mut c_int", "", "call.slice_mut(\"{p}\", {p}, {l})?", "&mut [i32]"],
    ["ranges[]", "int @[][3]", "", "*mut [c_int; 3]", "", "call.slice(\"{p}\", {p}.cast_const(), {l})?", "&[[i32; 3]]"],
    ["integers", "const int @[]", "", "*const c_int", "", "Integers::unbounded({p})", "Integers"],
    // What is LOGICAL in Fortran; in C it is an `int` like any other.
    ["logical", "int @", "", "c_int", "", "", "i32"],
    ["logicals", "const int @[]", "", "*const c_int", "", "Integers::unbounded({p})", "Integers"],
    ["logicals[]", "const int @[]", "", "*const c_int", "", "call.slice(\"{p}\", {p}, {l})?", "&[i32]"],
    ["logicals_out[]", "int @[]", "", "*mut c_int", "", "call.integers_out(\"{p}\", {p}, {l})?", "IntegersOut"],
    ["weights", "const int *@", "", "*const c_int", "", "Weights::new({p})", "Weights"],
    ["counts", "const int @[]", "const MPI_Count @[]", "*const c_int", "*const i64", "Integers::unbounded({p})", "Integers"],
    ["counts[]", "const int @[]", "const MPI_Count @[]", "*const c_int", "*const i64", "call.integers(\"{p}\", {p}, {l})?", "Integers"],
    ["displacements", "const int @[]", "const MPI_Aint @[]", "*const c_int", "*const i64", "Integers::unbounded({p})", "Integers"],
    ["byte_displacements[]", "const MPI_Aint @[]", "const MPI_Count @[]", "*const i64", "*const i64", "call.integers(\"{p}\", {p}, {l})?", "Integers"],
    ["addresses", "const MPI_Aint @[]", "", "*const i64", "", "Integers::unbounded({p})", "Integers"],
    ["integers_out", "int @[]", "", "*mut c_int", "", "IntegersOut::unbounded({p})", "IntegersOut"],
    ["integers_out[]", "int @[]", "", "*mut c_int", "", "call.integers_out(\"{p}\", {p}, {l})?", "IntegersOut"],
    ["weights_out[]", "int *@", "", "*mut c_int", "", "call.weights_out(\"{p}\", {p}, {l})?", "IntegersOut"],
    ["addresses_out[]", "MPI_Aint @[]", "", "*mut i64", "", "call.integers_out(\"{p}\", {p}, {l})?", "IntegersOut"],
    ["wides_out[]", "MPI_Count @[]", "", "*mut i64", "", "call.integers_out(\"{p}\", {p}, {l})?", "IntegersOut"],
    ["datatypes", "const MPI_Datatype @[]", "", "*const Handle", "", "Datatypes::unbounded(\"{p}\", {p})", "Datatypes"],
    ["datatypes[]", "const MPI_Datatype @[]", "", "*const Handle", "", "call.datatypes(\"{p}\", {p}, {l})?", "Datatypes"],
    ["datatypes_out[]", "MPI_Datatype @[]", "", "*mut Handle", "", "call.slice_mut(\"{p}\", {p}, {l})?", "&mut [Handle]"],
    ["requests[]", "const MPI_Request @[]", "", "*const Handle", "", "call.slice(\"{p}\", {p}, {l})?", "&[Handle]"],
    ["requests_inout[]", "MPI_Request @[]", "", "*mut Handle", "", "call.slice_mut(\"{p}\", {p}, {l})?", "&mut [Handle]"],
    // Statuses. MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are null; what is set then goes nowhere.
    ["status", "const MPI_Status *@", "", "*const Status", "", "call.status(\"{p}\", {p})?", "&Status"],
    ["status_inout", "MPI_Status *@", "", "*mut Status", "", "call.status_mut(\"{p}\", {p})?", "&mut Status"],
    ["status_out", "MPI_Status *@", "", "*mut Status", "", "StatusOut::new({p})", "StatusOut"],
    ["statuses_out[]", "MPI_Status *@", "", "*mut Status", "", "StatusesOut::new({p}, {l})", "StatusesOut"],
    // Texts. `string` is not null (MPI_ERR_ARG), `key` has a legal length (MPI_ERR_INFO_KEY), `value` too
    // (MPI_ERR_INFO_VALUE). The length of a `text_out` includes the final zero; longer texts are cut.
    ["string", "const char *@", "", "*const c_char", "", "call.string(\"{p}\", {p})?", "&CStr"],
    ["key", "const char *@", "", "*const c_char", "", "call.key(\"{p}\", {p})?", "&CStr"],
    ["value", "const char *@", "", "*const c_char", "", "call.value(\"{p}\", {p})?", "&CStr"],
    ["text_out[]", "char *@", "", "*mut c_char", "", "call.text_out(\"{p}\", {p}, {l})?", "TextOut"],
    // Memory. A null buffer can be right (MPI_BOTTOM), so the chapter decides.
    ["buffer_in", "const void *@", "", "*const c_void", "", "", "*const c_void"],
    ["buffer_out", "void *@", "", "*mut c_void", "", "", "*mut c_void"],
    ["attribute", "void *@", "", "*mut c_void", "", "", "*mut c_void"],
    ["extra_state", "void *@", "", "*mut c_void", "", "", "*mut c_void"],
];

impl Kind {
    /// The kind of this name; `raw(TYPE)` is a C type that arrives unchecked, and the name of a callback type is a kind.
    pub(crate) fn named(name: &str, with_length: bool) -> Option<Kind> {
        if let Some(c) = name.strip_prefix("raw(").and_then(|n| n.strip_suffix(')')) {
            return Some(Kind::raw(name, &c.replace('~', " ")));
        }
        if name.starts_with("MPI_") && name.ends_with("_function") {
            return Some(Kind::callback(name));
        }
        let full = format!("{name}{}", if with_length { "[]" } else { "" });
        let found = ROWS.iter().find(|row| row[0] == full);
        found.map(Kind::from_row).or_else(|| Kind::handle(name))
    }

    fn from_row(row: &Row) -> Kind {
        let [name, c, c_large, rust, rust_large, check, arrives] = *row;
        let or = |large: &str, int: &str| {
            if large.is_empty() {
                int.to_string()
            } else {
                large.to_string()
            }
        };
        Kind {
            name: name.into(),
            c: [c.into(), or(c_large, c)],
            rust: [rust.into(), or(rust_large, rust)],
            check: check.into(),
            pass: "{p}".into(),
            arrives: arrives.into(),
        }
    }

    fn simple(name: &str, c: String, rust: &str, check: &str, pass: &str, arrives: &str) -> Kind {
        Kind {
            name: name.into(),
            c: [c.clone(), c],
            rust: [rust.into(), rust.into()],
            check: check.into(),
            pass: pass.into(),
            arrives: arrives.into(),
        }
    }

    fn raw(name: &str, c: &str) -> Kind {
        let by_value = ["MPI_T_cb_safety", "MPI_T_source_order"].contains(&c);
        let rust = if by_value { "c_int" } else { "*mut c_void" };
        let c = match c.split_once('[') {
            Some((of, rest)) => format!("{of} @[{rest}").replace("* @", " *@"),
            None => match c.find('*') {
                Some(star) => format!("{} {}@", &c[..star], &c[star..]),
                None => format!("{c} @"),
            },
        };
        Kind::simple(name, c, rust, "", "{p}", rust)
    }

    fn callback(name: &str) -> Kind {
        // The twins of callbacks exist where counts are among what they are called with.
        let has_twin = ["MPI_User_function", "MPI_Datarep_conversion_function"].contains(&name);
        let large = if has_twin { "_c" } else { "" };
        Kind {
            c: [format!("{name} *@"), format!("{name}{large} *@")],
            ..Kind::simple(
                name,
                String::new(),
                "*const c_void",
                "Callback::new({p})",
                "{p}",
                "Callback",
            )
        }
    }

    fn handle(name: &str) -> Option<Kind> {
        let (word, c, object) = HANDLES.iter().find(|(word, ..)| {
            name.strip_prefix(word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })?;
        let value = format!("{c} @");
        let pointer = format!("{c} *@");
        Some(match &name[word.len()..] {
            "" => Kind::simple(
                name,
                value,
                "Handle",
                &format!("call.{word}(\"{{p}}\", {{p}})?"),
                "&{p}",
                &format!("&{object}"),
            ),
            "_or_null" => Kind::simple(
                name,
                value,
                "Handle",
                &format!("call.{word}_or_null(\"{{p}}\", {{p}})?"),
                "{p}.as_deref()",
                &format!("Option<&{object}>"),
            ),
            "_value" | "_if_used" => Kind::simple(name, value, "Handle", "", "{p}", "Handle"),
            "_out" => Kind::simple(
                name,
                pointer,
                "*mut Handle",
                "call.out(\"{p}\", {p})?",
                "{p}",
                "Out<Handle>",
            ),
            "_inout" => Kind::simple(
                name,
                pointer,
                "*mut Handle",
                "call.inout(\"{p}\", {p})?",
                "{p}",
                "InOut<Handle>",
            ),
            _ => return None,
        })
    }

    /// The name as in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The C declaration of a parameter of this name.
    pub fn c_declaration(&self, large: bool, name: &str) -> String {
        self.c[usize::from(large)].replace('@', name)
    }

    /// The type in the Rust signature of the entry point.
    pub fn rust_type(&self, large: bool) -> &str {
        &self.rust[usize::from(large)]
    }

    /// The Rust type that the chapter function declares.
    pub fn arrives(&self) -> &str {
        &self.arrives
    }

    /// The expression that checks and converts; none if the value is passed as it is.
    pub(crate) fn check(&self, name: &str, length: &str) -> Option<String> {
        let check = self.check.replace("{p}", name).replace("{l}", length);
        (!check.is_empty()).then_some(check)
    }

    /// How the converted value is passed on.
    pub(crate) fn pass(&self, name: &str) -> String {
        self.pass.replace("{p}", name)
    }

    /// What stands for a parameter that only the large form has.
    pub(crate) fn absent(&self) -> &'static str {
        match self.arrives.as_str() {
            "CountOut" => "CountOut::absent()",
            "IntegersOut" => "IntegersOut::absent()",
            _ => "0",
        }
    }

    /// Whether the table must give a length.
    pub(crate) fn needs_length(&self) -> bool {
        self.name.ends_with("[]")
    }

    /// What the value becomes when it is the length of another parameter.
    pub(crate) fn as_length(&self, name: &str) -> String {
        match self.arrives.as_str() {
            "usize" => name.to_string(),
            "InOut<i32>" => format!("{name}.get().max(0) as usize"),
            _ => format!("{name} as usize"),
        }
    }
}
