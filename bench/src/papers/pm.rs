//! The paper of PM: a light protocol on Ethernet beside IP, where the waiting process itself takes
//! in arriving frames.
//!
//! Figures 4 and 5 (round trip and bandwidth by size), table 2 (round trips by layer), tables 3 and
//! 4 (where half a round trip goes) and NPB's integer sort, all between two hosts, the sort on up
//! to 16. `oxmpi pmtest` measures the first four; here they stand side by side.

use oxmpi_settings as settings;

use super::published::{PM_BANDWIDTH, PM_ROUND_TRIP, PM_SORT, PM_SOURCE, Published};
use super::sheet::{Cell, Sheet};
use super::{Lab, PaperError, Run, hosts_name};
use crate::figure::{Unit, size_name};
use crate::floor::icmp;
use crate::net::Net;
use crate::pmtest::{self, Findings, LONG, SHORT, SIZES};
use crate::rank::channel::{Figure, Wait};

const PAPER: &str = "pm";

/// Numbers of hosts for the sort, a rank each.
const HOSTS: [usize; 5] = [1, 2, 4, 8, 16];

/// A column of the sort: its name and the settings of its jobs.
type Way = (&'static str, &'static [(&'static str, &'static str)]);

const TCP: Way = ("TCP", &[(settings::NET.name, "tcp")]);
const WAYS: [Way; 4] = [
    ("Ethernet", &[(settings::NET.name, "ethernet")]),
    (
        "Ethernet, asleep",
        &[
            (settings::NET.name, "ethernet"),
            (settings::WAIT.name, "sleep"),
        ],
    ),
    ("UDP", &[(settings::NET.name, "udp")]),
    TCP,
];

/// All of it.
pub fn run(lab: &mut Lab<'_>) -> Result<Vec<Sheet>, PaperError> {
    let mut found = Vec::new();
    for net in [Net::Udp, Net::Ethernet] {
        match pmtest::gather(lab.session, net) {
            Ok(one) => found.push(one),
            // Not everybody may open packet sockets, and loopback has no frames.
            Err(error) => lab
                .session
                .left_out(&format!("PM by {}", net.name()), &error),
        }
    }
    if found.is_empty() {
        let error = "it cannot be measured by any network; the notes before say why";
        lab.session.failed("PM between two processes", &error);
    }
    let mut sheets = Vec::new();
    if !found.is_empty() {
        let sizes = |streaming| by_size(&found, streaming);
        sheets.extend([
            sizes(false),
            sizes(true),
            layers(lab, &found),
            parts(&found),
        ]);
    }
    let ratio = match lab.hosts.names.len() {
        0 => {
            let note = "the sort of the paper of PM is left out: it needs hosts".to_owned();
            lab.session.notes.push(note);
            None
        }
        _ => {
            let (sheet, ratio) = sorts(lab, !found.iter().any(|one| one.net == Net::Ethernet))?;
            sheets.push(sheet);
            ratio
        }
    };
    // The sort's ratio is that of frames where there are any, which come last.
    for (place, one) in found.iter().enumerate().rev() {
        let is_last = place + 1 == found.len();
        sheets.insert(0, beside(one, ratio.filter(|_| is_last)));
    }
    Ok(sheets)
}

/// Whole round trips of halves.
fn doubled(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|value| 2.0 * value).collect()
}

fn round_trip(found: &Findings, bytes: usize, wait: Wait) -> Vec<f64> {
    doubled(found.values(Figure::OneWay { bytes, wait }, 0))
}

fn stream(found: &Findings, bytes: usize, wait: Wait) -> Vec<f64> {
    found.values(Figure::Stream { bytes, wait }, 0)
}

/// Our figures beside the paper's, where the paper's are known.
fn beside(found: &Findings, sort: Option<Cell>) -> Sheet {
    let columns = [
        "PM",
        "TCP",
        "gain",
        "paper: PM",
        "paper: TCP",
        "paper: gain",
    ];
    let name = found.net.name();
    let title = format!("PM by {name} beside TCP, ours and the paper's");
    let mut sheet = Sheet::new(PAPER, title, &columns);
    let published = |of: Published| {
        let cell = |value: Option<f64>| value.and_then(|value| Cell::one(of.unit, value));
        [
            cell(of.own),
            cell(of.other),
            Cell::one(Unit::Times, of.times),
        ]
    };
    let tcp = doubled(found.values(Figure::TcpOneWay { bytes: SHORT }, 0));
    let pm = round_trip(found, SHORT, Wait::Reaping);
    let mut cells = vec![
        Cell::of(Unit::Nanoseconds, &pm),
        Cell::of(Unit::Nanoseconds, &tcp),
        Cell::ratio(&tcp, &pm),
    ];
    cells.extend(published(PM_ROUND_TRIP));
    sheet.line(PM_ROUND_TRIP.what, cells);
    let tcp = found.values(Figure::TcpStream { bytes: LONG }, 0);
    let pm = stream(found, LONG, Wait::Reaping);
    let mut cells = vec![
        Cell::of(Unit::MegabytesPerSecond, &pm),
        Cell::of(Unit::MegabytesPerSecond, &tcp),
        Cell::ratio(&pm, &tcp),
    ];
    cells.extend(published(PM_BANDWIDTH));
    sheet.line(PM_BANDWIDTH.what, cells);
    if sort.is_some() {
        let mut cells = vec![None, None, sort];
        cells.extend(published(PM_SORT));
        sheet.line(PM_SORT.what, cells);
    }
    sheet.note(format!("paper: {PM_SOURCE}"));
    sheet
}

