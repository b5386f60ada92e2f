//! Too little memory, a file-size limit, a foreign descriptor: an error with words and numbers,
//! never a signal.
//!
//! Limits hold for a whole process, so each case runs in one of its own.
#![cfg(not(loom))]

use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;

use oxmpi_ports::extent::Extent;
use oxmpi_ports::{Port, Segment};

const CASE: &str = "OXMPI_TEST_LIMITS";

/// Runs the calling test again in a process of its own, where `case` is carried out.
fn alone(name: &str, case: fn()) {
    if std::env::var(CASE).as_deref() == Ok(name) {
        case();
        return;
    }
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CASE, name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{name}: {}\n{said}", ended.status);
}

fn limit(resource: libc::__rlimit_resource_t, bytes: u64) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointers are to a local of the right type.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut limit), 0);
        limit.rlim_cur = bytes;
        assert_eq!(libc::setrlimit(resource, &limit), 0);
    }
}

/// Address space this process uses now.
fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_file_size_limit_is_named() {
    alone("a_file_size_limit_is_named", || {
        let needed = Segment::create(4, 2).unwrap().layout().bytes();
        limit(libc::RLIMIT_FSIZE, 1 << 20);
        let error = Segment::create(4, 2)
            .err()
            .expect("a mebibyte is too little");
        assert_eq!(
            error.to_string(),
            format!(
                "shared memory of {needed} bytes exceeds the file-size limit of 1048576 bytes; raise it (ulimit -f unlimited)"
            )
        );
    });
}

#[test]
fn an_extent_beyond_the_file_size_limit_is_refused() {
    alone("an_extent_beyond_the_file_size_limit_is_refused", || {
        let segment = Arc::new(Segment::create(2, 2).unwrap());
        limit(libc::RLIMIT_FSIZE, segment.layout().bytes() + (8 << 20));
        let error = Extent::allocate(Arc::clone(&segment), 64 << 20)
            .err()
            .expect("too much");
        assert!(
            error.to_string().contains("exceeds the file-size limit"),
            "{error}"
        );
    });
}

#[test]
fn a_refused_extent_costs_nothing() {
    alone("a_refused_extent_costs_nothing", || {
        let segment = Arc::new(Segment::create(2, 2).unwrap());
        limit(libc::RLIMIT_FSIZE, segment.layout().bytes() + (32 << 20));
        for _ in 0..100 {
            assert!(Extent::allocate(Arc::clone(&segment), 64 << 20).is_err());
        }
        // What fits is still given, although much more was asked for before.
        Extent::allocate(segment, 1 << 20).expect("a mebibyte fits");
    });
}

#[test]
fn an_address_space_limit_is_named() {
    alone("an_address_space_limit_is_named", || {
        let segment = Segment::create(4, 2).unwrap();
        let bytes = segment.layout().bytes();
        limit(libc::RLIMIT_AS, address_space() + (2 << 20));
        let fd: OwnedFd = segment.fd().try_clone_to_owned().unwrap();
        for error in [Segment::create(4, 2).err(), Segment::attach(fd).err()] {
            let error = error
                .expect("there is no room for another mapping")
                .to_string();
            assert!(
                error.starts_with(&format!("cannot map {bytes} bytes of shared memory: "))
                    && error.ends_with("; check the address-space limit (ulimit -v)"),
                "{error}"
            );
        }
    });
}

#[test]
fn an_extent_beyond_the_address_space_is_refused() {
    alone("an_extent_beyond_the_address_space_is_refused", || {
        let segment = Arc::new(Segment::create(2, 2).unwrap());
        limit(libc::RLIMIT_AS, address_space() + (4 << 20));
        let error = Extent::allocate(Arc::clone(&segment), 64 << 20)
            .err()
            .expect("too much");
        assert!(
            error.to_string().contains("check the address-space limit"),
            "{error}"
        );
        // The memory that could not be mapped is not kept.
        let file = std::fs::File::from(segment.fd().try_clone_to_owned().unwrap());
        let taken = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) * 512;
        assert!(taken < 32 << 20, "{taken} bytes are kept");
    });
}

#[test]
fn no_descriptor_left_is_named() {
    alone("no_descriptor_left_is_named", || {
        limit(libc::RLIMIT_NOFILE, 3);
        let error = Segment::create(2, 2).err().expect("no descriptor is left");
        let text = error.to_string();
        assert!(
            text.starts_with("cannot create shared memory (memfd_create): ")
                && text.ends_with("; check the open-file limit (ulimit -n)"),
            "{text}"
        );
    });
}

#[test]
fn absurd_numbers_of_processes_are_refused() {
    for ports in [0, 4097, u32::MAX] {
        let error = Segment::create(ports, 2).err().expect("absurd");
        assert_eq!(
            error.to_string(),
            format!(
                "{ports} processes on one host are too many: a shared segment holds 1 to 4096; start fewer ranks here"
            )
        );
    }
}

#[test]
fn a_foreign_descriptor_is_refused() {
    let attach = |file: std::fs::File| {
        Segment::attach(file.into())
            .err()
            .expect("foreign")
            .to_string()
    };
    let null = attach(std::fs::File::open("/dev/null").unwrap());
    assert!(
        null.contains("is not a shared segment") && null.contains("a file of 0 bytes"),
        "{null}"
    );
    // SAFETY: the name is a C string; the descriptor is new and ours.
    let memfd = || unsafe {
        let fd = libc::memfd_create(c"foreign".as_ptr(), libc::MFD_CLOEXEC);
        <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(fd)
    };
    let zeros = memfd();
    zeros.set_len(1 << 20).unwrap();
    let text = attach(zeros);
    assert!(
        text.contains("its first bytes are something else"),
        "{text}"
    );

    let with_header = |bytes: &[u8], length: u64| {
        let file = memfd();
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, 0).unwrap();
        file.set_len(length).unwrap();
        attach(file)
    };
    let mut header = *b"OxMPIseg\x63\0\0\0\x02\0\0\0";
    let text = with_header(&header, 1 << 30);
    assert!(text.contains("version 99, wanted 3"), "{text}");
    header[8] = 3;
    let text = with_header(&header, 5000);
    assert!(text.contains("5000 bytes for 2 ports"), "{text}");
    header[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let text = with_header(&header, 5000);
    assert!(text.contains("5000 bytes for 4294967295 ports"), "{text}");
}

#[test]
fn the_last_port_of_a_full_segment_works() {
    let segment = Arc::new(Segment::create(300, 2).unwrap());
    let mut last = Port::open(Arc::clone(&segment), 299).unwrap();
    let mut first = Port::open(segment, 0).unwrap();
    let most = last.fragment_bytes_max();
    last.send(0, 8, |out| out[0] = 1, most, |out| out.fill(9))
        .unwrap();
    let arrival = first.poll().unwrap();
    assert_eq!((arrival.from, arrival.payload(8).len()), (299, most));
    first.consume();
}
