//! The paper of O2G: MPI's queues where messages arrive, beside a loop that polls and reads.
//!
//! Columns are the readers of the connections (`OXMPI_PROGRESS`): `sock` is the paper's baseline,
//! `user` the library's handler, `uring`, `bpf` and `kernel` where they can be had. Everything goes
//! by TCP, whose readers are compared.

use std::path::{Path, PathBuf};

use oxmpi_launch::Host;
use oxmpi_settings as settings;

use super::arguments::ArgumentError;
use super::execute;
use super::published::{O2G_SORT, O2G_SOURCE};
use super::sheet::{Cell, Sheet};
use super::{Lab, PaperError, Run, hosts_name};
use crate::against;
use crate::figure::{Row, Unit};
use crate::suite::progress;

const PAPER: &str = "o2g";

/// Numbers of hosts and of ranks on each; one host is loopback.
const SPREADS: [(usize, u32); 4] = [(1, 4), (2, 2), (4, 1), (16, 1)];

/// Ranks of this host that may be needed: more than any experiment has.
const SLOTS: u32 = 1024;

/// A setting that chooses who reads, on one host or on several.
fn environment(home: &'static str, hosts: usize) -> Vec<(&'static str, &'static str)> {
    let mut environment = vec![(settings::NET.name, "tcp"), (settings::PROGRESS.name, home)];
    if hosts < 2 {
        environment.push((settings::SHARED_MEMORY.name, "off"));
    }
    environment
}

/// All of it.
pub fn run(lab: &mut Lab<'_>) -> Result<Vec<Sheet>, PaperError> {
    let homes = progress::names(lab.session);
    let mut sheets = sorts(lab, &homes)?;
    if let Some(folder) = &lab.arguments.npb {
        let binaries = binaries(folder)?;
        sheets.push(npb(lab, &homes, &binaries)?);
    }
    if !lab.arguments.against.is_empty() {
        sheets.push(beside(lab)?);
    }
    // As `oxmpi bench progress` does it: all ranks on this host, between them TCP over loopback.
    if let Some(this) = lab.hosts.names.first() {
        lab.session.spread.hosts = Some(vec![Host {
            name: this.clone(),
            slots: SLOTS,
            slots_max: None,
        }]);
    }
    let rows = progress::run(lab.session);
    lab.session.spread.hosts = None;
    sheets.extend(costs(&rows?, &homes));
    Ok(sheets)
}

/// The integer sort: its rate, and what it costs.
fn sorts(lab: &mut Lab<'_>, homes: &[&'static str]) -> Result<Vec<Sheet>, PaperError> {
    let classes: &[&str] = if lab.arguments.quick {
        &["S"]
    } else {
        &["S", "W"]
    };
    let mut columns = homes.to_vec();
    columns.extend(["best / sock", "paper"]);
    let mut rates = Sheet::new(PAPER, "integer sort, million keys per second", &columns);
    let mut counts = Sheet::new(PAPER, "integer sort, what a rank spends", homes);
    let present = lab.hosts.counts(&SPREADS.map(|(hosts, _)| hosts));
    let mut crowded = false;
    for class in classes {
        for (hosts, each) in SPREADS {
            if !present.contains(&hosts) {
                continue;
            }
            let environments: Vec<_> = homes.iter().map(|home| environment(home, hosts)).collect();
            let settings: Vec<_> = environments.iter().map(Vec::as_slice).collect();
            let words = ["is", "--class", class];
            let run = Run {
                words: &words,
                hosts,
                each,
            };
            let found = lab.in_turns(run, &settings)?;
            let ranks = hosts * each as usize;
            crowded |= !lab.has_cpus(ranks);
            let place = match hosts {
                1 => "1 host, loopback".to_owned(),
                _ => hosts_name(hosts),
            };
            let name = format!("class {class}, {ranks} ranks on {place}");
            let rate = |home: usize| -> Vec<f64> {
                found[home].iter().filter_map(|ran| ran.rate).collect()
            };
            let mut cells: Vec<Option<Cell>> = (0..homes.len())
                .map(|home| Cell::of(Unit::Count, &rate(home)))
                .collect();
            let others = (1..homes.len()).filter_map(|home| Cell::ratio(&rate(home), &rate(0)));
            cells.push(others.max_by(|one, other| one.value.median.total_cmp(&other.value.median)));
            cells.push(
                (hosts == 16)
                    .then(|| Cell::one(Unit::Times, O2G_SORT.times))
                    .flatten(),
            );
            rates.line(name.clone(), cells);
            type Share = fn(&execute::Ran) -> f64;
            let shares: [(&str, Unit, Share); 3] = [
                ("CPU time", Unit::Milliseconds, |ran| {
                    1e3 * ran.cpu_seconds / ran.ranks
                }),
                ("switches of context", Unit::Count, |ran| {
                    ran.switches / ran.ranks
                }),
                ("packets received", Unit::Count, |ran| {
                    ran.packets / ran.ranks
                }),
            ];
            for (what, unit, share) in shares {
                let cells = found.iter().map(|runs| {
                    let values: Vec<f64> = runs.iter().map(share).collect();
                    Cell::of(unit, &values)
                });
                counts.line(format!("{name}: {what}"), cells.collect());
            }
        }
    }
    rates.note(format!(
        "paper: {}, {:.1} x ({O2G_SOURCE})",
        O2G_SORT.what, O2G_SORT.times
    ));
    if crowded {
        rates.note(
            "there are more ranks than CPUs here, so more hosts cannot make it faster: columns of \
             a line can be compared, lines cannot; the next table counts what ranks spend",
        );
    }
    Ok(vec![rates, counts])
}

