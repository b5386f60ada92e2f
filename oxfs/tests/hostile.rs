//! Clients that mean no good, or talk nonsense: they leave the export by no way, cost the server no
//! more than its bounds, and hurt nobody else.

mod support;

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxmpi_oxfs::client::{Extra, Remote, RemoteError, User};
use oxmpi_oxfs::protocol::{
    KIND_MASK, Kind, Operation, RECALL_BYTES, REPLY_BYTES, Request, VERSION, named, set,
};
use oxmpi_oxk::{Bounds, Connection, Endpoint, Handlers};
use support::{Random, Server, errno, is_root, seeds};

#[test]
fn serving() {
    support::serving();
}

fn ask(remote: &Remote, operation: Operation, node: u64, name: &[u8]) -> i32 {
    let request = Request {
        node,
        name: name.to_vec(),
        name2: match operation {
            Operation::Rename => b"other".to_vec(),
            _ => Vec::new(),
        },
        arguments: match operation {
            Operation::Rename | Operation::Link => [node, 0, 0, 0, 0, 0],
            _ => [0; 6],
        },
        ..Request::default()
    };
    errno(&remote.ask(operation, request, Extra::NONE, name))
}

#[test]
fn no_name_leads_out_of_the_export() {
    let server = Server::start("escape", &["--no-root-squash"]);
    let remote = server.client();
    let root = remote.root().node;
    let outside = server.folder.0.join("secret");
    std::fs::write(&outside, b"secret").expect("a file beside the export");
    let named = [
        Operation::Lookup,
        Operation::Create,
        Operation::Mkdir,
        Operation::Mknod,
        Operation::Link,
        Operation::Unlink,
        Operation::Rmdir,
        Operation::Rename,
    ];
    let names: [&[u8]; 9] = [
        b"..",
        b".",
        b"",
        b"../secret",
        b"a/../../secret",
        b"/etc/passwd",
        b"a\0b",
        b"/",
        b"sub/..",
    ];
    for operation in named {
        for name in names {
            let error = ask(&remote, operation, root, name);
            let text = name.escape_ascii();
            assert_eq!(error, libc::EINVAL, "{operation:?} of '{text}'");
        }
        assert_eq!(
            ask(&remote, operation, root, &[b'x'; 256]),
            libc::ENAMETOOLONG
        );
    }
    // Links are followed by clients, never by the server.
    for (link, target) in [
        ("up", "../secret"),
        ("abs", "/etc"),
        ("magic", "/proc/self/root"),
    ] {
        std::os::unix::fs::symlink(target, server.export.join(link)).expect("a link");
        let found = remote
            .lookup(root, link.as_bytes())
            .expect("the link itself");
        assert!(found.is_link());
        assert_eq!(errno(&remote.open(found.node, libc::O_RDONLY)), libc::ELOOP);
        assert_eq!(
            ask(&remote, Operation::Lookup, found.node, b"passwd"),
            libc::ENOTDIR
        );
        let create = remote.create(root, link.as_bytes(), 0o600, libc::O_WRONLY);
        assert_eq!(errno(&create), libc::ELOOP);
        let cut = remote.truncate(found.node, 0);
        assert_ne!(errno(&cut), 0, "a link has no size to set");
    }
    // The client's own walk stays inside, too.
    assert_eq!(errno(&remote.find(b"up", true)), libc::ENOENT);
    assert_eq!(remote.find(b"../../..", true).expect("the root").node, root);
    assert_eq!(std::fs::read(&outside).expect("it is there"), b"secret");
}

