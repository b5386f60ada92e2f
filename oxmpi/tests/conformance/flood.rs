//! A sender that runs ahead of its receiver: memory stays bounded, nothing is lost, and the order
//! holds.

use std::time::Duration;

/// Messages of 1 KiB; a hundred thousand by default, a million with OXMPI_TEST_LONG.
fn messages() -> usize {
    match std::env::var_os("OXMPI_TEST_LONG") {
        None => 100_000,
        Some(_) => 1_000_000,
    }
}

/// How long the receiver sleeps before it receives anything.
fn nap() -> Duration {
    match std::env::var_os("OXMPI_TEST_LONG") {
        None => Duration::from_millis(500),
        Some(_) => Duration::from_secs(5),
    }
}

/// The most memory this process has had, in bytes.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

oxmpi_harness::ranks! {
    /// Blocking sends: what the receiver has no room for stays at its sender.
    fn a_flood_of_sends_takes_no_memory_of_a_sleeping_receiver([2], [&[], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "auto")]]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let count = messages();
        let mut message = vec![0u64; 128];
        if world.rank() == 0 {
            for number in 0..count as u64 {
                message[0] = number;
                message[127] = !number;
                world.send(&message, 1, 3).unwrap();
            }
        } else {
            let before = peak_bytes();
            std::thread::sleep(nap());
            for number in 0..count as u64 {
                world.recv(&mut message, 0, 3).unwrap();
                assert_eq!((message[0], message[127]), (number, !number));
            }
            let grown = peak_bytes() - before;
            assert!(grown < 24 << 20, "{} MiB more for {count} messages", grown >> 20);
        }
    }

    /// Sends without waiting: the bytes stay at the sender, and the receiver keeps the headers,
    /// some hundred bytes each.
    fn a_flood_of_offers_costs_their_headers([2], [&[], &[("OXMPI_SHARED_MEMORY", "off"), ("OXMPI_NET", "auto")]]) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        let count = messages() / 10;
        if world.rank() == 0 {
            let data: Vec<[u64; 128]> = (0..count as u64).map(|number| [number; 128]).collect();
            oxmpi::scope(|scope| {
                let requests: Vec<_> = data.iter().map(|message| world.isend(scope, message, 1, 3).unwrap()).collect();
                requests.into_iter().try_for_each(|request| request.wait().map(|_| ()))
            })
            .unwrap();
        } else {
            let before = peak_bytes();
            std::thread::sleep(nap());
            let mut message = [0u64; 128];
            for number in 0..count as u64 {
                world.recv(&mut message, 0, 3).unwrap();
                assert_eq!(message, [number; 128]);
            }
            let grown = peak_bytes() - before;
            assert!(grown < (24 << 20) + 512 * count, "{} MiB more for {count} messages", grown >> 20);
        }
    }
}
