//! Clients against servers over real sockets, as ranks and agents are; and launchers that
//! misbehave.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

use super::*;
use crate::message::MESSAGE_BYTES_MAX;
use crate::server::{Event, Facts, Left, Server};
use proptest::prelude::*;

/// Runs `rank` as every rank of a job whose hosts are given, with a server for every host and
/// fences carried between them; `version` says which protocol a rank speaks. Gives back how the
/// servers saw the ranks leave.
fn run(
    hosts: &[u32],
    version: impl Fn(u32) -> u32,
    rank: impl Fn(&mut Client) + Sync,
) -> Vec<Left> {
    let size = hosts.len() as u32;
    let on = |host| (0..size).filter(move |&rank| hosts[rank as usize] == host);
    let mut servers: BTreeMap<u32, Server> = hosts
        .iter()
        .map(|&host| {
            let facts = Facts {
                job: "test".to_owned(),
                size,
                hosts: hosts.to_vec(),
                local: on(host).collect(),
                programs: on(host).map(|rank| rank / 2).collect(),
            };
            (host, Server::new(facts))
        })
        .collect();
    let (sender, receiver) = channel();
    let mut sockets = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..size {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let mut reader = ours.try_clone().unwrap();
            sockets.push(ours);
            let sender = sender.clone();
            scope.spawn(move || {
                // Three bytes at a time: every message is cut somewhere.
                let mut bytes = [0; 3];
                while let Ok(count @ 1..) = reader.read(&mut bytes) {
                    sender.send((number, bytes[..count].to_vec())).unwrap();
                }
            });
            let (rank, version) = (&rank, version(number));
            scope.spawn(move || {
                let socket = Socket::new(theirs.into());
                rank(&mut Client::over(socket, number, size, version, "test").unwrap());
            });
        }
        drop(sender);
        let mut fencing = Vec::new();
        for (number, bytes) in receiver {
            let server = servers.get_mut(&hosts[number as usize]).unwrap();
            server.handle(number, &bytes);
            let mut events: Vec<_> = std::iter::from_fn(|| server.poll()).collect();
            if let Some(Event::Fence { puts }) = events.last_mut() {
                fencing.push(std::mem::take(puts));
                events.pop();
            }
            if fencing.len() == servers.len() {
                let all = std::mem::take(&mut fencing).concat();
                for server in servers.values_mut() {
                    server.fence_over(&all);
                    events.extend(std::iter::from_fn(|| server.poll()));
                }
            }
            for event in events {
                match event {
                    Event::Reply { rank, bytes } => {
                        sockets[rank as usize].write_all(&bytes).unwrap()
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    });
    (0..size)
        .map(|rank| servers[&hosts[rank as usize]].has_left(rank))
        .collect()
}

fn exchange(client: &mut Client, hosts: &[u32]) {
    let (rank, size) = (client.rank(), client.size());
    assert_eq!(client.hosts().unwrap().unwrap(), hosts);
    assert_eq!(client.program().unwrap(), Some(rank / 2));
    for key in ["first", "second"] {
        let value = |rank: u32| format!("{key}/{rank}").repeat(1 + 150 * rank as usize);
        client.put(key, &value(rank)).unwrap();
        client.fence().unwrap();
        for other in 0..size {
            assert_eq!(client.get(other, key).unwrap(), value(other));
        }
    }
    client.finalize().unwrap();
}

#[test]
fn every_rank_sees_what_every_other_has_put() {
    for (name, version) in [
        ("1", (|_| 1) as fn(u32) -> u32),
        ("2", |_| 2),
        ("both", |rank| 1 + rank % 2),
    ] {
        for hosts in [&[0][..], &[0, 0, 0], &[0, 1, 2], &[0, 0, 1, 1, 0]] {
            let left = run(hosts, version, |client| exchange(client, hosts));
            assert!(
                left.iter().all(|left| *left == Left::Finalised),
                "{name} {hosts:?} {left:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn however_ranks_lie_on_hosts(hosts in proptest::collection::vec(0u32..4, 1..9), mix in 0u32..4) {
        let hosts = mapping::in_order_of_ranks(hosts.into_iter());
        run(&hosts, |rank| 1 + (rank + mix) % 2, |client| exchange(client, &hosts));
    }
}

#[test]
fn a_long_map_without_pattern_arrives() {
    let hosts: Vec<u32> = (0..600u32).map(|rank| rank * rank % 997 % 7).collect();
    let hosts = mapping::in_order_of_ranks(hosts.into_iter());
    for version in [1, 2] {
        let mut server = Server::new(Facts {
            job: "test".to_owned(),
            size: 600,
            hosts: hosts.clone(),
            local: vec![3],
            programs: vec![0],
        });
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut client =
                    Client::over(Socket::new(theirs.into()), 3, 600, version, "test").unwrap();
                assert_eq!(client.hosts().unwrap().unwrap(), hosts);
            });
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = ours.read(&mut bytes) {
                server.handle(3, &bytes[..count]);
                while let Some(Event::Reply { bytes, .. }) = server.poll() {
                    ours.write_all(&bytes).unwrap();
                }
            }
        });
    }
}

