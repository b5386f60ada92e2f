//! Several clients: what one changes another is asked to forget first, locks wait and end with their
//! session, a silent client loses what it had.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use oxmpi_oxfs::client::{Client, Extra, Remote};
use oxmpi_oxfs::protocol::{Operation, Recall, Request, lock, recall};
use support::{Server, errno};

#[test]
fn serving() {
    support::serving();
}

/// A client that notes what it was asked to forget, after `pause`.
fn noting(server: &Server, pause: Duration) -> (Remote, Arc<Mutex<Vec<Recall>>>) {
    let noted: Arc<Mutex<Vec<Recall>>> = Arc::default();
    let notes = noted.clone();
    let on_recall = Box::new(move |recall| {
        std::thread::sleep(pause);
        notes.lock().expect("nobody panics").push(recall);
    });
    let client = Client::connect_with(server.settings(), Some(on_recall)).expect("a session");
    (Remote { client }, noted)
}

#[test]
fn a_change_waits_until_others_have_forgotten() {
    let server = Server::start("recall", &["--no-root-squash"]);
    let pause = Duration::from_millis(150);
    let (reader, noted) = noting(&server, pause);
    let writer = server.client();
    let root = writer.root().node;
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = writer.create(root, b"file", 0o644, flags).expect("made");
    let seen = reader.find(b"file", true).expect("it is there");
    let before = seen.attr.change;
    noted.lock().expect("nobody panics").clear();
    let begun = Instant::now();
    writer
        .write(file.node, open, 0, b"new".to_vec())
        .expect("written");
    assert!(begun.elapsed() >= pause, "the write waited for the answer");
    let what = noted.lock().expect("nobody panics").clone();
    let expected = Recall {
        node: file.node,
        what: recall::DATA | recall::ATTR,
    };
    assert_eq!(what, [expected]);
    // Nobody has it in a cache now, so nobody is asked.
    writer
        .write(file.node, open, 3, b"er".to_vec())
        .expect("written");
    assert_eq!(noted.lock().expect("nobody panics").len(), 1);
    let after = reader.getattr(file.node).expect("it is there").attr;
    assert_ne!(before, after.change);
    assert_eq!(after.size, 5);
    // Names: the reader knows the folder's.
    reader.entries(root).expect("listed");
    noted.lock().expect("nobody panics").clear();
    writer.remove(root, b"file", false).expect("removed");
    let what = noted.lock().expect("nobody panics").clone();
    let names = |recall: &Recall| recall.node == root && recall.what & recall::ENTRIES != 0;
    assert!(what.iter().any(names), "{what:?}");
}

#[test]
fn two_that_write_the_same_do_not_wait_for_each_other() {
    let server = Server::start("both", &["--no-root-squash", "--lease", "20"]);
    let (one, _) = noting(&server, Duration::ZERO);
    let (two, _) = noting(&server, Duration::ZERO);
    let root = one.root().node;
    let (file, _) = one
        .create(root, b"file", 0o644, libc::O_RDWR)
        .expect("made");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for remote in [&one, &two] {
            scope.spawn(move || {
                let open = remote.open(file.node, libc::O_RDWR).expect("opened");
                for round in 0..50u64 {
                    let data = vec![round as u8; 512];
                    remote
                        .write(file.node, open, round * 64, data)
                        .expect("written");
                    remote.read(file.node, open, 0, 4096).expect("read");
                }
                remote.client.close(open).expect("closed");
            });
        }
    });
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "a lease was waited for"
    );
}

/// A reader looks while a writer writes: when the writer has its answer, the reader knows what the
/// file is like now, or was asked to forget what it knows.
#[test]
fn a_look_during_a_change_is_recalled_after_it() {
    let server = Server::start("during", &["--no-root-squash"]);
    let (reader, noted) = noting(&server, Duration::ZERO);
    let writer = server.client();
    let root = writer.root().node;
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = writer.create(root, b"file", 0o644, flags).expect("made");
    let recalls = || noted.lock().expect("nobody panics").len();
    for round in 0..400u64 {
        let looks = 1 + round % 7;
        let (change, before) = std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut last = (0, 0);
                for _ in 0..looks {
                    let before = recalls();
                    let found = reader.getattr(file.node).expect("it is there");
                    last = (found.attr.change, before);
                }
                last
            });
            let data = vec![round as u8; 4096];
            writer.write(file.node, open, 0, data).expect("written");
            looking.join().expect("it looks")
        });
        let now = writer.getattr(file.node).expect("it is there").attr.change;
        let told = change == now || recalls() > before;
        assert!(told, "round {round}: {change} is known, {now} is true");
    }
}