/// The rest of the paper, out of the rows of `oxmpi bench progress`.
fn costs(rows: &[Row], homes: &[&'static str]) -> Vec<Sheet> {
    let group = |row: &Row| match &row.name {
        name if name.contains("idle connections") => 1,
        name if name.contains("computing") => 2,
        _ => 0,
    };
    let titles = [
        "what a message costs its receiver, and an all-to-all all ranks",
        "cost by number of connections",
        "overlap: the share of a transfer that is over when the computing ends",
    ];
    let mut sheets = Vec::new();
    for (place, title) in titles.into_iter().enumerate() {
        let of_group: Vec<Row> = rows
            .iter()
            .filter(|row| group(row) == place)
            .cloned()
            .collect();
        let mut sheet = Sheet::pivot(PAPER, title, &of_group, homes);
        if place == 1 {
            // What stands below each figure: the same with one idle connection.
            let cells: Vec<Option<Cell>> = homes
                .iter()
                .map(|home| {
                    let row = of_group.iter().find(|row| row.name.ends_with(*home))?;
                    Some(Cell {
                        value: row.floor.as_ref()?.ratio,
                        unit: Unit::Times,
                    })
                })
                .collect();
            sheet.line("the same, beside 1 idle connection", cells);
        }
        sheets.push(sheet);
    }
    sheets
}

/// The integer sort as a program in C, with each library.
fn beside(lab: &Lab<'_>) -> Result<Sheet, PaperError> {
    let request = against::Request {
        peers: lab.arguments.against.clone(),
        prefix: lab.arguments.prefix.clone(),
        quick: lab.arguments.quick,
        nets: vec![crate::net::Net::Tcp],
        ..against::Request::default()
    };
    let found = against::sorts(&request, lab.hosts.names.len())?;
    let mut columns = vec!["OxMPI".to_owned()];
    for library in found.libraries.iter().skip(1) {
        columns.push(library.name.clone());
        columns.push("OxMPI / it".to_owned());
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "integer sort in C with each library, million keys per second";
    let mut sheet = Sheet::new(PAPER, title, &columns);
    for row in &found.rows {
        let cell = |value| Cell {
            value,
            unit: Unit::Count,
        };
        let mut cells = vec![row.ours.map(cell)];
        for library in found.libraries.iter().skip(1) {
            let peer = row.peers.iter().find(|peer| peer.library == library.name);
            cells.push(peer.map(|peer| cell(peer.value)));
            let ratio = peer.and_then(|peer| peer.ratio);
            cells.push(ratio.map(|value| Cell {
                value,
                unit: Unit::Times,
            }));
        }
        sheet.line(row.name.clone(), cells);
    }
    sheet.note(format!(
        "between hosts all of them by TCP, each with the best of its settings; paper: {:.1} x",
        O2G_SORT.times
    ));
    for note in found.notes {
        sheet.note(note);
    }
    Ok(sheet)
}

/// A binary of NPB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    name: String,
    class: char,
    path: PathBuf,
}

/// Those in a folder, or in its folder `bin`, as NPB's make files call them: `cg.S.x`.
pub fn binaries(folder: &Path) -> Result<Vec<Binary>, ArgumentError> {
    let mut found = Vec::new();
    for folder in [folder.to_owned(), folder.join("bin")] {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        found.extend(entries.filter_map(|entry| {
            let (name, class) = named(entry.file_name().to_str()?)?;
            Some(Binary {
                name,
                class,
                path: entry.path(),
            })
        }));
    }
    found.sort_by(|one, other| (&one.name, one.class).cmp(&(&other.name, other.class)));
    if found.is_empty() {
        return Err(ArgumentError::NoBinaries {
            folder: folder.to_owned(),
        });
    }
    Ok(found)
}

/// Benchmark and class of a file name.
fn named(file: &str) -> Option<(String, char)> {
    const NAMES: [&str; 9] = ["bt", "cg", "dt", "ep", "ft", "is", "lu", "mg", "sp"];
    let mut parts = file.split('.');
    let (name, class) = (parts.next()?, parts.next()?);
    let class = class.chars().next().filter(|_| class.len() == 1)?;
    let known = NAMES.contains(&name) && "SWABCDEF".contains(class);
    (known && parts.next() == Some("x") && parts.next().is_none()).then(|| (name.to_owned(), class))
}

/// NPB's others: by benchmark, class and hosts. Of a benchmark the smallest class is taken that
/// there is, in a quick run that alone, otherwise two.
fn npb(
    lab: &mut Lab<'_>,
    homes: &[&'static str],
    binaries: &[Binary],
) -> Result<Sheet, PaperError> {
    let mut columns = homes.to_vec();
    columns.push("best / sock");
    let mut sheet = Sheet::new(PAPER, "NAS parallel benchmarks, Mop/s", &columns);
    let classes = if lab.arguments.quick { 1 } else { 2 };
    let order = |binary: &&Binary| "SWABCDEF".find(binary.class);
    let mut names: Vec<&str> = binaries.iter().map(|binary| binary.name.as_str()).collect();
    names.dedup();
    let present = lab.hosts.counts(&SPREADS.map(|(hosts, _)| hosts));
    let spreads = SPREADS.map(|spread| Some(spread).filter(|(hosts, _)| present.contains(hosts)));
    for name in names {
        let mut of_name: Vec<&Binary> = binaries
            .iter()
            .filter(|binary| binary.name == name)
            .collect();
        of_name.sort_by_key(order);
        for binary in of_name.into_iter().take(classes) {
            for (hosts, each) in spreads.into_iter().flatten() {
                let label = format!("{name} class {}, {}", binary.class, hosts_name(hosts));
                match in_turns(lab, homes, binary, hosts, each) {
                    Ok(cells) => sheet.line(label, cells),
                    Err(error) => sheet.note(format!("{label}: {error}")),
                }
            }
        }
    }
    Ok(sheet)
}

fn in_turns(
    lab: &mut Lab<'_>,
    homes: &[&'static str],
    binary: &Binary,
    hosts: usize,
    each: u32,
) -> Result<Vec<Option<Cell>>, PaperError> {
    let rounds = lab.rounds();
    let what = format!("{}.{}, {}", binary.name, binary.class, hosts_name(hosts));
    lab.session.announce(what, rounds * homes.len());
    let mut found = vec![Vec::new(); homes.len()];
    for round in 0..rounds {
        for turn in 0..homes.len() {
            let which = (round + turn) % homes.len();
            let environment = environment(homes[which], hosts);
            let names = lab.hosts.first(hosts);
            found[which].push(execute::npb(&binary.path, names, each, &environment)?);
            lab.session.step();
        }
    }
    let mut cells: Vec<Option<Cell>> = found
        .iter()
        .map(|values| Cell::of(Unit::Count, values))
        .collect();
    let ratios = found[1..]
        .iter()
        .filter_map(|values| Cell::ratio(values, &found[0]));
    cells.push(ratios.max_by(|one, other| one.value.median.total_cmp(&other.value.median)));
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npbs_binaries_are_known_by_their_names() {
        assert_eq!(named("cg.S.x"), Some(("cg".to_owned(), 'S')));
        for other in [
            "cg.S",
            "cg.S.x.old",
            "xx.S.x",
            "cg.Z.x",
            "cg.SS.x",
            "README",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
        let error = binaries(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(
            error.starts_with("--npb /nonexistent: no binaries such as cg.S.x"),
            "{error}"
        );
    }

    #[test]
    fn rows_of_the_benchmark_become_three_tables() {
        let row = |name: &str| {
            Row::new("progress", name, Unit::Nanoseconds, &[4.0]).on_floor("x", &[4.0], &[2.0])
        };
        let rows = [
            row("ping-pong of 8 B, time per message, sock"),
            row("ping-pong of 8 B, time per message, user"),
            row("8 B one way, 500 idle connections, sock"),
            row("8 B one way, 500 idle connections, user"),
            row("64 MiB receive posted before 1 s of computing, sock"),
            row("64 MiB receive posted before 1 s of computing, user, driver thread off"),
        ];
        let sheets = costs(&rows, &["sock", "user"]);
        let lines: Vec<usize> = sheets.iter().map(|sheet| sheet.lines.len()).collect();
        assert_eq!(lines, [1, 2, 2]);
        let ratio = sheets[1].lines[1].cells[1].map(|cell| cell.value.median);
        assert_eq!(ratio, Some(2.0));
    }

    #[test]
    fn ranks_of_one_host_go_by_tcp_too() {
        assert_eq!(environment("sock", 2).len(), 2);
        assert!(environment("sock", 1).contains(&("OXMPI_SHARED_MEMORY", "off")));
    }
}