#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    let server = Server::start("race", &["--no-root-squash"]);
    let secret = server.folder.0.join("outside");
    std::fs::create_dir(&secret).expect("a folder");
    std::fs::write(secret.join("file"), b"secret").expect("a file");
    let export = &server.export;
    std::fs::create_dir(export.join("real")).expect("a folder");
    std::fs::write(export.join("real/file"), b"public").expect("a file");
    std::os::unix::fs::symlink("../outside", export.join("link")).expect("a link");
    let over = AtomicBool::new(false);
    let exchange = || {
        let path = |name: &str| {
            let path = export.join(name);
            std::ffi::CString::new(path.to_str().expect("text")).expect("no zero")
        };
        let (real, link, here) = (path("real"), path("link"), libc::AT_FDCWD);
        while !over.load(Ordering::Relaxed) {
            // SAFETY: both names live across the call.
            unsafe {
                let flags = libc::RENAME_EXCHANGE;
                libc::renameat2(here, real.as_ptr(), here, link.as_ptr(), flags);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(exchange);
        let mut read = 0;
        for _ in 0..6 {
            let remote = server.client();
            let root = remote.root().node;
            for _ in 0..60 {
                let Ok(folder) = remote.lookup(root, b"real") else {
                    continue;
                };
                let Ok(file) = remote.lookup(folder.node, b"file") else {
                    continue;
                };
                if let Ok(data) = remote.read(file.node, 0, 0, 100) {
                    assert_eq!(data, b"public");
                    read += 1;
                }
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(read > 0, "nothing was read at all");
    });
}

#[test]
fn the_state_folder_is_not_there() {
    let server = Server::start("hidden", &["--no-root-squash"]);
    let remote = server.client();
    let root = remote.root().node;
    assert!(server.export.join(".oxfs").is_dir());
    assert_eq!(remote.entries(root).expect("listed"), []);
    assert_eq!(errno(&remote.lookup(root, b".oxfs")), libc::ENOENT);
    assert_eq!(errno(&remote.mkdir(root, b".oxfs", 0o777)), libc::EACCES);
    assert_eq!(errno(&remote.remove(root, b".oxfs", true)), libc::EACCES);
    assert_eq!(
        errno(&remote.rename(root, b".oxfs", root, b"seen", 0)),
        libc::EACCES
    );
    remote.mkdir(root, b"x", 0o777).expect("made");
    assert_eq!(
        errno(&remote.rename(root, b"x", root, b".oxfs", libc::RENAME_EXCHANGE)),
        libc::EACCES
    );
}

/// An endpoint that knows the key and says what it likes.
fn rogue(server: &Server) -> (Endpoint, oxmpi_oxk::PeerToken) {
    let bounds = Bounds {
        requests: 512,
        peers: 1,
        unexpected_bytes: 1 << 20,
        eager_bytes: 4096,
        handler: false,
    };
    let endpoint = Endpoint::open(bounds, Handlers::default()).expect("an endpoint");
    let key = server.settings().key;
    let wait = Duration::from_secs(5);
    let connection = Connection::dial(&server.address, &key, wait).expect("proven");
    let peer = endpoint.adopt(connection).expect("the only peer");
    (endpoint, peer)
}

/// The bits of the recall that another client's change causes.
fn recall_of_a_change(server: &Server, folder: &str) -> u64 {
    let (endpoint, peer) = rogue(server);
    let hello = Request {
        arguments: [VERSION, 5, 5, 0, 0, 0],
        ..Request::default()
    };
    let bits = Kind::Recall.bits(0, 0);
    let recall = endpoint.receive_pending(bits, KIND_MASK, vec![0; RECALL_BYTES]);
    let bits = Kind::Reply.bits(Operation::Hello as u16, 1);
    let answer = endpoint.receive_pending(bits, KIND_MASK, vec![0; REPLY_BYTES]);
    let bits = Kind::Request.bits(Operation::Hello as u16, 1);
    endpoint
        .send(peer, bits, hello.emit(), None)
        .expect("it is asked");
    let wait = Duration::from_secs(5);
    let answer = answer.expect("there is room").wait_for(wait);
    assert_eq!(answer.ok().expect("an answer").status.error, 0);
    let other = server.client();
    std::thread::scope(|scope| {
        scope.spawn(|| other.mkdir(other.root().node, folder.as_bytes(), 0o755));
        let recall = recall.expect("there is room").wait_for(wait);
        let recall = recall.ok().expect("the folder is recalled");
        let bits = Kind::Recalled.bits(0, named(recall.status.bits).1);
        endpoint
            .send(peer, bits, Vec::new(), None)
            .expect("it is answered");
        recall.status.bits
    })
}

/// An answer that was on its way when the server was killed says nothing to the next one.
#[test]
fn recalls_of_a_later_server_have_other_numbers() {
    let mut server = Server::start("numbers", &["--no-root-squash"]);
    let before = recall_of_a_change(&server, "before");
    server.kill();
    server.run();
    assert_ne!(recall_of_a_change(&server, "after"), before);
}

#[test]
fn nonsense_costs_its_sender_the_connection_and_nobody_else_anything() {
    let server = Server::start("nonsense", &["--no-root-squash"]);
    let honest = server.client();
    let root = honest.root().node;
    for seed in seeds(40) {
        let mut random = Random::new(seed);
        let (endpoint, peer) = rogue(&server);
        for _ in 0..random.below(40) {
            let kind = random.of(&[Kind::Request, Kind::DataOut, Kind::Recalled, Kind::Reply]);
            let operation = random.below(40) as u16;
            let bits = kind.bits(operation, random.below(4));
            let bytes: Vec<u8> = match random.below(3) {
                0 => (0..random.below(1500))
                    .map(|_| random.below(256) as u8)
                    .collect(),
                1 => {
                    let mut request = Request {
                        session: random.of(&[0, 1, honest.client.session()]),
                        slot: random.of(&[0, 63, 64, u32::MAX]),
                        sequence: random.below(4) as u32,
                        node: random.of(&[0, 1, 2, u64::MAX, 7]),
                        open: random.below(3),
                        name: vec![b'z'; random.below(300) as usize],
                        ..Request::default()
                    };
                    for argument in &mut request.arguments {
                        *argument = random.of(&[0, 1, 4096, u64::MAX, 1 << 40]);
                    }
                    let mut bytes = request.emit();
                    bytes.truncate(1100);
                    bytes
                }
                _ => Vec::new(),
            };
            if endpoint.send(peer, bits, bytes, None).is_err() {
                break;
            }
        }
        // Whatever became of it, others are served.
        let name = format!("seed{seed}");
        honest
            .mkdir(root, name.as_bytes(), 0o755)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(
        !server.export.join("z").exists(),
        "without a session nothing is done"
    );
}

#[test]
fn strangers_and_raw_bytes_are_turned_away() {
    let server = Server::start("stranger", &["--no-root-squash"]);
    let honest = server.client();
    let mut settings = server.settings();
    settings.key = oxmpi_oxk::JobKey::from_bytes([1; 16]);
    let refused = oxmpi_oxfs::client::Client::connect(settings);
    let text = refused.err().expect("another key").to_string();
    assert!(text.contains("key"), "{text}");
    for seed in seeds(20) {
        let mut random = Random::new(seed);
        let mut stream = std::net::TcpStream::connect(&server.address).expect("it listens");
        let bytes: Vec<u8> = (0..random.below(300))
            .map(|_| random.below(256) as u8)
            .collect();
        let _ = stream.write_all(&bytes);
        if random.below(2) == 0 {
            let wait = Some(Duration::from_millis(50));
            stream.set_read_timeout(wait).expect("a time-out");
            let _ = stream.read(&mut [0; 64]);
        }
    }
    honest.getattr(honest.root().node).expect("it is served");
}

#[test]
fn a_read_only_export_stays_as_it_is() {
    let server = Server::start("read-only", &["--no-root-squash", "--read-only"]);
    std::fs::write(server.export.join("file"), b"content").expect("a file");
    let remote = server.client();
    let root = remote.root().node;
    let file = remote.find(b"file", true).expect("it is there");
    let open = remote.open(file.node, libc::O_RDONLY).expect("opened");
    assert_eq!(
        remote.read(file.node, open, 0, 100).expect("read"),
        b"content"
    );
    let refused: [(&str, Result<(), RemoteError>); 8] = [
        (
            "write",
            remote.write(file.node, 0, 0, b"x".to_vec()).map(drop),
        ),
        ("open", remote.open(file.node, libc::O_RDWR).map(drop)),
        (
            "cut",
            remote
                .open(file.node, libc::O_RDONLY | libc::O_TRUNC)
                .map(drop),
        ),
        (
            "create",
            remote.create(root, b"new", 0o600, libc::O_RDONLY).map(drop),
        ),
        ("mkdir", remote.mkdir(root, b"new", 0o700).map(drop)),
        ("unlink", remote.remove(root, b"file", false)),
        ("chmod", remote.chmod(file.node, 0o777)),
        ("rename", remote.rename(root, b"file", root, b"x", 0)),
    ];
    for (what, refused) in refused {
        assert_eq!(errno(&refused), libc::EROFS, "{what}");
    }
}

fn user(uid: u32) -> User {
    User {
        uid,
        gid: uid,
        groups: Vec::new(),
    }
}

#[test]
fn root_of_a_client_is_nobody_unless_it_is_told_otherwise() {
    if !is_root("root_of_a_client_is_nobody_unless_it_is_told_otherwise") {
        return;
    }
    let server = Server::start("squash", &[]);
    std::fs::write(server.export.join("private"), b"x").expect("a file");
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    let private = server.export.join("private");
    std::fs::set_permissions(private, mode(0o600)).expect("its mode");
    std::fs::set_permissions(&server.export, mode(0o777)).expect("its mode");
    let remote = server.client();
    let root = remote.root().node;
    let file = remote.find(b"private", true).expect("it is there");
    assert_eq!(errno(&remote.open(file.node, libc::O_RDONLY)), libc::EACCES);
    let made = remote.mkdir(root, b"made", 0o755).expect("everybody may");
    assert_eq!((made.attr.uid, made.attr.gid), (65534, 65534));
    // Nor by a group of root's.
    remote.client.set_user(User {
        uid: 1001,
        gid: 1001,
        groups: vec![0],
    });
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o060);
    std::fs::set_permissions(server.export.join("private"), mode).expect("its mode");
    assert_eq!(errno(&remote.open(file.node, libc::O_RDONLY)), libc::EACCES);
    // Nor by ids that nobody can have, of which the kernel takes none.
    let impossible = [(1001, u32::MAX), (u32::MAX, 1001), (u32::MAX, u32::MAX)];
    for (uid, gid) in impossible {
        let groups = Vec::new();
        remote.client.set_user(User { uid, gid, groups });
        let opened = remote.open(file.node, libc::O_RDONLY);
        assert_eq!(errno(&opened), libc::EPERM, "{uid}, {gid}");
    }
}

/// What a request was refused for leaves no trace in the thread that did it.
#[test]
fn ids_that_are_refused_are_not_those_of_the_next_request() {
    if !is_root("ids_that_are_refused_are_not_those_of_the_next_request") {
        return;
    }
    let server = Server::start("ids", &["--no-root-squash"]);
    let remote = server.client();
    let root = remote.root().node;
    for round in 0..50 {
        let groups = Vec::new();
        let (uid, gid) = (u32::MAX, 1001);
        remote.client.set_user(User { uid, gid, groups });
        assert_eq!(errno(&remote.mkdir(root, b"x", 0o755)), libc::EPERM);
        remote.client.set_user(user(0));
        let name = format!("made{round}");
        let made = remote.mkdir(root, name.as_bytes(), 0o755).expect("made");
        assert_eq!((made.attr.uid, made.attr.gid), (0, 0), "{round}");
    }
}

#[test]
fn a_server_of_an_ordinary_user_gives_others_what_others_may() {
    if !is_root("a_server_of_an_ordinary_user_gives_others_what_others_may") {
        return;
    }
    let server = Server::start_as("ordinary", &[], Some(1001));
    let remote = server.client();
    let root = remote.root().node;
    remote.client.set_user(user(1001));
    let (open_to_all, _) = remote
        .create(root, b"public", 0o644, libc::O_RDWR)
        .expect("the owner may");
    let (private, _) = remote
        .create(root, b"private", 0o600, libc::O_RDWR)
        .expect("the owner may");
    assert_eq!(open_to_all.attr.uid, 1001);
    for other in [0, 1002] {
        remote.client.set_user(user(other));
        remote
            .open(open_to_all.node, libc::O_RDONLY)
            .expect("others may read");
        let refused = [
            errno(&remote.open(open_to_all.node, libc::O_RDWR)),
            errno(&remote.open(private.node, libc::O_RDONLY)),
            errno(&remote.mkdir(root, b"new", 0o755)),
            errno(&remote.remove(root, b"public", false)),
            errno(&remote.truncate(open_to_all.node, 0)),
        ];
        assert_eq!(refused, [libc::EACCES; 5], "user {other}");
        assert_eq!(errno(&remote.chmod(open_to_all.node, 0o777)), libc::EPERM);
        let owner = Request {
            node: open_to_all.node,
            arguments: [set::UID, 0, u64::from(other) << 32, 0, 0, 0],
            ..Request::default()
        };
        let owner = remote.ask(Operation::Setattr, owner, Extra::NONE, b"chown");
        assert_eq!(errno(&owner), libc::EPERM);
    }
}
