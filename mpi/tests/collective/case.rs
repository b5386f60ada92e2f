//! One collective with its memory, its inputs and its results, run in all the ways in which it can
//! be run.

use std::sync::Arc;

use oxmpi_core::collective::{Collective, Reduction};
use oxmpi_core::communicator::Comm;
use oxmpi_core::process::{Process, Threads};
use oxmpi_datatypes::op::{Op, UserOp};

use crate::area::{Area, Form, Pair, compose};

/// Writes the inputs of a round into the send or the receive area.
pub type Fill<'a> = Box<dyn Fn(u64, &mut Area, &mut Area) + 'a>;

/// A collective on this rank.
pub struct Case<'a> {
    pub name: String,
    pub send: Area,
    pub receive: Area,
    /// Puts the inputs of a round in place.
    pub fill: Fill<'a>,
    /// What the receive area holds after it, all elements.
    pub expected: Box<dyn Fn(u64) -> Vec<Pair> + 'a>,
    /// Elements from here on hold anything (in place, a reduce_scatter uses up its input).
    pub checked: usize,
    pub collective: Collective,
}

impl Case<'_> {
    /// Blocking, nonblocking, and persistent with three starts.
    pub fn run(mut self, comm: &Arc<Comm>) {
        self.prepare(1);
        comm.collective(self.collective.clone())
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        self.check(1, "blocking");

        self.prepare(2);
        let mut operation = comm.icollective(self.collective.clone()).unwrap();
        operation.wait().unwrap();
        self.check(2, "nonblocking");

        let mut operation = comm.collective_init(self.collective.clone()).unwrap();
        assert!(operation.is_persistent() && !operation.is_active());
        for round in 3..6 {
            self.prepare(round);
            operation.start().unwrap();
            operation.wait().unwrap();
            assert!(!operation.is_active());
            self.check(round, "persistent");
        }
    }

    fn prepare(&mut self, round: u64) {
        self.send.clear();
        self.receive.clear();
        (self.fill)(round, &mut self.send, &mut self.receive);
    }

    fn check(&self, round: u64, way: &str) {
        let (mut got, mut expected) = (self.receive.get(), (self.expected)(round));
        got.truncate(self.checked);
        expected.truncate(self.checked);
        assert!(
            got == expected,
            "{} {way}: {got:?} instead of {expected:?}",
            self.name
        );
    }
}

/// Joins the job; the communicator of all ranks.
pub fn join() -> (Arc<Process>, Arc<Comm>) {
    // SAFETY: tests have one thread.
    let process = unsafe { Process::join(Threads::One) }.unwrap();
    let world = Arc::new(process.world());
    (process, world)
}

/// Composition of maps, an operation that does not commute.
pub fn composition(form: Form) -> Reduction {
    let slots = if form == Form::Dense { 2 } else { 3 };
    let function = move |input: *const u8, inout: *mut u8, count: i64, _: &_| {
        let (input, inout) = (input.cast::<u64>(), inout.cast::<u64>());
        for element in 0..count as usize {
            let (first, second) = (element * slots, element * slots + slots - 1);
            // SAFETY: a user's function gets elements laid out as its datatype says.
            unsafe {
                let left = [*input.add(first), *input.add(second)];
                let right = [*inout.add(first), *inout.add(second)];
                [*inout.add(first), *inout.add(second)] = compose(left, right);
            }
        }
    };
    Reduction {
        op: Op::User(Arc::new(UserOp::new(false, function))),
        datatype: form.datatype(),
    }
}

/// Forms of the send and the receive buffer.
pub const FORMS: [(Form, Form); 3] = [
    (Form::Dense, Form::Dense),
    (Form::Gaps, Form::Gaps),
    (Form::Dense, Form::Gaps),
];
