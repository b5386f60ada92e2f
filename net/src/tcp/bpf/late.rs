//! A stream that has ended before all that passed of it is in the socket: the kernel's worker that
//! brings it cannot be held back, so the test counts bytes that nobody brings.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use super::super::{Listener, Sent};
use super::overlap::pass_over;
use super::{Link, Tcp, find_bpf};
use crate::card::Card;
use crate::event::Event;
use crate::key::JobKey;
use crate::tcp::Progress;
use oxmpi_wire::{Content, Envelope, Kind, PREFIX_BYTES, Repr};

const LIMIT: Duration = Duration::from_secs(600);

/// Two processes with a connection from rank 1, which a BPF program reads in rank 0.
fn job() -> [Tcp; 2] {
    let listeners = [0, 1].map(|rank| Listener::bind(rank).unwrap());
    let cards: Vec<Card> = listeners
        .iter()
        .map(|one| one.card("here").unwrap())
        .collect();
    let key = JobKey::random().unwrap();
    let mut ranks = 0..;
    let mut job = listeners.map(|listener| {
        let cards = cards.clone();
        let directory = Box::new(move |peer: u32| Ok(cards[peer as usize].clone()));
        Tcp::new(ranks.next().unwrap(), 2, key.clone(), listener, directory).unwrap()
    });
    job[0].set_progress(Progress::Bpf).unwrap();
    let repr = Repr {
        envelope: Envelope {
            context: 3,
            source: 1,
            tag: 4,
            content: Content::new(0, 0),
        },
        sequence: 0,
        credit: 0,
        kind: Kind::Eager,
    };
    let mut prefix = [0; PREFIX_BYTES];
    let used = repr.emit_prefix(&mut prefix);
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < LIMIT, "no connection is made");
        let [receiver, sender] = &mut job;
        // SAFETY: there is no payload.
        let sent = unsafe { sender.send(0, &prefix[..used], prefix.as_ptr(), 0, false) };
        if let Sent::Left = sent {
            break;
        }
        assert!(receiver.poll().is_none() && sender.poll().is_none());
    }
    while !matches!(job[0].poll(), Some(Event::Packet { from: 1, .. })) {
        assert!(begun.elapsed() < LIMIT, "no packet comes");
    }
    job
}

#[test]
fn a_look_does_not_wait_for_what_is_on_its_way() {
    if let Err(error) = find_bpf() {
        return pass_over(&error);
    }
    let [mut receiver, sender] = job();
    let begun = Instant::now();
    let slot = |receiver: &Tcp| {
        let Link::Open(connection) = &receiver.links[1] else {
            panic!("rank 1 is lost after {:?}", begun.elapsed());
        };
        let slot = connection.slot.as_ref().unwrap();
        (slot.number, slot.ended.is_some())
    };
    let passed = |receiver: &Tcp, more: u64| {
        let side = receiver.bpf_side.as_ref().unwrap();
        let kernels = &side.area.state(slot(receiver).0).kernels.0;
        kernels.passed.fetch_add(more, SeqCst)
    };
    passed(&receiver, 1000);
    drop(sender);
    let mut looks = 0;
    while looks < 1000 {
        let reads = receiver.counters().reads;
        assert!(receiver.poll().is_none(), "rank 1 is lost");
        let reads = receiver.counters().reads - reads;
        assert!(reads <= 4, "{reads} reads in a look");
        if slot(&receiver).1 {
            assert!(!receiver.prepare_sleep(), "nobody would wake it");
            looks += 1;
        }
        assert!(begun.elapsed() < LIMIT, "its end is not heard");
    }
    passed(&receiver, 1000_u64.wrapping_neg());
    loop {
        match receiver.poll() {
            Some(Event::Lost(1)) => break,
            Some(other) => panic!("{other:?}"),
            None => assert!(begun.elapsed() < LIMIT, "nobody hears of the end"),
        }
    }
}
