//! Requests that are wrong: each is refused with the errno that docs/o2g.md says, and changes
//! nothing.

use std::fs::File;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, RawFd};

use o2g::{Device, request as ask};
use oxmpi_wire::o2g::{
    DUMP_BYTES_MAX, DUMP_BYTES_MIN, DumpArea, ENTRIES_MAX, Entry, Init, Register, SOCKETS_MAX,
    VERSION,
};

use super::case;
use crate::ground::{Ground, Receive, connection, open};
use crate::packet::eager;
use crate::random::Random;
use crate::runner::{Case, Outcome, equal, fail};
use crate::sys::{Answer, Buffer, ioctl, ioctl_with, unconnected};

pub const CASES: &[Case] = &[
    case("misuse-of-init", init),
    case("misuse-of-order", order),
    case("misuse-of-set-dump-area", dump_area),
    case("misuse-of-register-socket", register),
    case("misuse-of-put-entry", put),
    case("misuse-of-free-entry", free),
    case("misuse-of-dumper-threads", dumper),
    case("misuse-of-addresses", addresses),
    case("misuse-of-mmap", mmap),
    case("unknown-requests", unknown),
];

fn raw(device: &Device) -> RawFd {
    device.as_fd().as_raw_fd()
}

fn refused(what: &str, answer: Answer, errno: i32) -> Outcome {
    equal(what, answer, Err(errno))
}

