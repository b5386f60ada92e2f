//! The options of `oxmpi run`, `mpiexec` and `mpirun`.
//!
//! Each program of a command line (they are separated by `:`) is parsed with the same options.
//! Those of the program (`-n`, `--wdir`, `--env`) count for it alone, the others for the job
//! wherever they stand. Hosts are parsed by `launch`, which knows the same words from the
//! environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser};
use oxmpi_launch::{Bind, RANKS_MAX, Stdin};

use crate::soft::Soft;

/// Where the help shows what has to do with several hosts.
const HOSTS: &str = "Hosts";

/// Run a parallel program on this host, or on others.
///
/// PROGRAM is a path, a name in PATH, or one of the programs shipped with OxMPI (oxmpi info lists
/// them). Everything after it belongs to the program. Long options may be written with one dash.
#[derive(Debug, Default, Parser)]
#[command(
    no_binary_name = true,
    disable_version_flag = true,
    after_help = "Exit status: that of the first rank that failed (128 + signal if killed), 124 after a time-out,\n2 for a mistake in the command line, 126 or 127 for a program that cannot be executed or found."
)]
pub(crate) struct Options {
    /// Ranks that execute the program [default: 1, or all slots of the hosts]
    #[arg(short = 'n', long = "np", value_name = "RANKS", allow_hyphen_values = true, value_parser = ranks)]
    pub(crate) ranks: Option<u32>,

