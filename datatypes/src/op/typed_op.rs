//! [`TypedOp`]: an [`Operation`] of the typed face, for callers that work on bytes.
//!
//! A nonblocking collective outlives the call that named its operation, so it owns it; a blocking
//! one borrows it and allocates nothing.

use std::sync::Arc;

use super::{Operation, Predefined, reduce_bytes};
use crate::plain::Plain;

/// Sets the second to the combination of both, by the operation at the address.
type Call = unsafe fn(*const (), &[u8], &mut [u8]);

/// A typed operation whose types are forgotten.
#[derive(Clone)]
pub struct TypedOp {
    element_bytes: usize,
    commutative: bool,
    predefined: Option<Predefined>,
    call: Call,
    operation: *const (),
    /// Keeps the operation, if it is not borrowed.
    _owner: Option<Arc<dyn Send + Sync>>,
}

// SAFETY: the operation is Sync (`new`), or its borrower keeps it to where it may be called.
unsafe impl Send for TypedOp {}
// SAFETY: as above.
unsafe impl Sync for TypedOp {}

impl TypedOp {
    /// Takes an operation over.
    pub fn new<T: Plain, O: Operation<T> + Send + Sync + 'static>(operation: O) -> TypedOp {
        let owner = Arc::new(operation);
        // SAFETY: the owner keeps the operation where it is for as long as there is a clone of
        // this, and it may be called from any thread.
        let mut typed = unsafe { TypedOp::borrowed::<T, O>(&owner) };
        typed._owner = Some(owner);
        typed
    }

    /// Borrows an operation.
    ///
    /// # Safety
    /// It must not be used after the borrow ends, nor on threads that may not call the operation.
    pub unsafe fn borrowed<T: Plain, O: Operation<T>>(operation: &O) -> TypedOp {
        TypedOp {
            element_bytes: size_of::<T>().max(1),
            commutative: operation.is_commutative(),
            predefined: operation.predefined(),
            call: call::<T, O>,
            operation: (&raw const *operation).cast(),
            _owner: None,
        }
    }

    /// Whether order is free.
    pub fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Which operation of the standard it is, if it is one.
    pub fn predefined(&self) -> Option<Predefined> {
        self.predefined
    }

    pub(super) fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    pub(super) fn combine(&self, input: &[u8], inout: &mut [u8]) {
        // SAFETY: `call` was made for this operation, which is there still.
        unsafe { (self.call)(self.operation, input, inout) }
    }
}

/// # Safety
/// The address must be that of an `O`.
unsafe fn call<T: Plain, O: Operation<T>>(operation: *const (), input: &[u8], inout: &mut [u8]) {
    // SAFETY: the caller's promise.
    reduce_bytes::<T>(unsafe { &*operation.cast::<O>() }, input, inout);
}

impl std::fmt::Debug for TypedOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypedOp")
            .field("predefined", &self.predefined)
            .field("commutative", &self.commutative)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Op, Sum, user};
    use crate::plain::{bytes, bytes_mut};

    #[test]
    fn typed_operations_work_on_bytes() {
        let offset = 5;
        let shifted = user(true, move |a: &i64, b: &i64| a + b + offset);
        for (op, predefined, expected) in [
            (TypedOp::new::<i64, _>(Sum), Some(Predefined::Sum), 9),
            (TypedOp::new(shifted), None, 14),
        ] {
            let op = Op::Typed(op);
            assert_eq!(op.predefined(), predefined);
            let byte = crate::datatype::Datatype::named(crate::datatype::Basic::Byte);
            let combiner = op.combine_for(&byte).unwrap();
            assert_eq!(combiner.element_bytes(), 8);
            assert_eq!(combiner.calls_program(), predefined.is_none());
            let mut into = [7i64];
            combiner.combine(bytes(&[2i64]), bytes_mut(&mut into));
            assert_eq!(into, [expected]);
        }
    }
}
