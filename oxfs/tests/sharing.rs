//! Several clients: what one changes another is asked to forget first, locks wait and end with their
//! session, a silent client loses what it had.

mod support;

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
