//! A process of this host that sends garbage: the others part with it, and go on among themselves.

mod engines;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engines::{Random, all_facts, nonsense, survive_garbage, within};
use oxmpi_engine::{Engine, Options, Threads};
use oxmpi_ports::{Port, Segment};
use oxmpi_wire::{HEADER_BYTES, PREFIX_BYTES};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn garbage_in_shared_memory_concerns_its_sender_alone() {
    for seed in 0..24 {
        let (mut all_facts, options, segment) = all_facts(vec![0; 4], &Options::default());
        let rogue = all_facts.pop().unwrap().segment.unwrap();
        let rogue = Port::open(Arc::new(Segment::attach(rogue).unwrap()), 3);
        let mut rogue = rogue.unwrap();
        // SAFETY: each engine is used by one thread.
        let attach = |facts| unsafe { Engine::attach(facts, &options, Threads::One) };
        let engines: Vec<Engine> = all_facts
            .into_iter()
            .map(|facts| attach(facts).unwrap())
            .collect();
        within(LIMIT, &format!("garbage, seed {seed}"), || {
            thread::scope(|scope| {
                for engine in &engines {
                    scope.spawn(move || {
                        survive_garbage(engine, 10);
                        engine.finalize();
                    });
                }
                let mut random = Random(seed);
                for to in 0..3 {
                    // The last one is surely garbage, bytes by chance of a version that is none.
                    for left in (0..1 + random.below(4)).rev() {
                        let (mut prefix, mut used, payload) = nonsense(&mut random);
                        if left == 0 {
                            prefix.fill_with(|| random.any() as u8);
                            prefix[0] = 0xff;
                            used = HEADER_BYTES;
                        }
                        thread::sleep(Duration::from_micros(random.below(2000) as u64));
                        let emit = |out: &mut [u8; PREFIX_BYTES]| *out = prefix;
                        let fill = |out: &mut [u8]| out.copy_from_slice(&payload);
                        rogue.send(to, used, emit, payload.len(), fill).unwrap();
                    }
                }
            });
        });
        drop(segment);
    }
}
