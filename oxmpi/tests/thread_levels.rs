//! Which handles may cross threads at which level, as the compiler sees it.

use std::marker::PhantomData;

use oxmpi::thread::{Funneled, Multiple, Serialized, Single};
use oxmpi::{Communicator, InPlace, Message, Mpi, PortBuffer, Request};

/// Tells by method resolution whether a type is Send or Sync, without needing it to be.
macro_rules! is {
    ($bound:ident, $type:ty) => {{
        struct Probe<T>(PhantomData<T>);
        #[allow(dead_code)]
        trait No {
            const ANSWER: bool = false;
        }
        impl<T> No for Probe<T> {}
        #[allow(dead_code)]
        impl<T: $bound> Probe<T> {
            const ANSWER: bool = true;
        }
        <Probe<$type>>::ANSWER
    }};
}

macro_rules! crossing {
    ($level:ty) => {
        [
            (is!(Send, Mpi<$level>), is!(Sync, Mpi<$level>)),
            (
                is!(Send, Communicator<'static, $level>),
                is!(Sync, Communicator<'static, $level>),
            ),
            (
                is!(Send, Request<'static, $level>),
                is!(Sync, Request<'static, $level>),
            ),
            (
                is!(Send, Message<'static, $level>),
                is!(Sync, Message<'static, $level>),
            ),
            (
                is!(Send, PortBuffer<'static, u8, $level>),
                is!(Sync, PortBuffer<'static, u8, $level>),
            ),
            (
                is!(Send, InPlace<'static, u8, $level>),
                is!(Sync, InPlace<'static, u8, $level>),
            ),
        ]
    };
}

#[test]
fn only_multiple_lets_handles_cross_threads() {
    assert_eq!(crossing!(Single), [(false, false); 6]);
    assert_eq!(crossing!(Funneled), [(false, false); 6]);
    let mut serialized = [(false, false); 6];
    serialized[0] = (true, false);
    assert_eq!(crossing!(Serialized), serialized);
    assert_eq!(crossing!(Multiple), [(true, true); 6]);
}
