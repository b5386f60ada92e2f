//! Conversations with the server, line by line, from the text of PMI-1 and PMI-2; and what hostile
//! ranks achieve.

use super::*;
use crate::message::MESSAGE_BYTES_MAX;
use proptest::prelude::*;

fn server(local: &[u32], hosts: &[u32]) -> Server {
    Server::new(Facts {
        job: "job 7".to_owned(),
        size: hosts.len() as u32,
        hosts: hosts.to_vec(),
        local: local.to_vec(),
        programs: local.iter().map(|rank| u32::from(*rank > 2)).collect(),
    })
}

/// Says something and hears what the same rank gets back.
fn say(server: &mut Server, rank: u32, text: &str) -> String {
    server.handle(rank, text.as_bytes());
    let mut heard = String::new();
    while let Some(event) = server.poll() {
        match event {
            Event::Reply { rank: to, bytes } => {
                assert_eq!(to, rank);
                heard.push_str(std::str::from_utf8(&bytes).unwrap());
            }
            other => panic!("{other:?}"),
        }
    }
    heard
}

fn frame(body: &str) -> String {
    format!("{:6}{body}", body.len())
}

#[test]
fn a_conversation_in_pmi_1() {
    let server = &mut server(&[0, 1], &[0, 0, 1, 1]);
    assert_eq!(server.has_left(0), Left::NeverSpoke);
    let golden = [
        (
            "cmd=init pmi_version=1 pmi_subversion=1\n",
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n",
        ),
        (
            "cmd=get_maxes\n",
            "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n",
        ),
        ("cmd=get_appnum\n", "cmd=appnum rc=0 appnum=0\n"),
        (
            "cmd=get_my_kvsname\n",
            "cmd=my_kvsname rc=0 kvsname=job_7\n",
        ),
        ("cmd=get_universe_size\n", "cmd=universe_size rc=0 size=4\n"),
        (
            "cmd=get kvsname=job_7 key=PMI_process_mapping\n",
            "cmd=get_result rc=0 value=(vector,(0,2,2))\n",
        ),
        (
            "cmd=get kvsname=job_7 key=a\n",
            "cmd=get_result rc=-1 msg=there_is_nothing_under_a\n",
        ),
        (
            "cmd=put kvsname=job_7 key=a value=x=y\n",
            "cmd=put_result rc=0\n",
        ),
        (
            "cmd=get kvsname=job_7 key=a\n",
            "cmd=get_result rc=0 value=x=y\n",
        ),
        (
            "cmd=publish_name service=s port=p\n",
            "cmd=publish_result rc=-1 msg=names_are_not_published_by_this_launcher\n",
        ),
        (
            "mcmd=spawn\nnprocs=1\nexecname=a\nendcmd\n",
            "cmd=spawn_result rc=-1 msg=this_launcher_starts_no_further_processes\n",
        ),
        (
            "cmd=dance\n",
            "cmd=dance_result rc=-1 msg=this_launcher_does_not_know_the_command\n",
        ),
        ("cmd=finalize\n", "cmd=finalize_ack rc=0\n"),
    ];
    for (index, (said, heard)) in golden.into_iter().enumerate() {
        assert_eq!(say(server, 0, said), heard, "{said}");
        let left = if index + 1 == golden.len() {
            Left::Finalised
        } else {
            Left::Initialised
        };
        assert_eq!(server.has_left(0), left);
    }
    assert_eq!(server.has_left(1), Left::NeverSpoke);
}

#[test]
fn a_conversation_in_pmi_2() {
    let server = &mut server(&[3], &[0, 1, 0, 1]);
    let hello = say(server, 3, "cmd=init pmi_version=2 pmi_subversion=0\n");
    assert_eq!(
        hello,
        "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
    );
    let golden = [
        (
            "cmd=fullinit;pmijobid=1;pmirank=3;threaded=FALSE;",
            "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=4;appnum=1;debugged=FALSE;pmiverbose=FALSE;",
        ),
        (
            "cmd=job-getid;thrid=0x7f;",
            "cmd=job-getid-response;thrid=0x7f;rc=0;jobid=job_7;",
        ),
        (
            "cmd=info-getjobattr;key=PMI_process_mapping;",
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,1));",
        ),
        (
            "cmd=info-getjobattr;key=universeSize;",
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=4;",
        ),
        (
            "cmd=info-getjobattr;key=colour;",
            "cmd=info-getjobattr-response;rc=0;found=FALSE;",
        ),
        ("cmd=kvs-put;key=a;value=b;", "cmd=kvs-put-response;rc=0;"),
        (
            "cmd=kvs-get;jobid=job_7;srcid=-1;key=a;",
            "cmd=kvs-get-response;rc=0;found=TRUE;value=b;",
        ),
        (
            "cmd=name-lookup;name=a;",
            "cmd=name-lookup-response;rc=-1;errmsg=names are not published by this launcher;",
        ),
        ("cmd=finalize;", "cmd=finalize-response;rc=0;"),
    ];
    for (said, heard) in golden {
        assert_eq!(say(server, 3, &frame(said)), frame(heard), "{said}");
    }
}

