//! What holds whatever the other side says: a server of hostile ranks, a client of a hostile
//! launcher. The tests of this crate and the fuzzer (`fuzz/targets`) call the same.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use crate::RANKS_MAX;
use crate::client::Client;
use crate::message::MESSAGE_BYTES_MAX;
use crate::server::{Event, Facts, Server};
use crate::socket::Socket;

/// A socket holds so much of what a launcher said while nobody reads: more would block.
const SAID_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// The input is a list: a byte that says which of two ranks speaks and how long, then its words;
/// one that says nothing ends. Nothing panics, and a rank that has ended gets no answer.
pub fn server(input: &[u8]) {
    let mut server = Server::new(Facts {
        job: "job 7".to_owned(),
        size: 3,
        hosts: vec![0, 0, 1],
        local: vec![0, 1],
        programs: vec![0, 1],
    });
    let mut ended = [false; 2];
    let mut rest = input;
    while let Some((&choice, after)) = rest.split_first() {
        let (said, after) = after.split_at(after.len().min(usize::from(choice >> 1) * 4));
        rest = after;
        let rank = u32::from(choice & 1);
        match (ended[rank as usize], said.is_empty()) {
            (true, _) => {}
            (false, true) => {
                ended[rank as usize] = true;
                server.handle_end(rank);
            }
            (false, false) => server.handle(rank, said),
        }
        while let Some(event) = server.poll() {
            match event {
                Event::Reply { rank, bytes } => {
                    assert!(!ended[rank as usize] && !bytes.is_empty());
                }
                Event::Fence { puts } => server.fence_over(&puts),
                Event::Deserted { .. } => assert_eq!(ended, [true; 2]),
                Event::Abort { .. } => {}
            }
        }
    }
}

/// The first byte says which protocol; the rest is all that the launcher ever says. The client gets
/// an error or believable facts.
pub fn client(input: &[u8]) {
    let Some((&choices, said)) = input.split_first() else {
        return;
    };
    let said = &said[..said.len().min(SAID_BYTES_MAX)];
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(said).expect("room in a socket");
    theirs.shutdown(Shutdown::Write).expect("a socket of ours");
    let version = u32::from(choices & 1) + 1;
    let socket = Socket::new(ours.into());
    if let Err(error) = converse(socket, version) {
        assert!(!error.to_string().is_empty());
    }
}

fn converse(socket: Socket, version: u32) -> Result<(), crate::PmiError> {
    let mut client = Client::over(socket, 1, 3, version, "a launcher")?;
    assert!(client.rank() < client.size() && client.size() <= RANKS_MAX);
    if let Some(hosts) = client.hosts()? {
        assert_eq!(hosts.len(), client.size() as usize);
    }
    client.put("card", "a value")?;
    client.fence()?;
    client.get(0, "card")?;
    client.finalize()
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
        corpus::each("pmi_server", server);
        corpus::each("pmi_client", client);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_keep_the_properties(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            server(&bytes);
            client(&bytes);
        }
    }

    const LINES: &str = "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_my_kvsname\n\
        cmd=put kvsname=job_7 key=card-0 value=1:abc\ncmd=get kvsname=job_7 key=card-0\n\
        mcmd=spawn\nnprocs=2\nendcmd\ncmd=barrier_in\ncmd=finalize\n";
    const BODIES: [&str; 7] = [
        "cmd=fullinit;pmijobid=job_7;pmirank=1;threaded=FALSE;",
        "cmd=job-getid;",
        "cmd=kvs-put;key=card-1;value=1:abc;",
        "cmd=info-getnodeattr;key=a;wait=TRUE;",
        "cmd=info-putnodeattr;key=a;value=b;;c;",
        "cmd=kvs-fence;",
        "cmd=finalize;",
    ];
    const ANSWERS: &str = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n\
        cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=my_kvsname rc=0 kvsname=job_7\n\
        cmd=get_result rc=0 value=(vector,(0,2,2))\ncmd=put_result rc=0\ncmd=barrier_out rc=0\n\
        cmd=get_result rc=0 value=1:abc\ncmd=finalize_ack rc=0\n";
    const REPLIES: [&str; 7] = [
        "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=3;appnum=0;rc=0;",
        "cmd=job-getid-response;jobid=job_7;rc=0;",
        "cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,2,2));rc=0;",
        "cmd=kvs-put-response;rc=0;",
        "cmd=kvs-fence-response;rc=0;",
        "cmd=kvs-get-response;found=TRUE;value=1:abc;rc=0;",
        "cmd=finalize-response;rc=0;",
    ];

    /// What a rank says, as the server's input has it.
    fn speech(rank: u8, words: &[u8]) -> Vec<u8> {
        let mut input = Vec::new();
        for piece in words.chunks(4) {
            let mut piece = piece.to_vec();
            piece.resize(4, b'\n');
            input.push(2 | rank);
            input.extend(piece);
        }
        input
    }

    fn frames(bodies: &[&str]) -> String {
        bodies
            .iter()
            .map(|body| format!("{:6}{body}", body.len()))
            .collect()
    }

    #[test]
    #[ignore = "writes fuzz/corpus, after a change of the format: cargo test -p oxmpi-pmi seeds -- --ignored"]
    fn write_the_seeds() {
        corpus::write("pmi_server", "pmi-1", &speech(0, LINES.as_bytes()));
        let frames_said = format!(
            "cmd=init pmi_version=2 pmi_subversion=0\n{}",
            frames(&BODIES)
        );
        corpus::write("pmi_server", "pmi-2", &speech(1, frames_said.as_bytes()));
        let left = [&speech(0, LINES.as_bytes())[..], &[1, 0]].concat();
        corpus::write("pmi_server", "ends", &left);
        corpus::write("pmi_client", "pmi-1", &[&[0], ANSWERS.as_bytes()].concat());
        let opening = "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n";
        let said = format!("{opening}{}", frames(&REPLIES));
        corpus::write("pmi_client", "pmi-2", &[&[1], said.as_bytes()].concat());
    }
}
