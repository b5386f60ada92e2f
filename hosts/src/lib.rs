//! Several hosts on one machine, for as long as a command runs: `cargo xtask hosts`, and the
//! hosts that `oxmpi bench papers` makes for itself.
//!
//! A host is three namespaces: a network with one interface, a name, and a view of the file system
//! that differs only in /etc/hosts, /sys and /dev/shm. `plan` says what they look like, `switch`
//! makes them and runs the command on the first, a `hold` process keeps each alive, and `enter`
//! goes there, `loss` spoils the network, `relay` hands signals on. The program that uses this crate is started again for these
//! tasks, so it calls [`serve`] first. docs/test-hosts.md is the page for people. Uses nothing of
//! OxMPI.

mod enter;
mod hold;
mod loss;
mod plan;
mod relay;
mod switch;
mod system;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use system::is_root;

use plan::{CARDS_MAX, HOSTS_MAX, LOST_PER_MILLE_MAX, MTU_MAX, MTU_MIN, Plan};

/// The hidden tasks that `hosts` starts.
const SWITCH: &str = "hosts-switch";
const HOLD: &str = "hosts-hold";

/// ssh's status for "this did not come to executing your command".
const NOT_EXECUTED: u8 = 255;

/// Where the folder is that holds this program under the name ssh, for the tasks that `hosts`
/// starts.
const SSH_VARIABLE: &str = "OXMPI_TEST_SSH";

/// Why there are no hosts.
#[derive(Debug)]
pub enum HostsError {
    /// A mistake in the command line.
    Words(String),
    /// Not root.
    NotRoot,
    /// The system refuses.
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        error: std::io::Error,
    },
}

impl std::error::Error for HostsError {}

impl fmt::Display for HostsError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostsError::Words(text) => write!(to, "{text}"),
            HostsError::NotRoot => write!(
                to,
                "hosts are made of namespaces and network interfaces, which needs root; try it with sudo or in a container that has CAP_SYS_ADMIN and CAP_NET_ADMIN"
            ),
            HostsError::System { what, error } => write!(to, "{what}: {error}"),
        }
    }
}

/// Does one of the tasks of this crate, if the words (the first is the program's own) name one, and
/// gives the status to end with. Messages begin with the program's name.
pub fn serve(words: &[OsString], program: &str) -> Option<u8> {
    let name = Path::new(words.first()?).file_name()?;
    let complain = |task: &str, error: &str| {
        eprintln!("{program} {task}: {error}");
        NOT_EXECUTED
    };
    if name == "ssh" {
        eprintln!("ssh: {}", enter::run(words[1..].to_vec(), true));
        return Some(NOT_EXECUTED);
    }
    let ended = |result: Result<i32, String>| match result {
        Ok(status) => u8::try_from(status).unwrap_or(1),
        Err(error) => complain("hosts", &error),
    };
    let rest = words.get(2..).unwrap_or_default();
    let status = match words.get(1)?.to_str()? {
        "enter" => complain("enter", &enter::run(rest.to_vec(), false)),
        "link" => match rest {
            [host, state] => {
                let (host, state) = (host.to_string_lossy(), state.to_string_lossy());
                complain("link", &enter::link(&host, &state))
            }
            _ => complain("link", "which? link HOST down|up"),
        },
        SWITCH => {
            relay::relay_later();
            let (plan, rest) = read_arguments(rest)?;
            let parent = rest.first()?.to_str()?.parse().ok()?;
            ended(switch::run(program, &plan, parent, &rest[1..]))
        }
        HOLD => {
            relay::ignore();
            let (plan, rest) = read_arguments(rest)?;
            let host = rest.first()?.to_str()?.parse().ok()?;
            ended(hold::run(&plan, host).map(|()| 0))
        }
        _ => return None,
    };
    Some(status)
}

/// Makes the hosts that the words ask for, runs the command on the first, and gives its status. The
/// folder is made, and holds this program under the name ssh.
pub fn run(words: &[OsString], ssh_folder: &Path) -> Result<u8, HostsError> {
    let (plan, command) = parse(words).map_err(|error| HostsError::Words(error.to_string()))?;
    if !system::is_root() {
        return Err(HostsError::NotRoot);
    }
    let failed = |what| move |error| HostsError::System { what, error };
    let task = task().map_err(HostsError::Words)?;
    make_ssh(&task, ssh_folder).map_err(failed("cannot make a link named ssh"))?;
    system::unshare(system::CLONE_NEWPID).map_err(failed("cannot make a process namespace"))?;
    let mut switch = Command::new(task)
        .arg(SWITCH)
        .args(arguments(&plan))
        .arg(std::process::id().to_string())
        .args(command)
        .env(SSH_VARIABLE, ssh_folder)
        .spawn()
        .map_err(failed("cannot start the switch"))?;
    relay::relay(switch.id());
    let status = switch
        .wait()
        .map_err(failed("cannot wait for the switch"))?;
    use std::os::unix::process::ExitStatusExt;
    let signal = || 128 + status.signal().unwrap_or_default();
    let code = status.code().unwrap_or_else(signal);
    Ok(u8::try_from(code).unwrap_or(1))
}

