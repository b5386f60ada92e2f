//! Sessions (MPI 5.0 §11.3): without a world, beside it, and one after the other.

use oxmpi::thread::Multiple;
use oxmpi::{ErrorKind, Session};

oxmpi_harness::ranks! {
    fn communicators_without_a_world([1, 3]) {
        for round in 0..3u32 {
            let session = Session::open().unwrap();
            assert_eq!(session.sets(), ["mpi://WORLD", "mpi://SELF"]);
            let all = session.group("mpi://world").unwrap();
            let communicator = session.communicator(&all, "sessions").unwrap();
            let sum = communicator.allreduce_one(round, oxmpi::op::Sum).unwrap();
            assert_eq!(sum, round * communicator.size());
            let own = session.group("mpi://SELF").unwrap();
            assert_eq!(session.communicator(&own, "alone").unwrap().size(), 1);
            let error = session.group("mpi://moon").unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ProcessSet { .. }), "{error}");
        }
    }

    fn two_at_once_beside_the_world([4]) {
        let one = Session::open().unwrap();
        let mpi = oxmpi::init_with::<Multiple>().unwrap();
        let world = mpi.world();
        let two = Session::open().unwrap();
        let all = two.group("mpi://WORLD").unwrap();
        let low = all.select(&[0, 1]).unwrap();
        let high = all.without(&[0, 1]).unwrap();
        let (own, other) = if world.rank() < 2 { (low, high) } else { (high, low) };
        let both = one.intercommunicator(&own, &other, "both").unwrap();
        assert_eq!((both.size(), both.remote_size()), (2, 2));
        let peer = both.rank();
        let mut got = 0;
        both.send_recv(&world.rank(), peer, 0, &mut got, peer, 0).unwrap();
        assert_eq!(got, (world.rank() + 2) % 4);
        let error = one.communicator(&other, "not mine").unwrap_err();
        assert!(error.to_string().contains("only members"), "{error}");
        drop(both);
        drop(one);
        // The world outlives a session, and a session the world.
        world.barrier().unwrap();
        drop(mpi);
        let rest = two.communicator(&all, "rest").unwrap();
        rest.barrier().unwrap();
        assert!(matches!(oxmpi::init().unwrap_err().kind(), ErrorKind::AlreadyFinalised));
    }

    fn a_world_for_one_thread_has_no_sessions([2]) {
        let mpi = oxmpi::init().unwrap();
        let error = Session::open().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OneThread), "{error}");
        mpi.world().barrier().unwrap();
        drop(mpi);
        assert!(matches!(Session::open().unwrap_err().kind(), ErrorKind::AlreadyFinalised));
    }
}