/// Figures 4 and 5.
fn by_size(found: &[Findings], streaming: bool) -> Sheet {
    let mut columns = Vec::new();
    for one in found {
        let name = one.net.name();
        columns.push(format!("{name}, reaping"));
        columns.push(format!("{name}, asleep"));
        columns.push("asleep / reaping".to_owned());
    }
    columns.push("TCP".to_owned());
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let (title, unit) = match streaming {
        false => ("round trip by size (figure 4)", Unit::Nanoseconds),
        true => ("bandwidth by size (figure 5)", Unit::MegabytesPerSecond),
    };
    let mut sheet = Sheet::new(PAPER, title, &columns);
    for bytes in SIZES {
        if streaming && bytes == 0 {
            continue;
        }
        let mut cells = Vec::new();
        for one in found {
            let of = |wait| match streaming {
                false => round_trip(one, bytes, wait),
                true => stream(one, bytes, wait),
            };
            let (reaping, asleep) = (of(Wait::Reaping), of(Wait::Sleeping));
            cells.push(Cell::of(unit, &reaping));
            cells.push(Cell::of(unit, &asleep));
            cells.push(Cell::ratio(&asleep, &reaping));
        }
        let tcp: Vec<f64> = found
            .iter()
            .flat_map(|one| match streaming {
                false => doubled(one.values(Figure::TcpOneWay { bytes }, 0)),
                true => one.values(Figure::TcpStream { bytes }, 0),
            })
            .collect();
        cells.push(Cell::of(unit, &tcp));
        sheet.line(size_name(bytes), cells);
    }
    sheet
}

/// Table 2: a round trip at each layer.
fn layers(lab: &mut Lab<'_>, found: &[Findings]) -> Sheet {
    let columns = ["round trip of 8 B", "times the first"];
    let mut sheet = Sheet::new(PAPER, "round trip by layer (table 2)", &columns);
    let mechanism = Figure::Mechanism { bytes: SHORT };
    let by = |net| found.iter().find(|one: &&Findings| one.net == net);
    let mut values = Vec::new();
    if let Some(ethernet) = by(Net::Ethernet) {
        let frames = doubled(ethernet.values(mechanism, 0));
        values.push(("data link: bare frames", frames));
    }
    match lab.hosts.other() {
        Some(address) => match icmp::round_trip_ns(address, SHORT, lab.session.repetition()) {
            Ok(time) => values.push(("IP: ICMP echo, answered by the other kernel", vec![time])),
            Err(error) => sheet.note(format!("ICMP echo is left out: {error}")),
        },
        None => sheet.note("ICMP echo is left out: there is no other host with an IPv4 address"),
    }
    if let Some(udp) = by(Net::Udp) {
        values.push(("UDP", doubled(udp.values(mechanism, 0))));
    }
    let tcp = |one: &Findings| doubled(one.values(Figure::TcpOneWay { bytes: SHORT }, 0));
    values.push(("TCP", found.iter().flat_map(tcp).collect()));
    for one in found {
        let name = match one.net {
            Net::Ethernet => "PM in frames, reaping",
            _ => "PM in UDP, reaping",
        };
        values.push((name, round_trip(one, SHORT, Wait::Reaping)));
    }
    let first = values
        .first()
        .map(|(_, first)| first.clone())
        .unwrap_or_default();
    for (name, values) in values {
        let median =
            |values: &[f64]| Cell::of(Unit::Nanoseconds, values).map(|cell| cell.value.median);
        let ratio = median(&values).zip(median(&first));
        let ratio = ratio.and_then(|(value, first)| Cell::one(Unit::Times, value / first));
        sheet.line(name, vec![Cell::of(Unit::Nanoseconds, &values), ratio]);
    }
    sheet
}

