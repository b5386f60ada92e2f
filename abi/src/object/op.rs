//! An operation as C programs know it: one that the standard names, or a C function.
//!
//! A C function is called with the handle of the datatype that the program gave to the reduction
//! (MPI 5.0 §6.9.5). The layer below knows no handles, so the operation that a reduction hands down
//! is made for it, by [`Op::with_datatype`].

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use oxmpi_datatypes::datatype::Datatype;
use oxmpi_datatypes::op::{Predefined, UserOp};

use super::Type;
use crate::handle::{Handle, Object};

/// What an `MPI_Op` stands for.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// One that the standard names.
    Predefined(Predefined),
    /// One that the program made.
    User(Function),
}

/// A C function that combines elements.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    form: Form,
    commutative: bool,
}

/// `MPI_User_function`.
pub type IntFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);
/// `MPI_User_function_c`.
pub type LargeFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Handle);

/// The type of a C function that combines.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// It takes an `int` for the count.
    Int(IntFunction),
    /// It takes an `MPI_Count`.
    Large(LargeFunction),
}

impl Op {
    pub(super) fn named(handle: Handle) -> Option<Op> {
        let predefined = Predefined::from_handle(u16::try_from(handle.0).ok()?)?;
        Some(Op::Predefined(predefined))
    }

    /// An operation from a C function, for which the program vouches: it only touches the elements
    /// that it is given.
    pub fn user(form: Form, commutative: bool) -> Op {
        Op::User(Function { form, commutative })
    }

    /// Whether order is free.
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::Predefined(predefined) => predefined.is_commutative(),
            Op::User(function) => function.commutative,
        }
    }

    /// The operation for a reduction that the program has called with this datatype.
    pub fn with_datatype(&self, handle: Handle) -> oxmpi_datatypes::op::Op {
        match *self {
            Op::Predefined(predefined) => predefined.into(),
            Op::User(function) => {
                let combine =
                    move |input: *const u8, inout: *mut u8, count, datatype: &Datatype| {
                        function.call(input, inout, count, datatype, handle);
                    };
                let user = UserOp::new(function.commutative, combine);
                oxmpi_datatypes::op::Op::User(Arc::new(user))
            }
        }
    }
}

impl Function {
    /// Sets `inout` to `input ∘ inout` for so many elements, which lie as the datatype says.
    ///
    /// The program may have freed the datatype's handle while a nonblocking reduction goes on; then
    /// the function gets another handle of the same type, which lasts for the call.
    pub fn call(
        &self,
        input: *const u8,
        inout: *mut u8,
        count: i64,
        datatype: &Datatype,
        handle: Handle,
    ) {
        if Type::table().get(handle).is_some() {
            return self.run(input, inout, count, datatype.extent(), handle);
        }
        let lent = Type::new_handle(datatype.clone());
        self.run(
            input,
            inout,
            count,
            datatype.extent(),
            *lent.as_ref().unwrap_or(&handle),
        );
        if let Ok(lent) = lent {
            Type::table().remove(lent);
        }
    }

    fn run(&self, input: *const u8, inout: *mut u8, count: i64, extent: i64, mut handle: Handle) {
        let input = input.cast_mut();
        match self.form {
            Form::Large(function) => {
                let mut count = count;
                // SAFETY: the program has vouched for the function; the caller's addresses hold the
                // elements, and the pointers to count and handle are valid during the call.
                unsafe { function(input.cast(), inout.cast(), &mut count, &mut handle) };
            }
            Form::Int(function) => {
                let mut done = 0;
                while done < count {
                    let some = c_int::try_from(count - done).unwrap_or(c_int::MAX);
                    let at = (done * extent) as isize;
                    let (from, into) = (input.wrapping_offset(at), inout.wrapping_offset(at));
                    // A function may write to what its pointers show, so it gets copies.
                    let (mut length, mut copy) = (some, handle);
                    // SAFETY: as above; the addresses are those of element `done`.
                    unsafe { function(from.cast(), into.cast(), &mut length, &mut copy) };
                    done += i64::from(some);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_datatypes::datatype::Basic;

    unsafe extern "C" fn minus(
        input: *mut c_void,
        inout: *mut c_void,
        count: *mut c_int,
        datatype: *mut Handle,
    ) {
        // SAFETY: the test below gives that many ints.
        unsafe {
            assert!(Type::table().get(*datatype).is_some());
            let input = std::slice::from_raw_parts(input.cast::<i32>(), *count as usize);
            let inout = std::slice::from_raw_parts_mut(inout.cast::<i32>(), *count as usize);
            for (inout, input) in inout.iter_mut().zip(input) {
                *inout = input - *inout;
            }
        }
    }

    #[test]
    fn a_c_function_gets_a_living_handle() {
        let op = Op::user(Form::Int(minus), false);
        assert!(!op.is_commutative());
        let int = Datatype::named(Basic::Int);
        let freed = Type::new_handle(int.dup().unwrap()).unwrap();
        Type::table().remove(freed);
        let named = Handle(usize::from(Basic::Int.handle()));
        for handle in [named, freed] {
            let combiner = op.with_datatype(handle).combine_for(&int).unwrap();
            let mut inout = 3_i32.to_ne_bytes();
            combiner.combine(&10_i32.to_ne_bytes(), &mut inout);
            assert_eq!(i32::from_ne_bytes(inout), 7);
        }
        assert!(Type::table().get(freed).is_none());
    }
}
