//! Captures, read back; and what Wireshark's own reader makes of them with the dissector, where it
//! is installed.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex};

use oxmpi_wire::frame::{FRAME_HEADER_BYTES, Frame, Kind, PieceHeader, flag};
use oxmpi_wire::{Content, Envelope, Repr};
use pcap_file::pcapng::{Block, PcapNgReader};

use super::super::recorder::{Record, Recorder, batch_of};
use super::*;

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxmpi-pcap-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn frame(kind: Kind, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; FRAME_HEADER_BYTES];
    Frame {
        kind,
        channel: 3,
        to: 1,
        name: 0,
        length: payload.len() as u16,
        flags,
        sequence,
        ack: 9,
        serial: 0,
        crc: 0,
        tag: 0x1122_3344_5566_7788,
    }
    .emit(&mut header);
    [&header[..], payload].concat()
}

/// A packet of an MPI message as it lies in a message of `link`: its payload's length, header and
/// body, payload.
fn packet(kind: oxmpi_wire::Kind, tag: i32, payload: &[u8]) -> Vec<u8> {
    let mut prefix = [0; oxmpi_wire::PREFIX_BYTES];
    let bytes = Repr {
        envelope: Envelope {
            context: 0x9e37_79b9_0000_0008,
            source: 0,
            tag,
            content: Content::new(1 << 40, 0),
        },
        sequence: 6,
        credit: 2,
        kind,
    }
    .emit_prefix(&mut prefix);
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..], &prefix[..bytes], payload].concat()
}

fn piece(first: bool, last: bool, content: &[u8]) -> Vec<u8> {
    let header = PieceHeader {
        bytes: content.len() as u16,
        first,
        last,
    };
    [&header.emit()[..], content].concat()
}

/// A data frame with two whole messages and the beginning of a third.
fn data_frame() -> Vec<u8> {
    let eager = packet(oxmpi_wire::Kind::Eager, 77, b"hello");
    let clear = oxmpi_wire::Kind::ClearToSend {
        send: 0xAB,
        receive: 0xCD,
    };
    let payload = [
        piece(true, true, &eager),
        piece(true, true, &packet(clear, -5, b"")),
        piece(true, false, &[1, 2, 3]),
    ]
    .concat();
    frame(Kind::Data, flag::ASKING, 17, &payload)
}

/// Two frames out, one in.
fn capture(folder: &Folder, own: Address, other: Address) -> PathBuf {
    let path = folder.0.join("capture.4.udp.pcapng");
    let (device, record): (_, Arc<Mutex<Record>>) = Recorder::pair();
    let mut pcap = Pcap::create(device, &path, own).unwrap();
    let lose = frame(Kind::Lose, flag::SELECTIVE | flag::STOPPED, 0, &[0x55]);
    assert_eq!(
        pcap.send(&other, &batch_of([data_frame(), lose])).unwrap(),
        2
    );
    let ack = frame(Kind::Ack, 0, 0, &[]);
    record.lock().unwrap().arriving.push_back((other, ack));
    assert!(pcap.poll() && !pcap.poll());
    path
}

fn udp(text: &str) -> Address {
    Address::Udp(text.parse().unwrap())
}

#[test]
fn a_capture_is_read_back() {
    let folder = Folder::new("back");
    let path = capture(&folder, udp("10.0.0.1:5000"), udp("10.0.0.2:5001"));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut reader = PcapNgReader::new(File::open(&path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.linktype, DataLink::ETHERNET);
                let resolution = InterfaceDescriptionOption::IfTsResol(9);
                assert!(interface.options.contains(&resolution));
            }
            Block::EnhancedPacket(packet) => {
                let age = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - packet.timestamp;
                assert!(age < Duration::from_secs(60));
                let [EnhancedPacketOption::Flags(flags)] = packet.options[..] else {
                    panic!("a packet has its direction")
                };
                packets.push((flags, packet.data.into_owned()));
            }
            other => panic!("{other:?}"),
        }
    }
    let directions: Vec<u32> = packets.iter().map(|packet| packet.0).collect();
    assert_eq!(directions, [2, 2, 1]);
    let headers = 14 + 20 + 8;
    assert_eq!(packets[0].1[headers..], data_frame());
    // Source and destination ports change places.
    assert_eq!(packets[0].1[34..38], [0x13, 0x88, 0x13, 0x89]);
    assert_eq!(packets[2].1[34..38], [0x13, 0x89, 0x13, 0x88]);
}