/// Tables 3 and 4: what half a round trip of 8 bytes is made of. Each part is measured, the wire
/// and the rest are what is left, so that a column adds up to its first line.
fn parts(found: &[Findings]) -> Sheet {
    let mut columns = vec!["TCP".to_owned()];
    columns.extend(found.iter().map(|one| format!("PM by {}", one.net.name())));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "parts of half a round trip of 8 B (tables 3 and 4)";
    let mut sheet = Sheet::new(PAPER, title, &columns);
    let names = [
        "all",
        "the call that sends",
        "the wire between the two calls: softirq, queues, the device",
        "the call that receives, or taking the frame out of the ring",
        "the protocol outside of the kernel, both sides",
        "the rest: the channel, looks in vain, colder caches",
    ];
    let mut values: Vec<[Option<f64>; 6]> = Vec::new();
    let median = |values: Vec<f64>| {
        Cell::of(Unit::Nanoseconds, &values).map_or(f64::NAN, |cell| cell.value.median)
    };
    let mechanism = |one: &Findings, figure| [0, 1, 2].map(|part| median(one.values(figure, part)));
    if let Some(one) = found.first() {
        let [half, send, receive] = mechanism(one, Figure::TcpParts { bytes: SHORT });
        let wire = half - send - receive;
        values.push([
            Some(half),
            Some(send),
            Some(wire),
            Some(receive),
            None,
            None,
        ]);
    }
    for one in found {
        let [half, send, receive] = mechanism(one, Figure::Mechanism { bytes: SHORT });
        let wait = Wait::Reaping;
        let all = median(one.values(Figure::OneWay { bytes: SHORT, wait }, 0));
        let protocol = median(one.values(Figure::Protocol { bytes: SHORT }, 0));
        let wire = half - send - receive;
        values.push([all, send, wire, receive, protocol, all - half - protocol].map(Some));
    }
    for (line, name) in names.into_iter().enumerate() {
        let cell = |column: &[Option<f64>; 6]| {
            let value = column[line].filter(|value| value.is_finite());
            value.and_then(|value| Cell::one(Unit::Nanoseconds, value))
        };
        sheet.line(name, values.iter().map(cell).collect());
    }
    sheet.note(
        "by subtraction: on an interface that delivers in the sender's call, such as veth, that \
         call includes the receiver's softirq, and the wire may be below 0",
    );
    sheet
}

/// The integer sort; and how many times faster frames are than TCP on the most hosts.
fn sorts(lab: &mut Lab<'_>, without_frames: bool) -> Result<(Sheet, Option<Cell>), PaperError> {
    let class = if lab.arguments.quick { "S" } else { "W" };
    let ways: Vec<Way> = WAYS
        .into_iter()
        .filter(|(name, _)| !(without_frames && name.starts_with("Ethernet")))
        .collect();
    let mut columns: Vec<&str> = ways.iter().map(|(name, _)| *name).collect();
    columns.extend(["first / TCP", "speed-up"]);
    let title = format!("integer sort, class {class}, one rank a host, million keys per second");
    let mut sheet = Sheet::new(PAPER, title, &columns);
    let settings: Vec<_> = ways.iter().map(|(_, environment)| *environment).collect();
    let (mut last, mut alone, mut crowded) = (None, None, false);
    for hosts in lab.hosts.counts(&HOSTS) {
        let place = hosts_name(hosts);
        let words = ["is", "--class", class];
        let run = Run {
            words: &words,
            hosts,
            each: 1,
        };
        let found = lab.in_turns(run, &settings)?;
        let rates: Vec<Vec<f64>> = found
            .iter()
            .map(|runs| runs.iter().filter_map(|ran| ran.rate).collect())
            .collect();
        let mut cells: Vec<Option<Cell>> = rates
            .iter()
            .map(|rates| Cell::of(Unit::Count, rates))
            .collect();
        let first = cells.first().copied().flatten();
        let gain = rates.last().and_then(|tcp| Cell::ratio(&rates[0], tcp));
        alone = alone.or(first);
        if hosts > 1 {
            last = gain;
            cells.push(gain);
        } else {
            cells.push(None);
        }
        if lab.has_cpus(hosts) {
            let speed = first
                .zip(alone)
                .map(|(now, one)| now.value.median / one.value.median);
            cells.push(speed.and_then(|speed| Cell::one(Unit::Times, speed)));
        }
        crowded |= !lab.has_cpus(hosts);
        sheet.line(place.clone(), cells);
        if hosts > 1 {
            let packets = found.iter().map(|runs| {
                let packets: Vec<f64> = runs.iter().map(|ran| ran.packets / ran.ranks).collect();
                Cell::of(Unit::Count, &packets)
            });
            sheet.line(
                format!("{place}: packets received by a rank"),
                packets.collect(),
            );
            let cpu = found.iter().map(|runs| {
                let times = runs.iter().map(|ran| 1e3 * ran.cpu_seconds / ran.ranks);
                Cell::of(Unit::Milliseconds, &times.collect::<Vec<f64>>())
            });
            sheet.line(format!("{place}: CPU time of a rank"), cpu.collect());
        }
    }
    if crowded {
        sheet.note(
            "there are more hosts than CPUs here, so there is no speed-up to show beyond that; \
             packets and CPU time are counted instead",
        );
    }
    sheet.note("asleep: OXMPI_WAIT=sleep, who waits is woken by the kernel");
    Ok((sheet, last))
}
