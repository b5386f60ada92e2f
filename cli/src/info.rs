//! `oxmpi info`: the version, this host, and what applies when nothing is said.

use crate::show::show_line;
use oxmpi_launch::{Allocation, RANKS_MAX, Settings, Spread};
use oxmpi_net::tcp::{Progress, describe_bpf, describe_driver, describe_ring};

/// Prints it all.
pub(crate) fn print() {
    let settings = Settings::default();
    show_line!("oxmpi {}", env!("CARGO_PKG_VERSION"));
    show_line!();
    row("host", &oxmpi_launch::host_name());
    let cpus = oxmpi_launch::usable_cpus();
    row(
        "usable CPUs",
        &format!("{cpus} (affinity mask and cgroup quota)"),
    );
    row("allocation", &allocation());
    row(
        "ranks",
        &format!("{} without -n, at most {RANKS_MAX}", uncounted()),
    );
    row("time-out", "none without --timeout");
    row(
        "grace",
        &format!(
            "{} s between asking ranks to end and killing them",
            settings.grace.as_secs_f64()
        ),
    );
    row(
        "binding",
        "none without --bind-to; --report-bindings shows it",
    );
    row("progress", &progress());
    row("Fortran", &crate::compile::fortran_compilers());
    show_line!();
    copying();
    show_line!();
    show_line!("shipped programs (oxmpi run -n 4 NAME)");
    for program in oxmpi_programs::names() {
        row(program.name, program.about);
    }
}

/// What ranks of this host find out about copying, by trying it.
fn copying() {
    show_line!("copying between ranks of this host, as two of them have just timed it");
    match oxmpi_bench::learned() {
        Ok(learned) => {
            for (name, value) in learned {
                show_line!("  {name}: {value}");
            }
        }
        Err(error) => show_line!("  unknown: {error}"),
    }
}

/// What a batch system has given to this process.
fn allocation() -> String {
    match Allocation::here() {
        Ok(Some(allocation)) => format!(
            "{} ({}): {} slots on {} hosts, taken unless hosts are named or OXMPI_ALLOCATION is off",
            allocation.name,
            allocation.variable,
            allocation.slots(),
            allocation.hosts.len()
        ),
        Ok(None) => "none found of Slurm, PBS, LSF, Grid Engine or Flux".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// How many ranks a job of one program has without -n.
fn uncounted() -> String {
    match Spread::default().or_env() {
        Ok(spread) => spread.slots().unwrap_or(1).to_string(),
        Err(error) => error.to_string(),
    }
}

/// Who reads the connections of a rank, and whether the kernel could.
fn progress() -> String {
    let who = match Progress::from_env() {
        Ok(Progress::User) => "user, each rank reads its connections".to_owned(),
        Ok(Progress::Sock) => "sock, a plain loop over all connections".to_owned(),
        Ok(Progress::Kernel) => "kernel, the driver reads the connections".to_owned(),
        Ok(Progress::Uring) => "uring, io_uring reads the connections".to_owned(),
        Ok(Progress::Bpf) => "bpf, BPF programs read the connections".to_owned(),
        Err(error) => error.to_string(),
    };
    let (driver, ring, bpf) = (describe_driver(), describe_ring(), describe_bpf());
    format!("{who}; {driver}; {ring}; {bpf}")
}

fn row(name: &str, value: &str) {
    show_line!("  {name:<12} {value}");
}
