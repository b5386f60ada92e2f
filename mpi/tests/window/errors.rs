//! Wrong arguments and wrong moments: the right error, with the values, and the window goes on.

use oxmpi_core::process::Threads;
use oxmpi_core::window::{Elements, Flavor, LockKind, Target, Window};
use oxmpi_core::{ErrorKind, WindowError};
use oxmpi_datatypes::datatype::{Basic, Datatype};
use oxmpi_datatypes::op::{Op, Predefined};

use super::ground::{NONE, Rank, SETTINGS, Words, buffer, long};

fn text(outcome: Result<(), ErrorKind>) -> String {
    outcome.unwrap_err().to_string()
}

oxmpi_harness::ranks! {
    fn errors_name_the_values([2], SETTINGS) {
        let rank = Rank::join(Threads::One);
        let other = 1 - rank.rank();
        let words = Words::new(&rank, Flavor::Allocate, 10);
        let (window, element) = (&words.window, long());
        let value = [5_u64];
        let target = words.target(other, 0, 1, &element);

        assert_eq!(
            text(window.put(&buffer(&value), &target)),
            format!("no epoch is open for rank {other}: call MPI_Win_fence, MPI_Win_start, \
                     MPI_Win_lock or MPI_Win_lock_all first")
        );
        assert!(matches!(window.unlock(Some(other)), Err(ErrorKind::Window(WindowError::NotLocked { .. }))));
        assert!(matches!(window.flush(Some(other)), Err(ErrorKind::Window(WindowError::NotLocked { .. }))));
        assert!(matches!(window.complete(), Err(ErrorKind::Window(WindowError::Epoch { .. }))));
        assert!(matches!(window.wait(), Err(ErrorKind::Window(WindowError::Epoch { .. }))));
        assert!(matches!(window.unlock_all(), Err(ErrorKind::Window(WindowError::Epoch { .. }))));

        window.lock(LockKind::Shared, Some(other), NONE).unwrap();
        assert_eq!(
            text(window.lock(LockKind::Shared, Some(other), NONE)),
            format!("rank {other} is locked by this process already; call MPI_Win_unlock first")
        );
        assert!(text(window.fence(NONE)).contains("ranks are locked"));
        assert!(text(window.free()).contains("MPI_Win_free is not possible now: ranks are locked"));
        assert_eq!(
            text(window.put(&buffer(&value), &Target { rank: Some(2), ..target })),
            "target rank 2 does not exist: the window has 2 rank(s), 0 to 1"
        );
        assert_eq!(
            text(window.put(&buffer(&value), &Target { displacement: -3, ..target })),
            format!("target displacement -3 is negative: displacements count forward from the \
                     beginning of the window of rank {other}")
        );
        assert_eq!(
            text(window.put(&buffer(&value), &Target { displacement: 10, ..target })),
            format!("the access to rank {other} covers bytes 80 to 88 of its window, which has 80 \
                     bytes (10 units of 8 from its beginning); check displacement, count and datatype")
        );
        let huge = Target { displacement: i64::MAX, ..target };
        assert!(matches!(window.put(&buffer(&value), &huge), Err(ErrorKind::Window(WindowError::Range { .. }))));
        assert_eq!(
            text(window.put(&buffer(&[1, 2]), &target)),
            "the origin describes 16 bytes and the target 8: both must have the same elements"
        );
        assert_eq!(
            text(window.put(&buffer(&value), &Target { count: 0, ..target })),
            "the origin describes 8 bytes and the target 0: both must have the same elements"
        );
        let double = Datatype::named(Basic::Double);
        let elements = Elements { buffer: &buffer(&value), datatype: &double };
        let sum = Op::Predefined(Predefined::Sum);
        assert!(text(window.accumulate(elements, &target, &sum)).contains("the origin has elements of"));
        let mixed = Datatype::structure(&[1, 1], &[0, 4], &[Datatype::named(Basic::Int), Datatype::named(Basic::Float)]).unwrap();
        mixed.commit();
        let unlike = Target { datatype: &mixed, ..target };
        assert!(text(window.accumulate(elements, &unlike, &sum)).contains("cannot be accumulated"));
        let no_op = Op::Predefined(Predefined::NoOp);
        assert!(text(window.accumulate(elements, &target, &no_op)).contains("MPI_NO_OP"));
        let band = Op::Predefined(Predefined::BitAnd);
        let reals = Target { datatype: &double, ..target };
        assert!(text(window.accumulate(elements, &reals, &band)).contains("MPI_BAND"));
        let mut place = 0_u64;
        let address = (&raw mut place).cast::<u8>();
        // SAFETY: nothing is done.
        let swapped = unsafe { window.compare_and_swap(address, address, address, &reals) };
        assert!(text(swapped).contains("MPI_Compare_and_swap takes integers"));
        let uncommitted = Datatype::contiguous(1, &element).unwrap();
        let target_of_it = Target { datatype: &uncommitted, ..target };
        assert!(text(window.put(&buffer(&value), &target_of_it)).contains("not committed"));
        // SAFETY: the memory is not used.
        let attached = unsafe { window.attach(address, 8) };
        assert_eq!(
            text(attached),
            "MPI_Win_attach needs a window made by MPI_Win_create_dynamic; this one was made by MPI_Win_allocate"
        );

        // After all of that it still works.
        window.put(&buffer(&value), &target).unwrap();
        window.unlock(Some(other)).unwrap();
        rank.barrier();
        assert_eq!(words.own()[0], 5);
        words.free();

        assert!(matches!(
            Window::allocate(&rank.comm, -1, 1, None),
            Err(ErrorKind::Window(WindowError::Size { bytes: -1 }))
        ));
        assert!(matches!(
            Window::allocate(&rank.comm, 8, 0, None),
            Err(ErrorKind::Window(WindowError::Unit { unit: 0 }))
        ));
        // SAFETY: nothing is used.
        let null = unsafe { Window::create(&rank.comm, std::ptr::null_mut(), 8, 1, None) };
        assert!(matches!(null, Err(ErrorKind::Window(WindowError::Null { bytes: 8 }))));
        rank.end();
    }

    fn ranks_that_share_no_memory_are_told_so([2], [SETTINGS[1]]) {
        let rank = Rank::join(Threads::One);
        let error = Window::allocate_shared(&rank.comm, 8, 1, None).unwrap_err();
        assert!(error.to_string().contains("do not share memory"), "{error}");
        rank.end();
    }
}