#[test]
fn sleepers_leave_nothing_unwritten() {
    let folder = Folder::new("sleep");
    let path = folder.0.join("sleep.pcapng");
    let (device, _record) = Recorder::pair();
    let mut pcap = Pcap::create(device, &path, udp("10.0.0.1:1")).unwrap();
    let begun = std::fs::metadata(&path).unwrap().len();
    assert!(begun > 0);
    pcap.send(&udp("10.0.0.2:2"), &batch_of([data_frame()]))
        .unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), begun);
    assert!(pcap.prepare_sleep());
    assert!(std::fs::metadata(&path).unwrap().len() > begun);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let folder = Folder::new("missing");
    let refused = |path: &Path| {
        let (device, _) = Recorder::pair();
        let error = Pcap::create(device, path, udp("10.0.0.1:1")).err().unwrap();
        error.to_string()
    };
    let path = folder.0.join("nowhere/capture.4.udp.pcapng");
    assert_eq!(
        refused(&path),
        format!(
            "cannot write the capture {}: No such file or directory (os error 2); OXMPI_NET_PCAP=prefix names files prefix.RANK.DEVICE.pcapng in a folder that exists and is yours to write in",
            path.display()
        )
    );
    let (target, link) = (folder.0.join("target"), folder.0.join("link"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(
        refused(&link),
        format!(
            "cannot write the capture: {} is a symbolic link, and is not written to: another user may have prepared it; remove it, or name another file",
            link.display()
        )
    );
    assert!(!target.exists(), "a link was followed");
}

/// What tshark shows of the fields, a line per frame; None, with the reason on stderr, where there
/// is no tshark.
fn tshark(path: &Path, options: &[&str], fields: &[&str]) -> Option<Vec<String>> {
    let dissector = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/oxmpi.lua");
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{dissector}"));
    command.args(options);
    command
        .arg("-r")
        .arg(path)
        .args(["-T", "fields", "-E", "separator=;"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: no tshark ({error})");
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !errors.contains("Lua"),
        "{errors}"
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(str::to_owned).collect())
}

const FIELDS: [&str; 19] = [
    "oxmpi.kind",
    "oxmpi.channel",
    "oxmpi.name",
    "oxmpi.to",
    "oxmpi.length",
    "oxmpi.flags",
    "oxmpi.tag",
    "oxmpi.sequence",
    "oxmpi.ack",
    "oxmpi.kept",
    "oxmpi.piece.bytes",
    "oxmpi.piece.last",
    "oxmpi.packet.kind",
    "oxmpi.packet.context",
    "oxmpi.packet.tag",
    "oxmpi.packet.bytes",
    "oxmpi.packet.send",
    "oxmpi.packet.receive",
    "_ws.col.Info",
];

const SHOWN: [&str; 3] = [
    "1;3;0;1;108;0x0008;0x1122334455667788;17;9;;41,52,3;1,1,0;0x01,0x82;0x9e3779b900000008,0x9e3779b900000008;77,-5;1099511627776,1099511627776;0x00000000000000ab;0x00000000000000cd;\
     0→1 data #17 108 B ack 9 | eager, tag 77, 1099511627776 bytes | clear to send, tag -5, 1099511627776 bytes",
    "3;3;0;1;1;0x0006;0x1122334455667788;0;9;55;;;;;;;;;0→1 LOSE ack 9",
    "2;3;0;1;0;0x0000;0x1122334455667788;0;9;;;;;;;;;;0→1 ack 9",
];

#[test]
fn wireshark_takes_apart_what_udp_carries() {
    let folder = Folder::new("udp");
    // 5001 belongs to another protocol, whose dissector is asked first unless it is told otherwise.
    let heuristics_first = ["-o", "udp.try_heuristic_first:TRUE"];
    let our_port = ["-o", "oxmpi.ports:5001"];
    let strict = ["-o", "udp.check_checksum:TRUE"];
    for (own, other, options) in [
        ("10.0.0.1:40000", "10.0.0.2:40001", &[][..]),
        ("[fe80::1]:40000", "[fe80::2]:40001", &strict),
        ("10.0.0.1:40000", "10.0.0.2:5001", &heuristics_first),
        ("10.0.0.1:40000", "10.0.0.2:5001", &our_port),
    ] {
        let path = capture(&folder, udp(own), udp(other));
        if let Some(lines) = tshark(&path, options, &FIELDS) {
            assert_eq!(lines, SHOWN, "{own} {other} {options:?}");
            let complaints = tshark(&path, options, &["_ws.expert.group"]).unwrap();
            // Only of what the frames themselves say: LOSE.
            assert_eq!(complaints.concat(), "33554432");
            let ports = tshark(&path, options, &["udp.srcport"]).unwrap();
            assert_eq!(ports[..2], ["40000"; 2]);
            assert!(other.ends_with(&ports[2]));
        }
    }
}

#[test]
fn wireshark_takes_apart_what_ethernet_carries() {
    let folder = Folder::new("ethernet");
    let [own, other] = [1, 2].map(|last| Address::Ethernet([2, 0, 0, 0, 0, last]));
    let path = capture(&folder, own, other);
    if let Some(lines) = tshark(&path, &[], &FIELDS) {
        assert_eq!(lines, SHOWN);
        assert_eq!(tshark(&path, &[], &["eth.type"]).unwrap(), ["0x88b5"; 3]);
    }
}