    /// Numbers of ranks that will do, such as 2:16:2 or 4,8; the largest up to -n is taken
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, value_parser = Soft::parse)]
    pub(crate) soft: Option<Soft>,

    /// File with further options of this program
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Folders in which the program is looked for before PATH, separated by colons
    #[arg(long, value_name = "FOLDERS")]
    pub(crate) path: Option<OsString>,

    /// Working directory of the program
    #[arg(long, alias = "wd", value_name = "FOLDER")]
    pub(crate) wdir: Option<PathBuf>,

    /// Environment variable for the ranks of this program
    #[arg(long, value_names = ["NAME", "VALUE"], num_args = 2, action = ArgAction::Append, allow_hyphen_values = true)]
    pub(crate) env: Vec<OsString>,

    /// Environment variable for all ranks
    #[arg(long, value_names = ["NAME", "VALUE"], num_args = 2, action = ArgAction::Append, allow_hyphen_values = true)]
    pub(crate) genv: Vec<OsString>,

    /// Environment variable for all ranks; without VALUE, as it is here
    #[arg(short = 'x', value_name = "NAME[=VALUE]", action = ArgAction::Append)]
    pub(crate) export: Vec<OsString>,

    /// Put the rank in brackets before every line of output
    #[arg(short = 'l', long, aliases = ["prepend-rank", "tag-output"])]
    pub(crate) label: bool,

    /// Put the time of day before every line of output
    #[arg(long, aliases = ["timestamp", "with-timestamp"])]
    pub(crate) timestamp_output: bool,

    /// Write each rank's output to files FOLDER/rank.N.stdout and .stderr
    #[arg(long, value_name = "FOLDER", alias = "output-filename")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Write each rank's standard output to a file; %r is the rank
    #[arg(
        long,
        value_name = "PATTERN",
        alias = "outfile",
        conflicts_with = "output_dir"
    )]
    pub(crate) outfile_pattern: Option<PathBuf>,

    /// Write each rank's standard error to a file; %r is the rank
    #[arg(
        long,
        value_name = "PATTERN",
        alias = "errfile",
        conflicts_with = "output_dir"
    )]
    pub(crate) errfile_pattern: Option<PathBuf>,

    /// Which rank reads standard input: its number, all or none [default: 0]
    #[arg(short = 's', long, value_name = "RANK", value_parser = stdin)]
    pub(crate) stdin: Option<Stdin>,

    /// Say how every rank ended when the job is over
    #[arg(long, alias = "print-all-exitcodes")]
    pub(crate) exit_codes: bool,

    /// Say of every rank where it runs
    #[arg(short = 'v', long, aliases = ["display-map", "print-rank-map", "display-devel-map"])]
    pub(crate) verbose: bool,

    /// Do not print the backtrace of a rank that crashes
    #[arg(long, overrides_with = "backtrace")]
    pub(crate) no_backtrace: bool,

    /// Print the backtrace of a rank that crashes, as is done anyway
    #[arg(long, hide = true)]
    pub(crate) backtrace: bool,

    /// The error handler that ranks begin with: mpi_errors_are_fatal, mpi_errors_abort or
    /// mpi_errors_return
    #[arg(long, value_name = "HANDLER", value_parser = errhandler)]
    pub(crate) initial_errhandler: Option<String>,

    /// End the job after this time, with exit status 124
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    /// Bind each rank to a place: hwthread, core, l3, numa, socket (core:2 for two of them),
    /// user:0+1,2+3, or none, which leaves it to the kernel [default: none]
    #[arg(long, value_name = "WHAT", value_parser = Bind::parse)]
    pub(crate) bind_to: Option<Bind>,

    /// Cores for each rank; OMP_NUM_THREADS follows unless it is set
    #[arg(long, value_name = "CORES", aliases = ["cpus-per-proc", "cpus-per-task"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cpus_per_rank: Option<u32>,

    /// The only CPUs to use: 0-3,8
    #[arg(long, value_name = "LIST", aliases = ["cpu-set", "cpu-list-only"], value_parser = cpus)]
    pub(crate) cpu_list: Option<Cpus>,

    /// Say of each rank which CPUs it is bound to
    #[arg(long)]
    pub(crate) report_bindings: bool,

    /// Time between asking ranks to end and killing them [default: 2]
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = seconds)]
    pub(crate) grace: Option<Duration>,

    /// When a rank dies, let the others go on
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Hosts and how many ranks each is meant for: a:2,b:2
    #[arg(short = 'H', long, alias = "hosts", value_name = "HOSTS", help_heading = HOSTS, allow_hyphen_values = true)]
    pub(crate) host: Option<String>,

    /// File with a host on every line: a:2 or a slots=2
    #[arg(short = 'f', long, alias = "machinefile", value_name = "FILE", help_heading = HOSTS, conflicts_with = "host")]
    pub(crate) hostfile: Option<PathBuf>,

    /// Ranks for one host before the next has its turn
    #[arg(long, aliases = ["perhost", "npernode"], value_name = "RANKS", help_heading = HOSTS, allow_hyphen_values = true, value_parser = ranks)]
    pub(crate) ppn: Option<u32>,

    /// The order in which ranks go to hosts: slot, node, core or ppr:N:node
    #[arg(long, value_name = "HOW", help_heading = HOSTS, conflicts_with = "ppn")]
    pub(crate) map_by: Option<String>,

    /// The command by which hosts are reached [default: ssh -o BatchMode=yes -x {host}]
    #[arg(long, value_name = "COMMAND", help_heading = HOSTS)]
    pub(crate) launcher: Option<String>,

    /// The path of oxmpi on other hosts [default: as here]
    #[arg(long, value_name = "PATH", help_heading = HOSTS)]
    pub(crate) agent: Option<PathBuf>,

    /// How long hosts may take to answer [default: 30]
    #[arg(long, value_name = "SECONDS", help_heading = HOSTS, allow_hyphen_values = true, value_parser = seconds)]
    pub(crate) launch_timeout: Option<Duration>,

    /// Ports that ranks listen on
    #[arg(long, value_name = "FIRST-LAST", help_heading = HOSTS, allow_hyphen_values = true, value_parser = ports)]
    pub(crate) port_range: Option<String>,

    /// Networks, addresses and interfaces to use, separated by commas
    #[arg(long, value_name = "LIST", help_heading = HOSTS)]
    pub(crate) net_include: Option<String>,

    /// Networks, addresses and interfaces not to use
    #[arg(long, value_name = "LIST", help_heading = HOSTS)]
    pub(crate) net_exclude: Option<String>,

    /// The network between hosts: auto, ethernet, xdp, pm-kernel, udp or tcp [default: auto, the
    /// fastest that works]
    #[arg(long, value_name = "WHICH", help_heading = HOSTS, value_parser = net)]
    pub(crate) net: Option<String>,

    /// Encrypt and authenticate everything that ranks send to other hosts (see docs/network.md)
    #[arg(long, help_heading = HOSTS)]
    pub(crate) encrypt: bool,

    /// Who reads the connections: user (this process), sock (a plain loop, to compare with) or
    /// kernel (the driver /dev/o2g, see docs/o2g.md; implies --net tcp) [default: user]
    #[arg(long, value_name = "WHO", help_heading = HOSTS, value_parser = progress)]
    pub(crate) progress: Option<String>,

    /// Treat frames like a bad network does: loss=1%,duplicate=1%,reorder=1%,delay=200us,seed=7
    #[arg(long, value_name = "FAULTS", help_heading = HOSTS)]
    pub(crate) net_fault: Option<String>,

    /// Record the frames of each rank in PREFIX.<rank>.<device>.pcapng
    #[arg(long, value_name = "PREFIX", help_heading = HOSTS)]
    pub(crate) net_pcap: Option<String>,

    /// Show the version
    #[arg(short = 'V', long)]
    pub(crate) version: bool,

    /// Accepted from command lines for other launchers: always allowed here
    #[arg(long, alias = "allow-run-as-root", hide = true, action = ArgAction::Count)]
    pub(crate) oversubscribe: u8,
}

