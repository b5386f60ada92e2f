//! The paper on user-level messaging: modes of a link, and pi, mm and lu on 1 to 16 hosts beside
//! TCP.

use oxmpi_settings as settings;

use super::execute::Ran;
use super::sheet::{Cell, Sheet};
use super::{Lab, PaperError, Run, hosts_name};
use crate::figure::Unit;
use crate::pmtest::modes;

const PAPER: &str = "ports";

/// Modes, as `oxmpi pmtest --modes` calls them.
const MODES: [&str; 3] = ["user-user", "user-kernel", "kernel-kernel"];

/// Numbers of hosts, a rank each.
const HOSTS: [usize; 5] = [1, 2, 4, 8, 16];

/// The programs of the paper, with sizes for a quick run and for another.
const PROGRAMS: [[&[&str]; 2]; 3] = [
    [
        &["pi", "--intervals", "20000000"],
        &["pi", "--intervals", "200000000"],
    ],
    [&["mm", "--size", "256"], &["mm", "--size", "768"]],
    [&["lu", "--size", "256"], &["lu", "--size", "1000"]],
];

/// All of it.
pub fn run(lab: &mut Lab<'_>) -> Result<Vec<Sheet>, PaperError> {
    let rows = modes::run(lab.session);
    let mut sheets = vec![Sheet::pivot(
        PAPER,
        "half a round trip by mode, 16 B to 64 KiB",
        &rows,
        &MODES,
    )];
    sheets[0].note(
        "a mode is who moves a frame there and back: rings that both sides have mapped, or a \
         system call; between two programs in the kernel: oxmpi bench papers kernel",
    );
    for program in PROGRAMS {
        sheets.push(on_hosts(lab, program[usize::from(!lab.arguments.quick)])?);
    }
    Ok(sheets)
}

/// A program on 1 to 16 hosts, as OxMPI chooses its network and by TCP.
fn on_hosts(lab: &mut Lab<'_>, words: &[&str]) -> Result<Sheet, PaperError> {
    let columns = ["OxMPI", "TCP", "TCP / OxMPI", "speed-up", "speed-up, TCP"];
    let mut sheet = Sheet::new(PAPER, words.join(" "), &columns);
    let mut alone: Option<[f64; 2]> = None;
    let mut crowded = false;
    for hosts in lab.hosts.counts(&HOSTS) {
        let place = hosts_name(hosts);
        let run = Run {
            words,
            hosts,
            each: 1,
        };
        let found = lab.in_turns(run, &[&[], &[(settings::NET.name, "tcp")]])?;
        let values = |value: fn(&Ran) -> f64| -> [Vec<f64>; 2] {
            [0, 1].map(|way| found[way].iter().map(value).collect())
        };
        let cells =
            |unit, [own, tcp]: &[Vec<f64>; 2]| vec![Cell::of(unit, own), Cell::of(unit, tcp)];
        let times = values(|ran| 1e3 * ran.seconds);
        let mut line = cells(Unit::Milliseconds, &times);
        line.push(
            (hosts > 1)
                .then(|| Cell::ratio(&times[1], &times[0]))
                .flatten(),
        );
        let medians = [0, 1].map(|way| line[way].map_or(f64::NAN, |cell| cell.value.median));
        let [own, tcp] = *alone.get_or_insert(medians);
        if lab.has_cpus(hosts) {
            line.push(Cell::one(Unit::Times, own / medians[0]));
            line.push(Cell::one(Unit::Times, tcp / medians[1]));
        } else {
            crowded = true;
        }
        sheet.line(format!("{place}: run time"), line);
        let cpu = values(|ran| 1e3 * ran.cpu_seconds / ran.ranks);
        sheet.line(
            format!("{place}: CPU time of a rank"),
            cells(Unit::Milliseconds, &cpu),
        );
        if hosts > 1 {
            let packets = values(|ran| ran.packets / ran.ranks);
            let name = format!("{place}: packets received by a rank");
            sheet.line(name, cells(Unit::Count, &packets));
        }
    }
    if crowded {
        sheet.note(
            "there are more hosts than CPUs here, so there is no speed-up to show beyond that; CPU \
             time and packets are counted instead",
        );
    }
    if sheet.lines.len() < 3 {
        sheet.note("on one host alone: there are no others");
    }
    Ok(sheet)
}
