//! What the table says, as values: constants, callbacks, chapters, functions, parameters.
//!
//! Built by `parse`, which has checked that kinds and lengths exist; read by the three generators. A function and its
//! `_c` twin are one [`Function`]; a [`Face`] says which of the two a generator is writing.

use crate::kind::Kind;

/// The whole table.
#[derive(Debug)]
pub struct Table {
    /// Integer constants in the table's order.
    pub integers: Vec<Constant>,
    /// Handle types with their constants.
    pub handles: Vec<Named<Constant>>,
    /// Second names of handle constants: name and the name it stands for.
    pub aliases: Vec<(String, String)>,
    /// Constants that are addresses, by C type.
    pub pointers: Vec<Named<PointerConstant>>,
    /// Types of functions that the library calls.
    pub callbacks: Vec<Callback>,
    /// The chapters with their functions.
    pub chapters: Vec<Chapter>,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// The name in C.
    pub name: String,
    /// The value.
    pub value: i64,
}

/// An address constant is written as a number in the table.
pub type PointerConstant = Constant;

/// Things that belong to one C type.
#[derive(Debug)]
pub struct Named<T> {
    /// The C type.
    pub name: String,
    /// What belongs to it.
    pub items: Vec<T>,
}

/// The type of a function that the library calls.
#[derive(Debug)]
pub struct Callback {
    /// The name in C.
    pub name: String,
    /// The C return type.
    pub returns: String,
    /// The parameters as C text.
    pub parameters: Vec<String>,
}

/// Functions that are written by hand in one file.
#[derive(Debug)]
pub struct Chapter {
    /// The module's name.
    pub name: String,
    /// What the table says about it.
    pub about: String,
    /// Its functions.
    pub functions: Vec<Function>,
}

/// Whether there is code behind a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// The chapter has it.
    Written,
    /// It belongs to a later release.
    Later,
    /// It belongs to this release and is not written yet.
    Todo,
    /// It always returns this code.
    Answer(String),
}

/// A function, with its large twin if it has one.
#[derive(Debug)]
pub struct Function {
    /// The name in C, without `_c`.
    pub name: String,
    /// Whether there is a `_c` twin.
    pub large: bool,
    /// Whether it may be called before initialisation and after finalisation.
    pub always: bool,
    /// The C type returned, if it is not an error code.
    pub returns: Option<String>,
    /// Whether `...` follows the parameters.
    pub variadic: bool,
    /// Whether it belongs to the tool information interface.
    pub tool: bool,
    /// Whether the chapter has a short way for the usual arguments, which is asked first.
    pub quick: bool,
    /// Whether there is code behind it.
    pub presence: Presence,
    /// The parameters, those of the large form included.
    pub parameters: Vec<Parameter>,
}

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// The name in C.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The length of an array or text: a parameter's name or a constant, perhaps with `+1`.
    pub length: Option<String>,
    /// Whether only the large form has it.
    pub large_only: bool,
}

/// One of the two C forms of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// With `int` counts.
    Int,
    /// With `MPI_Count` counts; the name ends in `_c`.
    Large,
}

impl Table {
    /// Every function of every chapter.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.chapters.iter().flat_map(|chapter| &chapter.functions)
    }

    /// The C names of all functions, `_c` twins included, sorted.
    pub fn names(&self) -> Vec<String> {
        let faces = |f: &Function| f.faces().map(|face| f.c_name(face)).collect::<Vec<_>>();
        let mut names: Vec<String> = self.functions().flat_map(faces).collect();
        names.sort();
        names
    }
}

impl Function {
    /// The forms that exist.
    pub fn faces(&self) -> impl Iterator<Item = Face> + use<> {
        let large = self.large.then_some(Face::Large);
        std::iter::once(Face::Int).chain(large)
    }

    /// The C name of a form.
    pub fn c_name(&self, face: Face) -> String {
        match face {
            Face::Int => self.name.clone(),
            Face::Large => format!("{}_c", self.name),
        }
    }

    /// The name of the hand-written function: `MPI_Type_create_hvector` is `type_create_hvector`.
    pub fn rust_name(&self) -> String {
        self.name["MPI_".len()..].to_lowercase()
    }

    /// The parameters of a form.
    pub fn parameters_of(&self, face: Face) -> impl Iterator<Item = &Parameter> {
        self.parameters
            .iter()
            .filter(move |parameter| face == Face::Large || !parameter.large_only)
    }
}
