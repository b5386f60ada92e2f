//! Sessions beside the world and without it (MPI 5.0 §11.3).

use std::sync::Arc;

use oxmpi_core::group::Group;
use oxmpi_core::info::Info;
use oxmpi_core::making::{create_from_group, create_from_groups};
use oxmpi_core::process::{Process, Threads};
use oxmpi_core::session::{Session, ThreadLevel};

fn join(threads: Threads) -> Arc<Process> {
    // SAFETY: these processes have one thread.
    unsafe { Process::join(threads) }.unwrap()
}

oxmpi_harness::ranks! {
    fn communicators_without_a_world([1, 3]) {
        let process = join(Threads::Many);
        for round in 0..3 {
            let session = Session::new(process.clone(), None);
            let group = session.group("mpi://WORLD").unwrap();
            let comm = create_from_group(session.process(), &group, b"one after the other").unwrap();
            assert_eq!((comm.rank(), comm.size()), (process.rank(), group.size()));
            assert_eq!(comm.dup().unwrap().size(), group.size(), "round {round}");
        }
        process.finalize();
        // Nothing is left to do the second time.
        process.finalize();
    }

    fn several_at_once_beside_the_world([4]) {
        let process = join(Threads::One);
        let (one, two) = (Session::new(process.clone(), None), Session::new(process.clone(), None));
        let halves = [[0, 1], [2, 3]].map(|half| Group::new(half.to_vec()));
        let mine = (process.rank() / 2) as usize;
        let half = create_from_group(one.process(), &halves[mine], b"half").unwrap();
        // The world may come later: its board was kept for it.
        let world = process.world();
        // The second of each half leads, and alone knows the other half.
        let other = (process.rank() % 2 == 1).then_some((&halves[1 - mine], 1));
        let inter = create_from_groups(two.process(), &halves[mine], 1, other, b"both").unwrap();
        assert_eq!(half.rank(), world.rank() % 2);
        assert_eq!((inter.size(), inter.remote_group()), (2, Some(&halves[1 - mine])));
        assert_eq!(inter.merge(false).unwrap().size(), 4);
        assert_eq!(world.dup().unwrap().size(), 4);
        let error = create_from_group(&process, &halves[1 - mine], b"not mine").unwrap_err();
        assert!(error.to_string().contains("only members"), "{error}");
        let same = Some((&halves[mine], 0));
        let error = create_from_groups(&process, &halves[mine], 0, same, b"").unwrap_err();
        let said = ["both groups", "local leader 0"][process.rank() as usize % 2];
        assert!(error.to_string().contains(said), "{error}");
        process.finalize();
    }

    fn a_paused_process_may_come_back_or_end([1, 3]) {
        let process = join(Threads::Many);
        for _ in 0..3 {
            process.resume();
            let session = Session::new(process.clone(), None);
            let group = session.group("mpi://WORLD").unwrap();
            let comm = create_from_group(session.process(), &group, b"again").unwrap();
            assert_eq!(comm.dup().unwrap().size(), process.size());
            process.pause();
        }
        // No goodbye: the launcher takes the end of the process for one.
        std::mem::forget(process);
    }

    fn sets_and_hints([2]) {
        let process = join(Threads::One);
        let info = Info::new();
        info.set("thread_level", "MPI_THREAD_FUNNELED").unwrap();
        info.set("mpi_memory_alloc_kinds", "mpi,cuda").unwrap();
        let session = Session::new(process.clone(), Some(&info));
        assert_eq!(session.thread_level(), ThreadLevel::Funneled);
        assert_eq!(Session::new(process.clone(), None).thread_level(), ThreadLevel::Serialized);
        let used = session.info();
        assert_eq!(used.get_text("thread_level").as_deref(), Some("MPI_THREAD_FUNNELED"));
        assert_eq!(used.get_text("mpi_memory_alloc_kinds").as_deref(), Some("mpi,system"));
        let names: Vec<_> = (0..session.set_count() as i64).map(|n| session.set_name(n).unwrap()).collect();
        assert_eq!(names, ["mpi://WORLD", "mpi://SELF"]);
        assert!(session.set_name(2).is_err() && session.set_name(-1).is_err());
        let size = |name| session.set_info(name).unwrap().get_text("mpi_size");
        assert_eq!((size("mpi://WORLD").as_deref(), size("mpi://SELF").as_deref()), (Some("2"), Some("1")));
        assert_eq!(session.group("mpi://SELF").unwrap().processes(), [process.rank()]);
        let error = session.group("mpi://NOBODY").unwrap_err();
        assert!(error.to_string().contains("mpi://WORLD, mpi://SELF"), "{error}");
        process.finalize();
    }
}
