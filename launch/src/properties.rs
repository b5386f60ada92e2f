//! What holds whatever an agent, a head or a file says. The tests of this crate and the fuzzer
//! (`fuzz/targets`) call the same.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::channel::{Greeting, Inbox, Outbox};
use crate::frame::{Down, Up};
use crate::hosts::file;

/// The first byte says in which direction frames go, whether a greeting comes first, and how the
/// rest is cut. Nothing panics, the cut does not matter, and an accepted frame survives being sent.
pub fn frames(input: &[u8]) {
    let Some((&choices, said)) = input.split_first() else {
        return;
    };
    let cut = usize::from(choices >> 2).max(1);
    let greeted = choices & 2 != 0;
    match choices & 1 {
        0 => assert_eq!(
            heard::<Up>(said, greeted, cut),
            heard(said, greeted, said.len())
        ),
        _ => assert_eq!(
            heard::<Down>(said, greeted, cut),
            heard(said, greeted, said.len())
        ),
    }
}

/// The frames that are found in what was said.
fn heard<T>(said: &[u8], mut greeted: bool, cut: usize) -> Vec<T>
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let (mut inbox, mut found) = (Inbox::default(), Vec::new());
    for piece in said.chunks(cut.max(1)) {
        inbox.put(piece);
        if greeted {
            match inbox.greeting() {
                Greeting::Ours => greeted = false,
                Greeting::Waiting => continue,
                Greeting::Foreign(_) | Greeting::Noise => return found,
            }
        }
        loop {
            match inbox.next::<T>() {
                Ok(Some(frame)) => {
                    survives(&frame);
                    found.push(frame);
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    return found;
                }
            }
        }
    }
    found
}

fn survives<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(frame: &T) {
    let (mut outbox, mut bytes, mut inbox) = (Outbox::default(), Vec::new(), Inbox::default());
    outbox.put(frame);
    outbox.flush(&mut bytes).expect("a vector takes everything");
    inbox.put(&bytes);
    assert_eq!(
        inbox.next::<T>().as_ref().map(Option::as_ref),
        Ok(Some(frame))
    );
}

/// A job description that an agent accepts names a program for every rank, or there is none.
pub fn job_spec(input: &[u8]) {
    let mut inbox = Inbox::default();
    inbox.put(&(input.len() as u32).to_le_bytes());
    inbox.put(input);
    let Ok(Some(Down::Run(spec))) = inbox.next() else {
        return;
    };
    for rank in 0..spec.size() {
        let program = spec.program_of(rank);
        assert!(program < spec.programs.len().max(1));
    }
    let local: usize = spec
        .host_of
        .first()
        .map_or(0, |host| spec.local(*host).len());
    assert!(local <= spec.host_of.len());
}

/// A hostfile gives hosts that can take a rank, or an error that says which line is wrong.
pub fn hostfile(input: &[u8]) {
    match file::parse(&String::from_utf8_lossy(input), "hosts") {
        Ok(hosts) => {
            assert!(!hosts.is_empty());
            for host in hosts {
                assert!(!host.name.is_empty() && host.slots > 0, "{host:?}");
                assert!(
                    host.slots_max.is_none_or(|most| host.slots <= most),
                    "{host:?}"
                );
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[cfg(test)]
#[path = "../../fuzz/corpus.rs"]
mod corpus;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kept_input_keeps_the_properties() {
        corpus::each("launcher_frames", frames);
        corpus::each("launcher_orders", job_spec);
        corpus::each("hostfile", hostfile);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_keep_the_properties(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            frames(&bytes);
            job_spec(&bytes);
            hostfile(&bytes);
        }
    }

    #[test]
    #[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p oxmpi-launch seeds -- --ignored"]
    fn write_the_seeds() {
        let written = |put: &dyn Fn(&mut Outbox)| {
            let (mut outbox, mut bytes) = (Outbox::default(), Vec::new());
            put(&mut outbox);
            outbox.flush(&mut bytes).expect("a vector takes everything");
            bytes
        };
        let down = written(&|outbox| {
            outbox.put(&Down::Signal(15));
            outbox.put(&Down::Stdin(vec![7; 30]));
            outbox.put(&Down::Credit {
                host: 1,
                bytes: 300,
            });
            outbox.put(&Down::FenceOver(vec![("a".to_owned(), "b".to_owned())]));
            outbox.put(&Down::End);
        });
        corpus::write("launcher_frames", "down", &[&[!2], &down[..]].concat());
        corpus::write(
            "launcher_frames",
            "down-in-pieces",
            &[&[5], &down[..]].concat(),
        );
        let up = written(&|outbox| {
            outbox.greet();
            outbox.put(&Up::Started { rank: 3, pid: 300 });
            outbox.put(&Up::Lost {
                hosts: vec![1, 2],
                text: "gone".to_owned(),
            });
            outbox.put(&Up::Fence(vec![("a".to_owned(), "b".to_owned())]));
            outbox.put(&Up::StdinTaken { rank: 0, bytes: 9 });
            outbox.put(&Up::Over { host: 1 });
        });
        let noise = [b"Welcome!\n", &up[..]].concat();
        corpus::write("launcher_frames", "up", &[&[0xfe], &noise[..]].concat());
        let programs = |ranks: [u32; 2]| {
            let program = |ranks| crate::frame::Program {
                path: "/bin/true".into(),
                argv0: "true".into(),
                arguments: vec!["-v".into()],
                ranks,
                wdir: None,
                env: vec![("A".into(), "b".into())],
            };
            ranks.map(program).to_vec()
        };
        // A sum of ranks that no integer holds is no reason to panic.
        for (name, ranks) in [("two-programs", [2, 1]), ("too-many-ranks", [1, u32::MAX])] {
            let orders = Down::Run(Box::new(crate::frame::JobSpec {
                name: "job".to_owned(),
                host_of: vec![0, 0, 1],
                cpus: vec![2, 2],
                programs: programs(ranks),
                inherited: vec![("PATH".into(), "/bin".into())],
                env: Vec::new(),
                bind: crate::Bind::default(),
                stdin: crate::Stdin::Rank(0),
            }));
            let orders = written(&|outbox| outbox.put(&orders));
            corpus::write("launcher_orders", name, &orders[4..]);
        }
        let both =
            b"# nodes\n\na:4   # first\r\nb slots=2 max_slots=8\n  c\nd slots=9 max-slots=3\na\n";
        corpus::write("hostfile", "both-syntaxes", both);
        // The limit of one line is a limit of the host.
        corpus::write(
            "hostfile",
            "twice-with-one-limit",
            b"d slots=9\nd slots=9 max_slots=3\n",
        );
        corpus::write(
            "hostfile",
            "addresses",
            b"[fe80::1]:4\n10.0.0.7:2\nnode-1.example slots=1\n",
        );
    }
}
