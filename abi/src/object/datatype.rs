//! A datatype as C programs know it: the datatype itself, its handle, its name and its attributes.
//!
//! Three kinds of datatype have three kinds of handle. Those that the standard names are constants.
//! Those that it defines without a name (Fortran kinds by precision and range, pairs of value and
//! index) get a handle when they are first asked for and keep it: equal questions have equal
//! answers (MPI 5.0 §19.1.9). All others get a new handle each time.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, OnceLock};

use oxmpi_core::attribute::Attributes;
use oxmpi_datatypes::datatype::{Basic, Combiner, Constructor, Datatype};

use crate::constant::{MPI_DATATYPE_NULL, MPI_MAX_OBJECT_NAME, MPI_UNDEFINED};
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::{fortran_sizes, usual};

/// What an `MPI_Datatype` stands for.
pub struct Type {
    /// The datatype.
    pub datatype: Datatype,
    handle: OnceLock<Handle>,
    name: Mutex<Vec<u8>>,
    /// What the program has cached on it.
    pub attributes: Attributes,
}

/// What was asked for when a type without a name was got: which question, and its two arguments.
type Question = (Combiner, i32, i32);

/// The handles of predefined types without a name.
static UNNAMED: LazyLock<Mutex<HashMap<Question, Handle>>> = LazyLock::new(Mutex::default);

impl Type {
    fn new(datatype: Datatype) -> Type {
        Type {
            datatype,
            handle: OnceLock::new(),
            name: Mutex::default(),
            attributes: Attributes::new(),
        }
    }

    /// The predefined type of a constant; its name is the constant's.
    pub(super) fn named(handle: Handle) -> Option<Type> {
        let basic = Basic::from_handle(u16::try_from(handle.0).ok()?)?;
        let named = Type::new(fortran_sizes::datatype(basic)?);
        named.handle.get_or_init(|| handle);
        named.set_name(basic.name().as_bytes());
        usual::is_made(handle, named.datatype.basic());
        Some(named)
    }

    /// Gives a datatype a new handle.
    pub fn new_handle(datatype: Datatype) -> Result<Handle, Failure> {
        let handle = super::handle_for(Type::new(datatype))?;
        // Nobody else knows the handle yet, so nobody sees the object without it.
        if let Some(object) = Type::table().get(handle) {
            object.handle.get_or_init(|| handle);
        }
        Ok(handle)
    }

    /// The handle by which a program gets to know a datatype: the same each time for predefined
    /// ones, a new one for others.
    pub fn handle_of(datatype: Datatype) -> Result<Handle, Failure> {
        if let Some(basic) = datatype.basic() {
            return Ok(Handle(usize::from(basic.handle())));
        }
        let Some(question) = question(&datatype) else {
            return Type::new_handle(datatype);
        };
        let mut unnamed = UNNAMED
            .lock()
            .expect("nothing panics while it holds this lock");
        if let Some(handle) = unnamed.get(&question) {
            return Ok(*handle);
        }
        let handle = Type::new_handle(datatype)?;
        unnamed.insert(question, handle);
        Ok(handle)
    }

    /// The handle by which the program knows it; after that was freed, the number that it was.
    pub fn handle(&self) -> Handle {
        self.handle.get().copied().unwrap_or(MPI_DATATYPE_NULL)
    }

    /// Whether the standard defines it, with a name or without; such types cannot be freed.
    pub fn is_predefined(&self) -> bool {
        self.basic().is_some() || question(&self.datatype).is_some()
    }

    /// Its name; empty if it has none. Names are bytes because C programs may write them in any
    /// encoding.
    pub fn name(&self) -> Vec<u8> {
        self.name
            .lock()
            .expect("nothing panics while it holds this lock")
            .clone()
    }

    /// Gives it a name, cut to the length that MPI_Type_get_name has room for (MPI 5.0 §7.8).
    pub fn set_name(&self, name: &[u8]) {
        let length = name.len().min(MPI_MAX_OBJECT_NAME as usize - 1);
        *self
            .name
            .lock()
            .expect("nothing panics while it holds this lock") = name[..length].to_vec();
    }
}

impl Deref for Type {
    type Target = Datatype;

    #[inline]
    fn deref(&self) -> &Datatype {
        &self.datatype
    }
}

fn question(datatype: &Datatype) -> Option<Question> {
    let or_undefined = |value: &Option<i32>| value.unwrap_or(MPI_UNDEFINED);
    let (first, second) = match datatype.constructor() {
        Constructor::F90Real { precision, range }
        | Constructor::F90Complex { precision, range } => {
            (or_undefined(precision), or_undefined(range))
        }
        Constructor::F90Integer { range } => (*range, MPI_UNDEFINED),
        Constructor::ValueIndex { value, index } => {
            (i32::from(value.handle()), i32::from(index.handle()))
        }
        _ => return None,
    };
    Some((datatype.combiner(), first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_questions_have_equal_answers() {
        let real = |precision| Type::handle_of(Datatype::f90_real(Some(precision), None).unwrap());
        let six = real(6).unwrap();
        assert_eq!(six, real(6).unwrap());
        assert_ne!(six, real(5).unwrap());
        assert!(Type::table().get(six).unwrap().is_predefined());
        let pair = || Datatype::value_index(Basic::Double, Basic::Int64).unwrap();
        let handle = Type::handle_of(pair()).unwrap();
        assert_eq!(handle, Type::handle_of(pair()).unwrap());
        assert_eq!(Type::table().get(handle).unwrap().handle(), handle);
    }

    #[test]
    fn named_types_are_constants_and_derived_ones_are_new() {
        let int = Datatype::named(Basic::Int);
        let handle = Type::handle_of(int.clone()).unwrap();
        assert_eq!(handle.0, usize::from(Basic::Int.handle()));
        assert_eq!(Type::table().get(handle).unwrap().name(), b"MPI_INT");
        let pair = Datatype::contiguous(2, &int).unwrap();
        let first = Type::handle_of(pair.clone()).unwrap();
        assert_ne!(first, Type::handle_of(pair).unwrap());
        assert!(!Type::table().get(first).unwrap().is_predefined());
    }

    #[test]
    fn long_names_are_cut() {
        let object = Type::new(Datatype::named(Basic::Int));
        object.set_name(&[b'x'; 500]);
        assert_eq!(object.name().len(), MPI_MAX_OBJECT_NAME as usize - 1);
    }
}