/// A client that answers no recall, and goes on asking, keeps a change waiting for one lease.
#[test]
fn who_answers_no_recall_is_waited_for_once() {
    let server = Server::start("mute", &["--no-root-squash", "--lease", "3"]);
    let writer = server.client();
    let root = writer.root().node;
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = writer.create(root, b"file", 0o644, flags).expect("made");
    // Now, so that it is not asked to forget the folder first.
    let (reader, _) = noting(&server, Duration::from_secs(60));
    reader.getattr(file.node).expect("it is there");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                reader.getattr(file.node).expect("it is there");
            }
        });
        let begun = Instant::now();
        let written = writer.write(file.node, open, 0, b"new".to_vec());
        over.store(true, Ordering::Relaxed);
        written.expect("written");
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_secs(2), "{waited:?}");
        assert!(waited < Duration::from_millis(5500), "{waited:?}");
    });
}

/// A client that answers no recall delays one change of another client, and not each. When it
/// answers again, changes wait for it again.
#[test]
fn who_lets_a_recall_lapse_is_waited_for_no_more() {
    let server = Server::start("lapse", &["--no-root-squash", "--lease", "1"]);
    let writer = server.client();
    let root = writer.root().node;
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = writer.create(root, b"file", 0o644, flags).expect("made");
    let mute = Arc::new(AtomicBool::new(true));
    let (is_mute, pause) = (mute.clone(), Duration::from_millis(300));
    let on_recall = Box::new(move |_| {
        while is_mute.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(pause);
    });
    let client = Client::connect_with(server.settings(), Some(on_recall)).expect("a session");
    let reader = Remote { client };
    // How long a change takes of what the reader has in its cache.
    let change = || {
        reader.getattr(file.node).expect("it is there");
        let begun = Instant::now();
        writer
            .write(file.node, open, 0, b"new".to_vec())
            .expect("written");
        begun.elapsed()
    };
    let waited = change();
    assert!(waited >= Duration::from_millis(700), "{waited:?}");
    for round in 0..5 {
        let waited = change();
        assert!(
            waited < Duration::from_millis(250),
            "round {round}: {waited:?}"
        );
    }
    mute.store(false, Ordering::Relaxed);
    let begun = Instant::now();
    while change() < pause {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "not waited for again"
        );
    }
}

fn lock_of(remote: &Remote, node: u64, open: u64, kind: i32, how: u64, owner: u64) -> i32 {
    let request = Request {
        node,
        open,
        arguments: [owner, kind as u64, 0, 99, how, 0],
        ..Request::default()
    };
    errno(&remote.ask(Operation::Lock, request, Extra::NONE, b"lock"))
}

#[test]
fn locks_wait_are_interrupted_and_end_with_their_session() {
    let server = Server::start("locks", &["--no-root-squash", "--lease", "1"]);
    let (one, two, three) = (server.client(), server.client(), server.client());
    let root = one.root().node;
    let (file, open) = one
        .create(root, b"file", 0o666, libc::O_RDWR)
        .expect("made");
    let node = file.node;
    let two_open = two.open(node, libc::O_RDWR).expect("opened");
    let three_open = three.open(node, libc::O_RDWR).expect("opened");
    assert_eq!(lock_of(&one, node, open, libc::F_WRLCK, 0, 1), 0);
    assert_eq!(
        lock_of(&two, node, two_open, libc::F_RDLCK, 0, 1),
        libc::EAGAIN
    );
    // TESTLOCK says what is in the way.
    let request = Request {
        node,
        open: two_open,
        arguments: [1, libc::F_RDLCK as u64, 5, 500, 0, 0],
        ..Request::default()
    };
    let (reply, _) = two
        .ask(Operation::Testlock, request, Extra::NONE, b"test")
        .expect("tested");
    assert_eq!(reply.values[..4], [libc::F_WRLCK as u64, 0, 99, 1]);
    // flock is another world.
    assert_eq!(
        lock_of(&two, node, two_open, libc::F_WRLCK, lock::WHOLE, 0),
        0
    );
    assert_eq!(
        lock_of(&three, node, three_open, libc::F_RDLCK, lock::WHOLE, 0),
        libc::EAGAIN
    );
    let (told, tells) = mpsc::channel();
    std::thread::scope(|scope| {
        let (two, three) = (&two, &three);
        let interrupted = told.clone();
        scope.spawn(move || {
            let error = lock_of(two, node, two_open, libc::F_WRLCK, lock::WAIT, 2);
            interrupted.send(("two", error)).expect("it is heard");
        });
        std::thread::sleep(Duration::from_millis(100));
        assert!(tells.try_recv().is_err(), "it waits");
        // Unlocking ends the owner's waiting.
        assert_eq!(lock_of(two, node, two_open, libc::F_UNLCK, 0, 2), 0);
        assert_eq!(tells.recv(), Ok(("two", libc::EINTR)));
        scope.spawn(move || {
            let error = lock_of(three, node, three_open, libc::F_WRLCK, lock::WAIT, 3);
            told.send(("three", error)).expect("it is heard");
        });
        std::thread::sleep(Duration::from_millis(100));
        // The holder is gone without a word; its lease ends, and with it its locks.
        let begun = Instant::now();
        one.client.vanish();
        assert_eq!(tells.recv(), Ok(("three", 0)));
        assert!(begun.elapsed() < Duration::from_secs(5));
    });
}