/// CPUs of `--cpu-list`, as one value of an option.
#[derive(Clone, Debug)]
pub(crate) struct Cpus(pub(crate) Vec<u32>);

fn cpus(text: &str) -> Result<Cpus, String> {
    let list = oxmpi_launch::cpu_list(text, ',');
    list.map(Cpus)
        .ok_or_else(|| "not a list of CPUs, such as 0-3,8".to_owned())
}

fn ranks(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a number of ranks".to_owned());
    }
    match text.parse::<u32>() {
        Ok(0) => Err("a job needs at least 1 rank".to_owned()),
        Ok(ranks) if ranks <= RANKS_MAX => Ok(ranks),
        _ if text.starts_with('-') => Err("a job needs at least 1 rank".to_owned()),
        _ => Err(format!("a job has at most {RANKS_MAX} ranks")),
    }
}

fn stdin(text: &str) -> Result<Stdin, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Stdin::All),
        ("none", _) => Ok(Stdin::Null),
        (_, Ok(rank)) => Ok(Stdin::Rank(rank)),
        _ => Err("expected the number of a rank, all or none".to_owned()),
    }
}

fn net(text: &str) -> Result<String, String> {
    let known = text.parse::<oxmpi_net::choice::Mode>();
    known
        .map(|_| text.to_owned())
        .map_err(|_| format!("expected {}", oxmpi_settings::NET.kind.accepted()))
}

fn progress(text: &str) -> Result<String, String> {
    let known = text.parse::<oxmpi_net::tcp::Progress>();
    known
        .map(|_| text.to_owned())
        .map_err(|_| format!("expected {}", oxmpi_settings::PROGRESS.kind.accepted()))
}

/// The names are those of the standard's info key; many know them in capitals.
fn errhandler(text: &str) -> Result<String, String> {
    let kind = oxmpi_settings::INITIAL_ERRHANDLER.kind;
    let name = text.to_ascii_lowercase();
    match kind {
        oxmpi_settings::Kind::Choice(names) if names.contains(&name.as_str()) => Ok(name),
        _ => Err(format!("expected {}", kind.accepted())),
    }
}

fn ports(text: &str) -> Result<String, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(text.to_owned()),
        _ => Err("expected two ports from 1 to 65535, such as 5000-5100".to_owned()),
    }
}

/// Longer than any job (136 years), and small enough to be added to any clock.
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number of seconds above 0, such as 30 or 0.5".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(wrong());
    }
    Ok(Duration::try_from_secs_f64(seconds).map_or(FOR_EVER, |time| time.min(FOR_EVER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_checked() {
        assert_eq!(ranks("16"), Ok(16));
        assert_eq!(ranks("0").unwrap_err(), "a job needs at least 1 rank");
        assert_eq!(ranks("-3").unwrap_err(), "a job needs at least 1 rank");
        assert_eq!(ranks("65535"), Ok(65535));
        for text in ["65536", "99999999999999999999"] {
            assert_eq!(ranks(text).unwrap_err(), "a job has at most 65535 ranks");
        }
        assert_eq!(ranks("four").unwrap_err(), "not a number of ranks");
        assert_eq!(ranks("+4").unwrap_err(), "not a number of ranks");
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("1e300"), Ok(FOR_EVER));
        for text in ["0", "-1", "soon", "NaN"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(ports("5000-5100"), Ok("5000-5100".to_owned()));
        for text in ["", "0-9", "9-8", "5000-", "1-65536", "-5"] {
            assert!(ports(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_description_is_consistent() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }
}