fn parse(words: &[OsString]) -> Result<(Plan, Vec<OsString>), lexopt::Error> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(words);
    let (mut count, mut ipv6_only, mut mtu) = (None, false, 1500);
    let (mut cards, mut cable, mut lost_per_mille) = (1, false, 0);
    let mut command = Vec::new();
    while let Some(word) = parser.next()? {
        match word {
            Long("ipv6") => ipv6_only = true,
            Long("mtu") => mtu = parser.value()?.parse()?,
            Long("cards") => cards = parser.value()?.parse()?,
            Long("cable") => cable = true,
            Long("loss") => lost_per_mille = read_share(&parser.value()?.string()?)?,
            Value(number) if count.is_none() => count = Some(number.parse()?),
            Value(program) => {
                command.push(program);
                command.extend(parser.raw_args()?);
            }
            other => return Err(other.unexpected()),
        }
    }
    let count = count.ok_or("how many hosts?")?;
    if !(1..=HOSTS_MAX).contains(&count) {
        return Err(format!("{count} hosts: 1 to {HOSTS_MAX} are possible").into());
    }
    if !(1..=CARDS_MAX).contains(&cards) {
        return Err(format!("--cards {cards}: 1 to {CARDS_MAX} are possible").into());
    }
    if cable && count != 2 {
        return Err("--cable: a cable has two ends, so there are 2 hosts".into());
    }
    if !(MTU_MIN..=MTU_MAX).contains(&mtu) {
        return Err(format!("--mtu {mtu}: {MTU_MIN} to {MTU_MAX} are possible").into());
    }
    if command.is_empty() {
        return Err("what shall run there?".into());
    }
    let plan = Plan {
        count,
        ipv6_only,
        mtu,
        cards,
        cable,
        lost_per_mille,
    };
    Ok((plan, command))
}

/// "1%", "0.5%", in thousandths.
fn read_share(text: &str) -> Result<u32, String> {
    let percent = text.strip_suffix('%').and_then(|text| text.parse().ok());
    let per_mille = percent.map(|percent: f64| (percent * 10.0).round());
    let possible = |per_mille: &f64| (1.0..=f64::from(LOST_PER_MILLE_MAX)).contains(per_mille);
    let most = LOST_PER_MILLE_MAX / 10;
    let wrong = || format!("--loss {text}: 0.1% to {most}% are possible");
    per_mille
        .filter(possible)
        .map(|share| share as u32)
        .ok_or_else(wrong)
}

/// A plan as words, for the hidden tasks.
fn arguments(plan: &Plan) -> [String; 6] {
    let (ipv6_only, cable) = (u32::from(plan.ipv6_only), u32::from(plan.cable));
    let numbers = [
        plan.count,
        ipv6_only,
        plan.mtu,
        plan.cards,
        cable,
        plan.lost_per_mille,
    ];
    numbers.map(|number| number.to_string())
}

fn read_arguments(words: &[OsString]) -> Option<(Plan, &[OsString])> {
    let (numbers, rest) = words.split_at_checked(6)?;
    let number = |word: &OsString| word.to_str()?.parse().ok();
    let plan = Plan {
        count: number(&numbers[0])?,
        ipv6_only: number(&numbers[1])? == 1,
        mtu: number(&numbers[2])?,
        cards: number(&numbers[3])?,
        cable: number(&numbers[4])? == 1,
        lost_per_mille: number(&numbers[5])?,
    };
    Some((plan, rest))
}

/// The path of this program. Building the tests of the workspace may put a new one in its place;
/// the kernel then calls the one that runs deleted, and the new one does as well.
pub fn own_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let text = path.to_string_lossy();
    Ok(match text.strip_suffix(" (deleted)") {
        Some(replaced) => PathBuf::from(replaced),
        None => path,
    })
}

fn task() -> Result<PathBuf, String> {
    own_program().map_err(|error| format!("cannot find my own program: {error}"))
}

fn make_ssh(task: &Path, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    match std::os::unix::fs::symlink(task, folder.join("ssh")) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Commands on the hosts find an ssh that knows the hosts before any other.
fn path_with_ssh() -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin").into());
    let ours = std::env::var_os(SSH_VARIABLE).map(PathBuf::from);
    let folders = ours.into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| format!("cannot extend PATH: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_line() {
        let (plan, command) =
            parse(&words("4 --ipv6 --mtu 9000 --loss 0.5% -- ping -c 1 h1")).unwrap();
        let expected = Plan {
            count: 4,
            ipv6_only: true,
            mtu: 9000,
            cards: 1,
            cable: false,
            lost_per_mille: 5,
        };
        assert_eq!((plan, command), (expected, words("ping -c 1 h1")));
        let arguments = arguments(&plan).map(OsString::from);
        assert_eq!(read_arguments(&arguments), Some((plan, [].as_slice())));
        for (line, text) in [
            ("0 true", "0 hosts: 1 to 1000 are possible"),
            ("2 --cards 9 true", "--cards 9: 1 to 4 are possible"),
            (
                "3 --cable true",
                "--cable: a cable has two ends, so there are 2 hosts",
            ),
            ("2 --mtu 500 true", "--mtu 500: 1280 to 65535 are possible"),
            ("2 --loss 2 true", "--loss 2: 0.1% to 30% are possible"),
            ("2 --loss 40% true", "--loss 40%: 0.1% to 30% are possible"),
            ("2", "what shall run there?"),
            ("--ipv6", "how many hosts?"),
        ] {
            assert_eq!(parse(&words(line)).unwrap_err().to_string(), text);
        }
    }
}
