//! What happens to frames, seen by a recording device inside.

use std::thread::sleep;

use super::super::recorder::{Record, Recorder, batch_of};
use super::*;
use std::sync::{Arc, Mutex};

const TO: Address = Address::Ethernet([2, 0, 0, 0, 0, 1]);

fn faulty(text: &str) -> (Fault, Arc<Mutex<Record>>) {
    let (device, record) = Recorder::pair();
    (Fault::new(device, text.parse().unwrap(), 0), record)
}

fn numbered(numbers: std::ops::Range<u32>) -> Batch {
    batch_of(numbers.map(|number| number.to_le_bytes().to_vec()))
}

fn numbers(record: &Mutex<Record>) -> Vec<u32> {
    let frames = record.lock().unwrap().frames();
    frames
        .iter()
        .map(|frame| u32::from_le_bytes(frame[..].try_into().unwrap()))
        .collect()
}

#[test]
fn without_faults_batches_pass_whole() {
    let (mut fault, record) = faulty("seed=3");
    assert_eq!(fault.send(&TO, &numbered(0..50)).unwrap(), 50);
    let batches: Vec<usize> = record
        .lock()
        .unwrap()
        .sent
        .iter()
        .map(|sent| sent.1.len())
        .collect();
    assert_eq!(batches, [50]);
    assert_eq!(fault.counters().faults, 0);
    assert_eq!(fault.nap_max(), None);
}

#[test]
fn loss_drops_some_and_keeps_the_batches_around_them() {
    let (mut fault, record) = faulty("loss=2%,seed=3");
    assert_eq!(fault.send(&TO, &numbered(0..5000)).unwrap(), 5000);
    let arrived = numbers(&record);
    let lost = 5000 - arrived.len();
    assert!((50..200).contains(&lost), "{lost} lost with seed 3");
    assert!(arrived.is_sorted());
    assert_eq!(fault.counters().faults, lost as u64);
    // Each loss cuts a run in two.
    assert!(record.lock().unwrap().sent.len() <= lost + 1);
}

#[test]
fn a_seed_says_everything_whatever_the_batches() {
    let all = "loss=5%,duplicate=5%,reorder=5%,corrupt=5%,seed=11";
    let arrivals: Vec<_> = [1, 7, 500]
        .into_iter()
        .map(|at_once| {
            let (mut fault, record) = faulty(all);
            for begin in (0..500).step_by(at_once) {
                let batch = numbered(begin..(begin + at_once as u32).min(500));
                assert_eq!(fault.send(&TO, &batch).unwrap(), batch.len());
            }
            drop(fault);
            numbers(&record)
        })
        .collect();
    // Reordered frames also leave by time, so only what arrived is compared, not when.
    let sorted = |mut numbers: Vec<u32>| {
        numbers.sort_unstable();
        numbers
    };
    let [one, few, many] = arrivals.try_into().unwrap();
    let one = sorted(one);
    assert_eq!(one, sorted(few));
    assert_eq!(one, sorted(many));
    let other_node = {
        let (device, record) = Recorder::pair();
        let mut fault = Fault::new(device, all.parse().unwrap(), 1);
        fault.send(&TO, &numbered(0..500)).unwrap();
        drop(fault);
        sorted(numbers(&record))
    };
    assert_ne!(one, other_node);
}

#[test]
fn duplicates_are_equal() {
    let (mut fault, record) = faulty("duplicate=100%");
    fault.send(&TO, &numbered(0..3)).unwrap();
    assert_eq!(numbers(&record), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn corruption_turns_one_bit_over() {
    let (mut fault, record) = faulty("corrupt=100%");
    fault.send(&TO, &numbered(0..100)).unwrap();
    for (sent, arrived) in numbers(&record).into_iter().enumerate() {
        assert_eq!((sent as u32 ^ arrived).count_ones(), 1);
    }
}

#[test]
fn reordered_frames_are_overtaken_by_few_and_never_stay() {
    let (mut fault, record) = faulty("reorder=10%,seed=5");
    fault.send(&TO, &numbered(0..400)).unwrap();
    let arrived = numbers(&record);
    assert!(!arrived.is_sorted());
    for (place, number) in arrived.iter().enumerate() {
        let late = place as i64 - i64::from(*number);
        assert!(
            late <= OVERTAKERS_MAX as i64,
            "{number} was {late} late with seed 5"
        );
    }
    // With nobody left to overtake the last ones, time does it.
    sleep(fault.nap_max().unwrap_or_default());
    fault.poll();
    let mut arrived = numbers(&record);
    arrived.sort_unstable();
    assert_eq!(arrived, (0..400).collect::<Vec<_>>());
    assert_eq!(fault.nap_max(), None);
}

#[test]
fn delay_holds_frames_and_tells_the_sleeper() {
    let (mut fault, record) = faulty("delay=20ms");
    assert_eq!(fault.send(&TO, &numbered(0..3)).unwrap(), 3);
    fault.poll();
    assert!(numbers(&record).is_empty());
    let nap = fault.nap_max().unwrap();
    assert!(nap <= Duration::from_millis(20));
    sleep(nap);
    assert!(fault.prepare_sleep());
    sleep(fault.nap_max().unwrap_or_default());
    fault.poll();
    assert_eq!(numbers(&record), [0, 1, 2]);
    assert_eq!(fault.nap_max(), None);
    assert_eq!(fault.counters().faults, 3);
}

#[test]
fn memory_is_bounded_and_a_full_device_says_so() {
    let (mut fault, _record) = faulty("delay=10s");
    let all = HELD_MAX as u32 + 100;
    let taken = fault.send(&TO, &numbered(0..all)).unwrap();
    assert!(taken <= HELD_MAX);
    assert_eq!(fault.send(&TO, &numbered(0..10)).unwrap(), 0);
}

#[test]
fn what_a_full_device_does_not_take_meets_its_fate_later() {
    let (mut fault, record) = faulty("duplicate=20%,corrupt=10%,loss=10%,seed=2");
    let (mut easy, expected) = faulty("duplicate=20%,corrupt=10%,loss=10%,seed=2");
    easy.send(&TO, &numbered(0..200)).unwrap();
    let batch = numbered(0..200);
    let mut begin = 0;
    let mut part = Part::default();
    while begin < 200 {
        record.lock().unwrap().room = Some(3);
        begin += part
            .of(&batch, begin, 200, |rest| fault.send(&TO, rest))
            .unwrap();
    }
    drop(fault);
    // A twin for which there was no room is lost; everything else is the same.
    let (mut got, mut wanted) = (numbers(&record), numbers(&expected));
    got.dedup();
    wanted.dedup();
    assert_eq!(got.len(), wanted.len());
}

#[test]
fn what_is_on_its_way_arrives_although_its_sender_is_gone() {
    let (mut fault, record) = faulty("delay=1s,reorder=50%");
    fault.send(&TO, &numbered(0..10)).unwrap();
    drop(fault);
    let mut arrived = numbers(&record);
    arrived.sort_unstable();
    assert_eq!(arrived, (0..10).collect::<Vec<_>>());
}

#[test]
fn errors_of_the_device_inside_reach_the_caller() {
    let (mut fault, record) = faulty("loss=1%,seed=1");
    record.lock().unwrap().broken = Some(io::ErrorKind::NetworkDown);
    let error = fault.send(&TO, &numbered(0..4)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
}
