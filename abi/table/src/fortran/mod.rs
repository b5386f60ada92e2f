//! The Fortran faces of the table: which procedures there are, and what is generated for them.
//!
//! A dummy argument follows from the kind of the C parameter (`dummy`), so the table has no
//! Fortran columns. [`fortran_entries`] writes the entry points of libmpifort_abi, [`module_mpi`]
//! and [`module_mpi_f08`] the modules' sources, [`mpif_h`] the include file.
//!
//! Five names reach one C function: `mpi_x_` (mpif.h, and module mpi without choice buffers),
//! `mpi_x_f08_` (mpi_f08 without choice buffers; the same code), `mpi_x_f08ts_` (mpi_f08 with choice
//! buffers, which arrive as C descriptors), `mpi_x_fts_` (module mpi with choice buffers; the same
//! code) and, with `_c` before the suffix, the large-count forms of mpi_f08.

mod callbacks;
mod constants;
mod dummy;
mod entries;
mod include;
mod module;
mod module_f08;

pub use dummy::{Dummy, Intent, Shape, dummies};
pub use entries::{fortran_entries, fortran_exported, fortran_externs};
pub use include::mpif_h;
pub use module::module_mpi;
pub use module_f08::module_mpi_f08;

use crate::model::{Chapter, Face, Function, Table};

/// The chapters that exist in C alone: tools, and handles as integers.
const C_ALONE: [&str; 2] = ["tool", "integer"];

/// The functions whose Fortran count is always MPI_COUNT_KIND (MPI 5.0 §4.2).
const LARGE_ALONE: [&str; 2] = ["MPI_Psend_init", "MPI_Precv_init"];

/// The large forms that no compiler could tell from the other by their arguments; the standard
/// gives them a name of their own (§19.2.2).
const NAMED_LARGE: [&str; 2] = ["MPI_Op_create", "MPI_Register_datarep"];

/// A Fortran procedure: a function, the C form that it calls, and how its arguments arrive.
#[derive(Clone, Copy)]
pub struct Procedure<'a> {
    /// The chapter of the function.
    pub chapter: &'a Chapter,
    /// The function.
    pub function: &'a Function,
    /// The C form.
    pub face: Face,
    /// Whether it belongs to mpi_f08.
    pub f08: bool,
}

impl Procedure<'_> {
    /// Whether choice buffers arrive as descriptors.
    pub fn has_descriptors(&self) -> bool {
        self.f08
            && dummies(self)
                .iter()
                .any(|dummy| dummy.shape == Shape::Choice)
    }

    /// The name in Fortran of the specific procedure; `MPI_Send_c_f08ts`.
    pub fn specific(&self) -> String {
        let large = self.face == Face::Large && !LARGE_ALONE.contains(&self.function.name.as_str());
        let suffix = match (self.f08, self.has_descriptors()) {
            (false, _) => "",
            (true, false) => "_f08",
            (true, true) => "_f08ts",
        };
        let c = if large { "_c" } else { "" };
        format!("{}{c}{suffix}", self.function.name)
    }

    /// The name of a procedure of module mpi with choice buffers; none if it has no such argument,
    /// and is the procedure of mpif.h.
    pub fn specific_with_descriptors(&self) -> Option<String> {
        let as_f08 = Procedure { f08: true, ..*self };
        as_f08
            .has_descriptors()
            .then(|| format!("{}_fts", self.function.name))
    }

    /// The name that programs use.
    pub fn generic(&self) -> String {
        let named = NAMED_LARGE.contains(&self.function.name.as_str());
        match self.face {
            Face::Large if named => format!("{}_c", self.function.name),
            _ => self.function.name.clone(),
        }
    }

    /// Whether the last argument is IERROR.
    pub fn has_ierror(&self) -> bool {
        self.function.returns.is_none() && self.function.name != "MPI_Pcontrol"
    }

    /// Whether the code of the procedure of mpif.h serves: nothing arrives in another way.
    pub fn shares_code(&self) -> bool {
        let writes_pointer = self.function.name.ends_with("_detach_buffer")
            || self.function.name == "MPI_Buffer_detach";
        self.f08
            && !self.has_descriptors()
            && !writes_pointer
            && (self.face == Face::Int || LARGE_ALONE.contains(&self.function.name.as_str()))
    }
}

/// The procedures of mpif.h and module mpi.
pub fn procedures(table: &Table) -> Vec<Procedure<'_>> {
    functions(table)
        .map(|(chapter, function)| Procedure {
            chapter,
            function,
            face: first_face(function),
            f08: false,
        })
        .collect()
}

/// The procedures of module mpi_f08, large forms included.
pub fn procedures_f08(table: &Table) -> Vec<Procedure<'_>> {
    let mut found = Vec::new();
    for (chapter, function) in functions(table) {
        let with = |face| Procedure {
            chapter,
            function,
            face,
            f08: true,
        };
        found.push(with(first_face(function)));
        if function.large && first_face(function) == Face::Int && is_told_apart(function, with) {
            found.push(with(Face::Large));
        }
    }
    found
}

/// Kinds of 64 bits are one kind, so a large form that differs in nothing else would be ambiguous.
fn is_told_apart<'a>(function: &'a Function, with: impl Fn(Face) -> Procedure<'a>) -> bool {
    let widths = |face| -> Vec<bool> {
        let is_wide = |dummy: &Dummy| dummy.shape.is_wide();
        dummies(&with(face)).iter().map(is_wide).collect()
    };
    NAMED_LARGE.contains(&function.name.as_str()) || widths(Face::Int) != widths(Face::Large)
}

fn first_face(function: &Function) -> Face {
    if LARGE_ALONE.contains(&function.name.as_str()) {
        Face::Large
    } else {
        Face::Int
    }
}

fn functions(table: &Table) -> impl Iterator<Item = (&Chapter, &Function)> {
    table
        .chapters
        .iter()
        .filter(|chapter| !C_ALONE.contains(&chapter.name.as_str()))
        .flat_map(|chapter| {
            chapter
                .functions
                .iter()
                .map(move |function| (chapter, function))
        })
}
