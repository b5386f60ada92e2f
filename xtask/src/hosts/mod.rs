//! `cargo xtask hosts`: several hosts on one machine, for as long as a command runs.
//!
//! A host is three namespaces: a network with one interface, a name, and a view of the file system
//! that differs only in /etc/hosts, /sys and /dev/shm. `plan` says what they look like, `switch`
//! makes them and runs the command on the first, a `hold` process keeps each alive, and `enter`
//! goes there. docs/test-hosts.md is the page for people.

mod enter;
mod hold;
mod plan;
mod switch;
mod system;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use system::is_root;

use plan::{CARDS_MAX, HOSTS_MAX, MTU_MAX, MTU_MIN, Plan};

use crate::signals;

/// The hidden tasks that `hosts` starts.
const SWITCH: &str = "hosts-switch";
const HOLD: &str = "hosts-hold";

/// ssh's status for "this did not come to executing your command".
const NOT_EXECUTED: u8 = 255;

/// Why there are no hosts.
#[derive(Debug)]
pub enum HostsError {
    /// A mistake in the command line.
    Words(String),
    /// Not root.
    NotRoot,
    /// The system refuses.
    System {
        what: &'static str,
        error: std::io::Error,
    },
}

impl fmt::Display for HostsError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostsError::Words(text) => write!(
                to,
                "{text}\nusage: cargo xtask hosts N [--ipv6] [--mtu M] [--cards C] [--cable] -- COMMAND..."
            ),
            HostsError::NotRoot => write!(
                to,
                "hosts are made of namespaces and network interfaces, which needs root; try it with sudo or in a container that has CAP_SYS_ADMIN and CAP_NET_ADMIN"
            ),
            HostsError::System { what, error } => write!(to, "{what}: {error}"),
        }
    }
}

/// Does one of the tasks of this module, if the words name one, and gives the status to end with.
pub fn serve(words: &[OsString]) -> Option<u8> {
    let name = Path::new(words.first()?).file_name()?;
    if name == "ssh" {
        return Some(complain("ssh", &enter::run(words[1..].to_vec(), true)));
    }
    let rest = words.get(2..).unwrap_or_default();
    let status = match words.get(1)?.to_str()? {
        "hosts" => run(rest).unwrap_or_else(|error| {
            eprintln!("cargo xtask hosts: {error}");
            2
        }),
        "enter" => complain("xtask enter", &enter::run(rest.to_vec(), false)),
        "link" => match rest {
            [host, state] => {
                let (host, state) = (host.to_string_lossy(), state.to_string_lossy());
                complain("xtask link", &enter::link(&host, &state))
            }
            _ => complain("xtask link", "which? link HOST down|up"),
        },
        SWITCH => {
            signals::relay_later();
            let (plan, rest) = read_arguments(rest)?;
            let parent = rest.first()?.to_str()?.parse().ok()?;
            ended(switch::run(&plan, parent, &rest[1..]))
        }
        HOLD => {
            signals::ignore();
            let (plan, rest) = read_arguments(rest)?;
            let host = rest.first()?.to_str()?.parse().ok()?;
            ended(hold::run(&plan, host).map(|()| 0))
        }
        _ => return None,
    };
    Some(status)
}

fn complain(who: &str, error: &str) -> u8 {
    eprintln!("{who}: {error}");
    NOT_EXECUTED
}

fn ended(result: Result<i32, String>) -> u8 {
    match result {
        Ok(status) => u8::try_from(status).unwrap_or(1),
        Err(error) => complain("xtask hosts", &error),
    }
}

/// Makes the hosts, runs the command, and gives its status.
fn run(words: &[OsString]) -> Result<u8, HostsError> {
    let (plan, command) = parse(words).map_err(|error| HostsError::Words(error.to_string()))?;
    if !system::is_root() {
        return Err(HostsError::NotRoot);
    }
    let failed = |what| move |error| HostsError::System { what, error };
    let task = task().map_err(HostsError::Words)?;
    make_ssh(&task).map_err(failed("cannot make a link named ssh"))?;
    system::unshare(system::CLONE_NEWPID).map_err(failed("cannot make a process namespace"))?;
    let mut switch = Command::new(task)
        .arg(SWITCH)
        .args(arguments(&plan))
        .arg(std::process::id().to_string())
        .args(command)
        .spawn()
        .map_err(failed("cannot start the switch"))?;
    signals::relay(switch.id());
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
    let (mut cards, mut cable) = (1, false);
    let mut command = Vec::new();
    while let Some(word) = parser.next()? {
        match word {
            Long("ipv6") => ipv6_only = true,
            Long("mtu") => mtu = parser.value()?.parse()?,
            Long("cards") => cards = parser.value()?.parse()?,
            Long("cable") => cable = true,
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
    };
    Ok((plan, command))
}

/// A plan as words, for the hidden tasks.
fn arguments(plan: &Plan) -> [String; 5] {
    let (ipv6_only, cable) = (u32::from(plan.ipv6_only), u32::from(plan.cable));
    [plan.count, ipv6_only, plan.mtu, plan.cards, cable].map(|number| number.to_string())
}

fn read_arguments(words: &[OsString]) -> Option<(Plan, &[OsString])> {
    let (numbers, rest) = words.split_at_checked(5)?;
    let number = |word: &OsString| word.to_str()?.parse().ok();
    let plan = Plan {
        count: number(&numbers[0])?,
        ipv6_only: number(&numbers[1])? == 1,
        mtu: number(&numbers[2])?,
        cards: number(&numbers[3])?,
        cable: number(&numbers[4])? == 1,
    };
    Some((plan, rest))
}

/// This program.
fn task() -> Result<PathBuf, String> {
    crate::steps::own_program().map_err(|error| format!("cannot find my own program: {error}"))
}

/// The folder, beside this program, that holds it under the name ssh.
fn ssh_folder(task: &Path) -> PathBuf {
    task.with_file_name("hosts-ssh")
}

fn make_ssh(task: &Path) -> std::io::Result<()> {
    let folder = ssh_folder(task);
    std::fs::create_dir_all(&folder)?;
    match std::os::unix::fs::symlink("../xtask", folder.join("ssh")) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Commands on the hosts find an ssh that knows the hosts before any other.
fn path_with_ssh(task: &Path) -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin").into());
    let folders = std::iter::once(ssh_folder(task)).chain(std::env::split_paths(&path));
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
        let (plan, command) = parse(&words("4 --ipv6 --mtu 9000 -- ping -c 1 h1")).unwrap();
        let expected = Plan {
            count: 4,
            ipv6_only: true,
            mtu: 9000,
            cards: 1,
            cable: false,
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
            ("2", "what shall run there?"),
            ("--ipv6", "how many hosts?"),
        ] {
            assert_eq!(parse(&words(line)).unwrap_err().to_string(), text);
        }
    }
}