#[test]
fn a_question_for_a_value_of_the_host_waits_for_it() {
    let server = &mut server(&[0, 1], &[0, 0]);
    for rank in [0, 1] {
        say(server, rank, "cmd=init pmi_version=2 pmi_subversion=0\n");
    }
    let ask = |wait| {
        frame(&format!(
            "cmd=info-getnodeattr;thrid=9;key=shm;wait={wait};"
        ))
    };
    assert!(say(server, 0, &ask("FALSE")).contains("found=FALSE;"));
    assert_eq!(say(server, 0, &ask("TRUE")), "");
    server.handle(
        1,
        frame("cmd=info-putnodeattr;key=shm;value=/x;").as_bytes(),
    );
    let reply = |rank, text: &str| {
        Some(Event::Reply {
            rank,
            bytes: frame(text).into_bytes(),
        })
    };
    assert_eq!(
        server.poll(),
        reply(1, "cmd=info-putnodeattr-response;rc=0;")
    );
    assert_eq!(
        server.poll(),
        reply(
            0,
            "cmd=info-getnodeattr-response;thrid=9;rc=0;found=TRUE;value=/x;"
        )
    );
    assert_eq!(server.poll(), None);
    let last = (0..=WAITING_MAX)
        .map(|_| say(server, 0, &ask("TRUE").replace("shm", "key")))
        .last();
    assert!(
        last.unwrap()
            .contains("errmsg=64 questions of this rank are waiting already")
    );
}

#[test]
fn a_fence_is_over_when_the_launcher_says_so() {
    let server = &mut server(&[2, 3], &[0, 0, 1, 1]);
    say(
        server,
        2,
        "cmd=init pmi_version=1 pmi_subversion=1\ncmd=put kvsname=k key=a value=1\n",
    );
    say(server, 3, "cmd=init pmi_version=2 pmi_subversion=0\n");
    assert_eq!(say(server, 2, "cmd=barrier_in\n"), "");
    server.handle(3, frame("cmd=kvs-fence;thrid=5;").as_bytes());
    let pair = |key: &str| (key.to_owned(), "1".to_owned());
    assert_eq!(
        server.poll(),
        Some(Event::Fence {
            puts: vec![pair("a")]
        })
    );
    assert_eq!(server.poll(), None);
    server.fence_over(&[pair("a"), pair("b")]);
    let reply = |rank, text: &str| {
        Some(Event::Reply {
            rank,
            bytes: text.as_bytes().to_vec(),
        })
    };
    assert_eq!(server.poll(), reply(2, "cmd=barrier_out rc=0\n"));
    assert_eq!(
        server.poll(),
        reply(3, &frame("cmd=kvs-fence-response;thrid=5;rc=0;"))
    );
    assert_eq!(
        say(server, 2, "cmd=get kvsname=k key=b\n"),
        "cmd=get_result rc=0 value=1\n"
    );
}

#[test]
fn a_map_that_is_longer_than_a_value_is_read_in_pieces() {
    // Squares deal ranks without a pattern that a short list could say.
    let hosts: Vec<u32> = (0..600u32).map(|rank| rank * rank % 997 % 7).collect();
    let server = &mut server(&[0], &hosts);
    let heard = say(server, 0, "cmd=get kvsname=k key=PMI_process_mapping\n");
    assert!(heard.contains("rc=-1"), "{heard}");
    let heard = say(server, 0, "cmd=get kvsname=k key=oxmpi-process-mapping\n");
    assert!(
        heard.starts_with("cmd=get_result rc=0 value=") && heard.contains(":(vector,("),
        "{heard}"
    );
}

