//! Messages of any type that serde knows (feature `serde`).

use std::collections::BTreeMap;

use oxmpi::{ANY_SOURCE, ErrorKind};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Task {
    Words(BTreeMap<String, Vec<u32>>),
    Stop { why: Option<String> },
}

fn task(rank: u32) -> Task {
    match rank % 2 {
        0 => Task::Stop {
            why: Some("x".repeat(rank as usize * 1000)),
        },
        _ => Task::Words(
            (0..rank)
                .map(|n| (format!("word {n}"), vec![n; 3]))
                .collect(),
        ),
    }
}

/// Nothing encodes it.
#[derive(Debug, Deserialize)]
struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it does not want to"))
    }
}

oxmpi_harness::ranks! {
    fn objects_travel([1, 2, 5]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let all: Vec<Task> = (0..size).map(task).collect();
        let next = (rank + 1) % size;
        if rank == 0 && size > 1 {
            for _ in 1..size {
                let (got, status) = world.recv_object::<Task>(ANY_SOURCE, 1).unwrap();
                assert_eq!(got, task(status.source));
            }
        } else if size > 1 {
            world.send_object(&task(rank), 0, 1).unwrap();
        }
        let root = size - 1;
        let from_root = world.bcast_object((rank == root).then(|| task(7)), root).unwrap();
        assert_eq!(from_root, task(7));
        let gathered = world.gather_object(&task(rank), root).unwrap();
        assert_eq!(gathered, (rank == root).then(|| all.clone()));
        assert_eq!(world.allgather_object(&task(rank)).unwrap(), all);
        let dealt = world.scatter_object((rank == root).then_some(&all[..]), root).unwrap();
        assert_eq!(dealt, task(rank));
        world.send_object(&1u8, oxmpi::PROC_NULL, next as i32).unwrap();
    }

    /// Nobody waits for an object that there will never be.
    fn failures_are_told_to_all([1, 3]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let is_root = world.rank() == 0;
        let told = |kind: &ErrorKind| match is_root {
            true => matches!(kind, ErrorKind::Encode { .. } | ErrorKind::RootBuffer { .. }),
            false => matches!(kind, ErrorKind::PeerEncode { peer: 0 }),
        };
        let error = world.bcast_object(is_root.then_some(Stubborn), 0).unwrap_err();
        assert!(told(error.kind()), "{error}");
        let error = world.bcast_object::<Task>(None, 0).unwrap_err();
        assert!(told(error.kind()), "{error}");
        let error = world.scatter_object::<Task>(None, 0).unwrap_err();
        assert!(told(error.kind()), "{error}");
        if is_root && world.size() > 1 {
            world.send(&[0xffu8; 3], 1, 0).unwrap();
        } else if world.rank() == 1 {
            let error = world.recv_object::<Task>(0, 0).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Decode { from: 0, .. }), "{error}");
        }
        world.barrier().unwrap();
    }
}
