//! What the engine does with memory that both sides map, what it does while the application
//! computes, and what it uses when idle.

mod engines;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engines::{data, envelope, from, irecv, isend, pair, recv, send, within};
use oxmpi_engine::{Engine, Mode, Options, Threads};

const LIMIT: Duration = Duration::from_secs(600);

/// A port buffer's bytes.
fn bytes_of(buffer: &oxmpi_engine::PortBuffer) -> &[u8] {
    // SAFETY: the buffer is alive, and nobody writes into it while the slice is.
    unsafe { std::slice::from_raw_parts(buffer.address(), buffer.bytes() as usize) }
}

/// Writes into a port buffer.
fn fill(buffer: &oxmpi_engine::PortBuffer, offset: usize, bytes: &[u8]) {
    assert!(offset + bytes.len() <= buffer.bytes() as usize);
    // SAFETY: inside the buffer by the assertion, and no slice of it is in use.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.address().add(offset), bytes.len())
    };
}

#[test]
fn messages_out_of_port_buffers_are_fetched_in_one_copy() {
    let options = Options {
        single_copy: false,
        ..Options::default()
    };
    let (left, right) = pair(&options, Threads::One);
    let buffer = left.allocate(5 << 20).unwrap();
    for (offset, bytes) in [(0, 200_000), (77, 1 << 20), (1 << 20, 4 << 20)] {
        fill(&buffer, offset, &data(1, bytes));
        within(LIMIT, "a port buffer", || {
            thread::scope(|scope| {
                scope.spawn(|| {
                    send(&left, 1, 1, &bytes_of(&buffer)[offset..offset + bytes]).unwrap()
                });
                let mut into = vec![0; bytes];
                recv(&right, 0, 1, &mut into).unwrap();
                assert!(into == data(1, bytes));
            });
        });
    }
    assert_eq!(
        right.counters().fetched,
        3,
        "all were fetched although single copy is off"
    );
}

#[test]
fn a_receive_in_place_copies_nothing_and_gives_back() {
    let (left, right) = pair(&Options::default(), Threads::One);
    let buffer = left.allocate(3 << 20).unwrap();
    let bytes = 2_500_000;
    fill(&buffer, 0, &data(7, bytes));
    let sending = isend(&left, 1, 4, &bytes_of(&buffer)[..bytes], Mode::Standard);
    within(LIMIT, "a receive in place", || {
        let claim = right.claim_wait(Some(0), from(0, 4)).unwrap();
        let in_place = right
            .in_place(claim)
            .unwrap()
            .expect("it lies in shared memory");
        assert_eq!(in_place.envelope(), envelope(0, 4, bytes));
        assert!(*in_place.bytes() == data(7, bytes));
        assert!(
            left.test(sending).unwrap().is_none(),
            "the receiver still looks at the bytes"
        );
        drop(in_place);
        left.wait(sending).unwrap();
    });
    // A message that lies elsewhere comes back to be received.
    let message = data(8, 300_000);
    let sending = isend(&left, 1, 4, &message, Mode::Standard);
    let claim = right.claim_wait(Some(0), from(0, 4)).unwrap();
    let claim = right
        .in_place(claim)
        .unwrap()
        .err()
        .expect("it does not lie in shared memory");
    let mut into = vec![0; 300_000];
    // SAFETY: `into` lives until the wait is over.
    let receiving = unsafe { right.irecv_claimed(claim, into.as_mut_ptr(), 300_000) };
    within(LIMIT, "a claimed message", || {
        thread::scope(|scope| {
            scope.spawn(|| left.wait(sending).unwrap());
            right.wait(receiving).unwrap();
        });
    });
    assert!(into == message);
}

#[test]
fn many_port_buffers_come_and_go() {
    let (left, right) = pair(&Options::default(), Threads::One);
    for round in 0..80 {
        let buffer = left.allocate(100_000).unwrap();
        fill(&buffer, 0, &data(round, 100_000));
        let sending = isend(&left, 1, 1, &bytes_of(&buffer)[..100_000], Mode::Standard);
        let mut into = vec![0; 100_000];
        recv(&right, 0, 1, &mut into).unwrap();
        left.wait(sending).unwrap();
        assert!(into == data(round, 100_000), "round {round}");
    }
}

/// Sixty-four mebibytes arrive while both applications compute, by the drivers alone.
#[test]
fn the_driver_completes_a_long_receive_while_the_application_computes() {
    for single_copy in [true, false] {
        let options = Options {
            single_copy,
            ..Options::default()
        };
        let (left, right) = pair(&options, Threads::One);
        let bytes = 64 << 20;
        let message = vec![5; bytes];
        let mut into = vec![0; bytes];
        let receiving = irecv(&right, 0, 1, &mut into);
        let sending = isend(&left, 1, 1, &message, Mode::Standard);
        // Nobody calls the engines: this is the computing.
        let until = Instant::now() + Duration::from_secs(300);
        while !(into[bytes - 1] == 5 && into[0] == 5) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
            std::hint::black_box(&mut into);
        }
        thread::sleep(Duration::from_millis(50));
        assert!(
            right.test(receiving).unwrap().is_some(),
            "single copy {single_copy}"
        );
        assert!(into.iter().all(|&byte| byte == 5));
        left.wait(sending).unwrap();
        left.finalize();
        right.finalize();
    }
}

/// CPU time this thread has used.
fn thread_cpu() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the structure when it returns 0, and only then is it read.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[test]
fn a_receive_that_waits_for_long_uses_no_cpu() {
    let (left, right) = pair(&Options::default(), Threads::One);
    within(LIMIT, "an idle receive", || {
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let before = thread_cpu();
                recv(&left, 1, 1, &mut [0; 8]).unwrap();
                thread_cpu() - before
            });
            thread::sleep(Duration::from_millis(1000));
            send(&right, 0, 1, &[1; 8]).unwrap();
            let used = waiting.join().unwrap();
            assert!(
                used < Duration::from_millis(10),
                "1 s of waiting took {used:?} of CPU"
            );
        });
    });
}

/// A receiver that takes a nap per message is woken for each of them.
#[test]
fn a_sleeper_is_woken_every_time() {
    let (left, right) = pair(&Options::default(), Threads::One);
    let talk = |engine: Arc<Engine>, other: u32| {
        for turn in 0..100u64 {
            if other == 1 {
                // Longer than the other side's patience.
                thread::sleep(Duration::from_micros(700 + turn * 3));
                send(&engine, other, 1, &turn.to_le_bytes()).unwrap();
            } else {
                let mut word = [0; 8];
                recv(&engine, other, 1, &mut word).unwrap();
                assert_eq!(u64::from_le_bytes(word), turn);
            }
        }
    };
    within(LIMIT, "a hundred sleeps", || {
        thread::scope(|scope| {
            scope.spawn(|| talk(Arc::clone(&left), 1));
            scope.spawn(|| talk(Arc::clone(&right), 0));
        });
    });
}

#[test]
fn memory_that_cannot_be_had_is_an_error_with_numbers() {
    let (left, _right) = pair(&Options::default(), Threads::One);
    let error = left
        .allocate(1 << 60)
        .err()
        .expect("an exbibyte is too much");
    assert!(
        error.to_string().starts_with(
            "rank 0 on host testhost: cannot reserve 1152921504606846976 bytes of shared memory"
        ),
        "{error}"
    );
    let error = left.allocate(u64::MAX).err().expect("this, too");
    assert!(error.to_string().contains("cannot reserve"), "{error}");
    assert!(
        left.allocate(1000).is_ok(),
        "what can be had is still given"
    );
}