#[test]
fn what_cannot_be_put_or_got_is_said() {
    run(
        &[0],
        |_| 1,
        |client| {
            let text = |result: Result<(), PmiError>| result.unwrap_err().to_string();
            for key in ["", "a b", "a=b", "ü"] {
                let error = text(client.put(key, "x"));
                assert_eq!(
                    error,
                    format!(
                        "{key:?} cannot be a key: letters, digits, '-', '_' and '.' can, and with the rank at most 63 of them"
                    )
                );
            }
            assert!(client.put(&"k".repeat(60), "x").is_err());
            for value in ["a b", "a;b", "a\\b", "a\n", "ü"] {
                let error = text(client.put("key", value));
                assert!(
                    error.starts_with("the value of \"key\" cannot be put ("),
                    "{error}"
                );
            }
            assert!(client.put("key", &"x".repeat(100_000)).is_err());
            let error = client.get(0, "key").unwrap_err();
            assert_eq!(
                error.to_string(),
                "rank 0 has put nothing under \"key\": does it run the same library, and has it reached the fence?"
            );
        },
    );
}

/// What a client of `version` says when the launcher's bytes are these.
fn answered(version: u32, bytes: &[u8]) -> String {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(bytes).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    match Client::over(Socket::new(theirs.into()), 0, 1, version, "test") {
        Ok(client) => format!("{} rank {}", client.launcher(), client.rank()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn launchers_that_misbehave_are_quoted() {
    let cases: [(u32, &[u8], &str); 7] = [
        (1, b"", "the launcher closed the connection during init: it has ended, or it ends the job"),
        (1, b"cmd=respo", "the launcher closed the connection during init: it has ended, or it ends the job"),
        (
            1,
            b"cmd=response_to_init rc=-1 msg=no_more\n",
            "the launcher refused init: rc=-1 no_more",
        ),
        (
            1,
            b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n",
            "the launcher answered init with \"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\" where version 1 of PMI was due",
        ),
        (
            1,
            b"SSH-2.0-OpenSSH\n",
            "the launcher's answer to init cannot be read: a PMI message names its command (cmd=...) first, this one says \"SSH-2.0-OpenSSH\"",
        ),
        (
            2,
            b"cmd=response_to_init pmi_version=2 rc=0\n    42cmd=fullinit-response;rc=14;errmsg=no room;",
            "the launcher refused fullinit: rc=14 no room",
        ),
        (
            2,
            b"cmd=response_to_init pmi_version=2 rc=0\n    38cmd=fullinit-response;rc=0;rank=;size=;",
            "the launcher answered fullinit with \"cmd=fullinit-response rc=0 rank= size=\" where rank and size was due",
        ),
    ];
    for (version, bytes, said) in cases {
        assert_eq!(answered(version, bytes), said);
    }
    let long = answered(1, &vec![b'x'; MESSAGE_BYTES_MAX + 1]);
    assert_eq!(
        long,
        "the launcher's answer to init cannot be read: a PMI message is longer than 65536 bytes"
    );
}

proptest! {
    #[test]
    fn arbitrary_answers_never_panic(version in 1u32..3, bytes in proptest::collection::vec(any::<u8>(), 0..200), hello: bool) {
        let mut answer = Vec::new();
        if hello {
            answer.extend_from_slice(format!("cmd=response_to_init pmi_version={version} rc=0\n").as_bytes());
        }
        answer.extend_from_slice(&bytes);
        answered(version, &answer);
    }
}