#[test]
fn the_end_of_the_job() {
    let end = |version: u32, text: &str| {
        let server = &mut server(&[1], &[0, 0]);
        server.handle(
            1,
            format!("cmd=init pmi_version={version} pmi_subversion=0\n").as_bytes(),
        );
        server.poll().unwrap();
        server.handle(1, text.as_bytes());
        server.handle(1, b"cmd=get_maxes\n");
        let event = server.poll();
        assert_eq!(server.poll(), None, "nothing is read after the end");
        event
    };
    let abort = |code, text: &str| {
        Some(Event::Abort {
            rank: 1,
            code,
            text: text.to_owned(),
        })
    };
    assert_eq!(
        end(1, "cmd=abort exitcode=7 message=out\\ of\\ luck\n"),
        abort(7, "out of luck")
    );
    assert_eq!(end(1, "cmd=abort\n"), abort(1, ""));
    assert_eq!(
        end(2, &frame("cmd=abort;isworld=TRUE;msg=out of luck;")),
        abort(1, "out of luck")
    );
    let said = "rank 1 does not keep to the PMI protocol: a PMI message is longer than 65536 bytes";
    assert_eq!(end(1, &"x".repeat(MESSAGE_BYTES_MAX + 1)), abort(1, said));
    let said = "rank 1 does not keep to the PMI protocol: a PMI-2 message begins with its length in 6 digits, not with \"cmd=ge\"";
    assert_eq!(end(2, "cmd=get_maxes\n"), abort(1, said));
    let server = &mut server(&[0, 1], &[0, 0]);
    server.handle(0, b"cmd=barrier_in\ncmd=barrier_in\n");
    let said = "rank 0 entered a PMI fence twice".to_owned();
    assert_eq!(
        server.poll(),
        Some(Event::Abort {
            rank: 0,
            code: 1,
            text: said
        })
    );
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let commands = [
        "cmd=init pmi_version=1\n",
        "cmd=init pmi_version=2\n",
        "cmd=init\n",
        "mcmd=spawn\n",
        "endcmd\n",
        "cmd=put key=a value=b\n",
        "cmd=get key=a\n",
        "cmd=barrier_in\n",
        "    14cmd=kvs-fence;",
        "    27cmd=kvs-put;key=a;value=b;;",
        "     0",
        "    38cmd=info-getnodeattr;key=a;wait=TRUE;;",
        "    33cmd=info-putnodeattr;key=a;value=1",
        "cmd=finalize\n",
        "    13cmd=finalize;",
    ];
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        proptest::sample::select(commands.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        "[ cmd=;\n0-9]{0,20}".prop_map(String::into_bytes),
    ]
}

/// Everything the server has to do.
fn events(server: &mut Server) -> Vec<Event> {
    std::iter::from_fn(|| server.poll()).collect()
}

#[test]
fn a_fence_does_not_wait_for_ranks_that_have_ended() {
    let mut server = server(&[0, 1, 2], &[0, 0, 0, 1]);
    say(&mut server, 0, "cmd=init pmi_version=1 pmi_subversion=1\n");
    say(&mut server, 2, "cmd=init pmi_version=1 pmi_subversion=1\n");
    say(&mut server, 2, "cmd=put kvsname=job_7 key=a value=b\n");
    server.handle(0, b"cmd=barrier_in\n");
    server.handle_end(2);
    assert_eq!(events(&mut server), [], "rank 1 may still come");
    server.handle_end(1);
    let puts = vec![("a".to_owned(), "b".to_owned())];
    assert_eq!(events(&mut server), [Event::Fence { puts: puts.clone() }]);
    server.fence_over(&puts);
    let replies = events(&mut server);
    assert!(
        matches!(&replies[..], [Event::Reply { rank: 0, .. }]),
        "{replies:?}"
    );
    server.handle_end(0);
    assert_eq!(events(&mut server), [Event::Deserted { puts: Vec::new() }]);
}

#[test]
fn who_ends_inside_a_fence_does_not_announce_it_again() {
    let mut server = server(&[0, 1], &[0, 0, 1]);
    for rank in [0, 1] {
        say(
            &mut server,
            rank,
            "cmd=init pmi_version=1 pmi_subversion=1\n",
        );
        server.handle(rank, b"cmd=barrier_in\n");
    }
    assert_eq!(events(&mut server), [Event::Fence { puts: Vec::new() }]);
    server.handle_end(1);
    assert_eq!(events(&mut server), []);
    server.fence_over(&[]);
    let replies = events(&mut server);
    assert!(
        matches!(&replies[..], [Event::Reply { rank: 0, .. }]),
        "{replies:?}"
    );
    server.handle(0, b"cmd=barrier_in\n");
    assert_eq!(events(&mut server), [Event::Fence { puts: Vec::new() }]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(pieces in proptest::collection::vec((0u32..3, piece()), 0..60)) {
        let mut server = server(&[0, 1, 2], &[0, 0, 0]);
        for (rank, bytes) in pieces {
            server.handle(rank, &bytes);
            while let Some(event) = server.poll() {
                if let Event::Fence { puts } = event {
                    server.fence_over(&puts);
                }
            }
            prop_assert!(server.sessions[&rank].waiting.len() <= WAITING_MAX);
        }
    }

    #[test]
    fn how_bytes_are_cut_does_not_matter(text in "(cmd=(init pmi_version=[12]|put key=[ab] value=[xy]|get key=[ab]|barrier_in|dance)\n){0,20}", cut in 1usize..9) {
        let run = |size: usize| {
            let mut server = server(&[0], &[0]);
            let mut events = Vec::new();
            for bytes in text.as_bytes().chunks(size) {
                server.handle(0, bytes);
                events.extend(std::iter::from_fn(|| server.poll()));
            }
            events
        };
        prop_assert_eq!(run(cut), run(usize::MAX));
    }
}