/// A client that says goodbye while its lock waits for the end of the time of reclaiming does not
/// get it: nobody would ever let go of it.
#[test]
fn a_session_that_has_ended_gets_no_lock() {
    let mut server = Server::start("late", &["--no-root-squash", "--lease", "2"]);
    let holder = server.client();
    let root = holder.root().node;
    let (file, open) = holder
        .create(root, b"file", 0o666, libc::O_RDWR)
        .expect("made");
    assert_eq!(lock_of(&holder, file.node, open, libc::F_WRLCK, 0, 1), 0);
    holder.client.vanish();
    server.kill();
    server.run();
    let (late, other) = (server.client(), server.client());
    let late_open = late.open(file.node, libc::O_RDWR).expect("opened");
    let other_open = other.open(file.node, libc::O_RDWR).expect("opened");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let request = Request {
                node: file.node,
                open: late_open,
                arguments: [1, libc::F_WRLCK as u64, 0, 99, lock::WAIT, 0],
                ..Request::default()
            };
            // What it is answered does not matter: it is gone.
            let _ = late.ask(Operation::Lock, request, Extra::NONE, b"lock");
        });
        std::thread::sleep(Duration::from_millis(300));
        let request = Request::default();
        late.ask(Operation::Goodbye, request, Extra::NONE, b"goodbye")
            .expect("the session is over");
        let begun = Instant::now();
        while lock_of(&other, file.node, other_open, libc::F_WRLCK, 0, 1) != 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "nobody has it");
            std::thread::sleep(Duration::from_millis(50));
        }
    });
}

#[test]
fn a_lost_connection_changes_nothing() {
    let server = Server::start("lost", &["--no-root-squash"]);
    let one = server.client();
    let root = one.root().node;
    let session = one.client.session();
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = one.create(root, b"file", 0o600, flags).expect("made");
    assert_eq!(lock_of(&one, file.node, open, libc::F_WRLCK, 0, 1), 0);
    one.remove(root, b"file", false).expect("removed");
    for round in 0..5u64 {
        one.client.interrupt();
        let wrote = one.append(file.node, open, vec![round as u8; 10]);
        assert_eq!(wrote.expect("appended"), 10);
    }
    assert_eq!(one.client.session(), session);
    assert_eq!(one.read(file.node, open, 0, 100).expect("read").len(), 50);
    let two = server.client();
    assert_eq!(errno(&two.find(b"file", true)), libc::ENOENT);
}

#[test]
fn the_state_of_a_silent_client_is_removed() {
    let server = Server::start("silent", &["--no-root-squash", "--lease", "0.4"]);
    let one = server.client();
    let root = one.root().node;
    one.create(root, b"file", 0o600, libc::O_RDWR)
        .expect("made");
    one.remove(root, b"file", false).expect("removed");
    let aside = server.export.join(".oxfs/aside");
    let sessions = server.export.join(".oxfs/sessions");
    let count = |path| std::fs::read_dir(path).expect("a folder").count();
    // Renewed while it lives.
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!((count(&aside), count(&sessions)), (1, 1));
    one.client.vanish();
    let begun = Instant::now();
    while count(&sessions) > 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "its session stays"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(count(&aside), 0);
}

#[test]
fn a_server_that_stood_still_has_not_lost_its_clients() {
    let server = Server::start("still", &["--no-root-squash", "--lease", "2"]);
    let one = server.client();
    let root = one.root().node;
    let session = one.client.session();
    let flags = libc::O_RDWR | libc::O_EXCL;
    let (file, open) = one.create(root, b"file", 0o600, flags).expect("made");
    one.remove(root, b"file", false).expect("removed");
    // So that it is silent for a while in which the server could hear it, too.
    one.client.interrupt();
    server.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(4));
    server.signal(libc::SIGCONT);
    // The server looks after leases every half of a second.
    std::thread::sleep(Duration::from_millis(700));
    let wrote = one.append(file.node, open, b"still there".to_vec());
    assert_eq!(wrote.expect("the file is open"), 11);
    assert_eq!(one.client.session(), session);
}

#[test]
fn a_client_whose_session_has_ended_begins_another() {
    let server = Server::start("another", &["--no-root-squash", "--lease", "0.4"]);
    let one = server.client();
    let root = one.root().node;
    let session = one.client.session();
    for name in [b"a", b"b"] {
        one.mkdir(root, name, 0o755).expect("made");
    }
    one.client.interrupt();
    let sessions = server.export.join(".oxfs/sessions");
    while std::fs::read_dir(&sessions).expect("a folder").count() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    one.mkdir(root, b"c", 0o755).expect("made in another");
    assert_ne!(one.client.session(), session);
}