fn init(_: &mut Random) -> Outcome {
    let device = Device::open()?;
    let good = Init {
        version: VERSION,
        n_socks: 4,
        n_entries: 4,
        reserved: 0,
    };
    for version in [0, VERSION + 1, u32::MAX] {
        let mut wrong = Init { version, ..good };
        let answer = ioctl_with(raw(&device), ask::INIT, &mut wrong);
        refused("version", answer, libc::EPROTO)?;
    }
    for (n_socks, n_entries, reserved) in [
        (0, 4, 0),
        (4, 0, 0),
        (SOCKETS_MAX + 1, 4, 0),
        (4, ENTRIES_MAX + 1, 0),
        (u32::MAX, u32::MAX, 0),
        (4, 4, 1),
    ] {
        let mut wrong = Init {
            n_socks,
            n_entries,
            reserved,
            ..good
        };
        let answer = ioctl_with(raw(&device), ask::INIT, &mut wrong);
        refused("numbers", answer, libc::EINVAL)?;
    }
    let answer = ioctl_with(raw(&device), ask::INIT, &mut { good });
    equal("a right one", answer, Ok(0))?;
    let answer = ioctl_with(raw(&device), ask::INIT, &mut { good });
    refused("twice", answer, libc::EBUSY)?;
    // The most that can be asked for.
    let mut device = Device::open()?;
    match device.init(SOCKETS_MAX, ENTRIES_MAX) {
        Ok(()) | Err(o2g::InitError::Memory { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Every request before what it needs.
fn order(_: &mut Random) -> Outcome {
    let (_peer, ours) = connection()?;
    let mut socket = Register {
        fd: ours.as_raw_fd(),
        ..Register::default()
    };
    let mut area = DumpArea {
        bytes: DUMP_BYTES_MIN,
        map_bytes: 0,
    };
    let mut device = Device::open()?;
    let fd = raw(&device);
    let (mut entry, mut cookie, mut tail) = (Entry::default(), 0u64, 0u64);
    for after_init in [false, true] {
        let einval = libc::EINVAL;
        refused("put", ioctl_with(fd, ask::PUT_ENTRY, &mut entry), einval)?;
        refused("free", ioctl_with(fd, ask::FREE_ENTRY, &mut tail), einval)?;
        let registered = ioctl_with(fd, ask::REGISTER_SOCKET, &mut socket);
        refused("register", registered, einval)?;
        if device.wait(Some(std::time::Duration::ZERO)).is_ok() {
            return fail("something to wait for before there is an area");
        }
        if Buffer::of_device(device.as_fd(), 4096, libc::PROT_READ).is_ok() {
            return fail("memory was mapped before there is an area");
        }
        if after_init {
            let cancelled = ioctl_with(fd, ask::CANCEL_ENTRY, &mut cookie);
            refused("cancel", cancelled, libc::ENOENT)?;
            refused("forget", ioctl(fd, ask::FORGET_SOCKET, 0), libc::ENOENT)?;
            break;
        }
        refused(
            "area",
            ioctl_with(fd, ask::SET_DUMP_AREA, &mut area),
            einval,
        )?;
        refused(
            "cancel",
            ioctl_with(fd, ask::CANCEL_ENTRY, &mut cookie),
            einval,
        )?;
        refused("forget", ioctl(fd, ask::FORGET_SOCKET, 0), einval)?;
        refused("threads", ioctl(fd, ask::START_DUMPER_THREAD, 1), einval)?;
        device.init(4, 4)?;
    }
    device.set_dump_area(DUMP_BYTES_MIN)?;
    device.register_socket(ours.as_fd(), 0, &[])?;
    Ok(())
}

fn dump_area(_: &mut Random) -> Outcome {
    let mut device = Device::open()?;
    device.init(4, 4)?;
    for bytes in [
        0,
        1,
        4096,
        DUMP_BYTES_MIN - 1,
        DUMP_BYTES_MIN + 1,
        3 * DUMP_BYTES_MIN,
        DUMP_BYTES_MAX * 2,
        1 << 63,
        u64::MAX,
    ] {
        let mut area = DumpArea {
            bytes,
            map_bytes: 0,
        };
        let answer = ioctl_with(raw(&device), ask::SET_DUMP_AREA, &mut area);
        refused(&format!("{bytes} bytes"), answer, libc::EINVAL)?;
    }
    device.set_dump_area(DUMP_BYTES_MIN)?;
    match device.set_dump_area(DUMP_BYTES_MIN) {
        Err(o2g::DumpAreaError::Twice) => Ok(()),
        other => fail(format!("twice: {other:?}")),
    }
}

fn register(_: &mut Random) -> Outcome {
    let device = open(2, 4, DUMP_BYTES_MIN)?;
    let try_fd = |fd: RawFd, rank: u32| {
        let mut wanted = Register {
            fd,
            rank,
            ..Register::default()
        };
        ioctl_with(raw(&device), ask::REGISTER_SOCKET, &mut wanted)
    };
    for fd in [-1, 1 << 20, i32::MAX, i32::MIN] {
        refused("no descriptor", try_fd(fd, 0), libc::EBADF)?;
    }
    let file = File::open("/proc/self/exe")?;
    refused("a file", try_fd(file.as_raw_fd(), 0), libc::ENOTSOCK)?;
    refused("the driver", try_fd(raw(&device), 0), libc::ENOTSOCK)?;
    let udp = UdpSocket::bind("127.0.0.1:0")?;
    refused("UDP", try_fd(udp.as_raw_fd(), 0), libc::EOPNOTSUPP)?;
    let (local, _other) = std::os::unix::net::UnixStream::pair()?;
    refused(
        "a local socket",
        try_fd(local.as_raw_fd(), 0),
        libc::EOPNOTSUPP,
    )?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    refused("listening", try_fd(listener.as_raw_fd(), 0), libc::ENOTCONN)?;
    let lonely = unconnected()?;
    refused(
        "not connected",
        try_fd(lonely.as_raw_fd(), 0),
        libc::ENOTCONN,
    )?;
    let all = [connection()?, connection()?, connection()?];
    equal("a right one", try_fd(all[0].1.as_raw_fd(), 0), Ok(0))?;
    refused(
        "the rank again",
        try_fd(all[1].1.as_raw_fd(), 0),
        libc::EEXIST,
    )?;
    refused(
        "the socket again",
        try_fd(all[0].1.as_raw_fd(), 1),
        libc::EBUSY,
    )?;
    let other = open(2, 4, DUMP_BYTES_MIN)?;
    match other.register_socket(all[0].1.as_fd(), 0, &[]) {
        Err(o2g::RegisterError::Busy { .. }) => {}
        answer => return fail(format!("in another context too: {answer:?}")),
    }
    equal("a second", try_fd(all[1].1.as_raw_fd(), u32::MAX), Ok(0))?;
    refused("too many", try_fd(all[2].1.as_raw_fd(), 2), libc::ENOSPC)?;
    device.forget_socket(0)?;
    let mut early = Register {
        fd: all[2].1.as_raw_fd(),
        early: 8,
        early_bytes: 100,
        ..Register::default()
    };
    let answer = ioctl_with(raw(&device), ask::REGISTER_SOCKET, &mut early);
    refused("early bytes of nobody", answer, libc::EFAULT)?;
    early.early_bytes = (64 << 10) + 1;
    let answer = ioctl_with(raw(&device), ask::REGISTER_SOCKET, &mut early);
    refused("too many early bytes", answer, libc::EINVAL)?;
    equal("and it still works", try_fd(all[2].1.as_raw_fd(), 2), Ok(0))?;
    equal("sockets", device.counters()?.sockets, 2)
}

fn put(_: &mut Random) -> Outcome {
    let ground = Ground::new(1)?;
    let good = Receive::new(1, Some(0), Some(1), Buffer::new(100)).entry(0);
    let wrong = [
        ("slot 64", Entry { cookie: 64, ..good }),
        (
            "slot MAX",
            Entry {
                cookie: u64::MAX,
                ..good
            },
        ),
        ("flags 16", Entry { flags: 16, ..good }),
        (
            "a reserved field",
            Entry {
                reserved: 1,
                ..good
            },
        ),
        (
            "all flags",
            Entry {
                flags: u32::MAX,
                ..good
            },
        ),
        ("a tail beyond the head", Entry { tail: 32, ..good }),
        (
            "a tail of MAX",
            Entry {
                tail: u64::MAX,
                ..good
            },
        ),
    ];
    for (what, mut entry) in wrong {
        let answer = ioctl_with(raw(&ground.device), ask::PUT_ENTRY, &mut entry);
        refused(what, answer, libc::EINVAL)?;
    }
    equal("pages pinned", ground.device.counters()?.pages_pinned, 0)
}

fn free(_: &mut Random) -> Outcome {
    let mut ground = Ground::new(1)?;
    ground.send(0, &eager(0, 1, b"here"))?;
    ground.device.wait(Some(crate::ground::PATIENCE))?;
    for mut tail in [1 << 20, u64::MAX, 1 << 63] {
        let answer = ioctl_with(raw(&ground.device), ask::FREE_ENTRY, &mut tail);
        refused(&format!("tail {tail}"), answer, libc::EINVAL)?;
    }
    // Behind what was taken before: nothing happens.
    equal("payload", ground.next_packet()?.payload, b"here".to_vec())?;
    let tail = ground.device.tail();
    ground.device.free_entry(tail)?;
    let backwards = ioctl_with(raw(&ground.device), ask::FREE_ENTRY, &mut 0u64);
    equal("backwards is refused or ignored", backwards.is_ok(), true)
        .or_else(|_| refused("backwards", backwards, libc::EINVAL))?;
    ground.send(0, &eager(0, 1, b"and here"))?;
    equal(
        "payload",
        ground.next_packet()?.payload,
        b"and here".to_vec(),
    )
}

fn dumper(_: &mut Random) -> Outcome {
    let device = open(2, 4, DUMP_BYTES_MIN)?;
    for threads in [0, 17, u64::from(u32::MAX), u64::MAX] {
        let answer = ioctl(raw(&device), ask::START_DUMPER_THREAD, threads);
        refused(&format!("{threads} threads"), answer, libc::EINVAL)?;
    }
    device.start_dumper_thread(16)?;
    device.start_dumper_thread(2)?;
    Ok(())
}

/// Arguments that are not in memory, or only partly.
fn addresses(_: &mut Random) -> Outcome {
    let device = open(2, 4, DUMP_BYTES_MIN)?;
    let requests = [
        ("init", ask::INIT),
        ("register", ask::REGISTER_SOCKET),
        ("area", ask::SET_DUMP_AREA),
        ("put", ask::PUT_ENTRY),
        ("cancel", ask::CANCEL_ENTRY),
        ("free", ask::FREE_ENTRY),
        ("counters", ask::COUNTERS),
    ];
    let page = Buffer::new(4096);
    let nothing = Buffer::no_access(4096)?;
    let kernel = 0xffff_8880_0000_0000;
    for (name, request) in requests {
        for address in [0, 8, nothing.address(), kernel, u64::MAX - 3] {
            let answer = ioctl(raw(&device), request, address);
            refused(&format!("{name} at {address:#x}"), answer, libc::EFAULT)?;
        }
    }
    let read_only = Buffer::read_only(4096)?;
    let answer = ioctl(raw(&device), ask::COUNTERS, read_only.address());
    refused("counters to memory to be read only", answer, libc::EFAULT)?;
    equal("nothing was written", page.is_untouched(), true)
}

fn mmap(_: &mut Random) -> Outcome {
    let device = open(2, 4, DUMP_BYTES_MIN)?;
    // Control page, flags, desks, dump area.
    let whole = 3 * 4096 + DUMP_BYTES_MIN as usize;
    let both = libc::PROT_READ | libc::PROT_WRITE;
    if Buffer::of_device(device.as_fd(), whole + 4096, both).is_ok() {
        return fail("more was mapped than there is");
    }
    if Buffer::of_device_from(device.as_fd(), 4096, both, 1 << 30).is_ok() {
        return fail("something was mapped from where nothing is");
    }
    // A part of it, and all of it again, may be.
    for bytes in [4096, whole] {
        Buffer::of_device(device.as_fd(), bytes, libc::PROT_READ)?.unmap();
    }
    Ok(())
}

fn unknown(random: &mut Random) -> Outcome {
    let device = open(2, 4, DUMP_BYTES_MIN)?;
    let letter = 0xb5 << 8;
    for number in [
        letter,
        letter | 11,
        letter | 99,
        ask::PUT_ENTRY ^ (8 << 16),
        0x5401,
    ] {
        let answer = ioctl(raw(&device), number, 0);
        refused(&format!("request {number:#x}"), answer, libc::ENOTTY)?;
    }
    for _ in 0..2000 {
        let number = random.next() as u32;
        // Requests that the kernel itself answers for every file are not ours.
        if number >> 8 & 0xff == 0xb5 && number & 0xff > 10 {
            let answer = ioctl(raw(&device), number, random.next());
            refused(&format!("request {number:#x}"), answer, libc::ENOTTY)?;
        }
    }
    Ok(())
}
