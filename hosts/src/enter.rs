//! `enter`: a command on a host; `link`: a host's cable.
//!
//! Two forms. `enter HOST COMMAND...` executes the words as they are, with this environment and in
//! this folder, as `ip netns exec` does. With options in front, or under the name `ssh`, it does
//! what ssh does: the words are joined and given to the login shell, in the home folder, with
//! nothing but the usual variables. So it stands in for ssh with Hydra, with PRRTE and with us.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::plan::{HOLDERS_VARIABLE, SWITCH, holder};
use super::system;

/// Options of ssh that are followed by a value.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOopPQRSWw";
/// What a login has of its environment; the last is how the next `enter` finds the hosts.
const OF_A_LOGIN: [&str; 8] = [
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    HOLDERS_VARIABLE,
];

/// Where to go, and what to do there.
#[derive(Debug, PartialEq, Eq)]
struct Errand {
    host: String,
    command: Vec<OsString>,
    like_ssh: bool,
}

/// Becomes the command; the error, for people, is why not.
pub fn run(words: Vec<OsString>, as_ssh: bool) -> String {
    match Errand::parse(words, as_ssh).and_then(|errand| errand.run()) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

/// Pulls a host's cable or puts it back; becomes `ip`, or says why not.
pub fn link(host: &str, state: &str) -> String {
    match pull(host, state) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn pull(host: &str, state: &str) -> Result<Infallible, String> {
    if !["up", "down"].contains(&state) {
        return Err(format!("link {host} {state:?}: a link is up or down"));
    }
    find(host)?;
    move_to(SWITCH, &["net"])?;
    let error = Command::new("ip")
        .args(["link", "set", "dev", host, state])
        .exec();
    Err(format!("ip cannot be executed: {error}"))
}

impl Errand {
    fn parse(words: Vec<OsString>, as_ssh: bool) -> Result<Errand, String> {
        let mut words = words.into_iter();
        let mut like_ssh = as_ssh;
        let host = loop {
            let word = words
                .next()
                .ok_or("which host? enter [SSH OPTIONS] HOST [COMMAND]...")?;
            let text = word.to_string_lossy();
            let Some(options) = text.strip_prefix('-') else {
                break text.into_owned();
            };
            like_ssh = true;
            // Of letters behind one dash, the first that wants a value takes the rest, or the next
            // word.
            let wants = options.find(|letter| WITH_VALUE.contains(letter));
            if wants.is_some_and(|place| place + 1 == options.len()) {
                words.next();
            }
        };
        let host = host.rsplit('@').next().unwrap_or_default().to_owned();
        Ok(Errand {
            host,
            command: words.collect(),
            like_ssh,
        })
    }

    fn run(self) -> Result<Infallible, String> {
        let folder =
            std::env::current_dir().map_err(|error| format!("no working folder: {error}"))?;
        move_to(&self.host, &["uts", "net", "mnt"])?;
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        if name.trim_end() != self.host {
            return Err(format!(
                "the process that {HOLDERS_VARIABLE} names for {} is on {name:?}: the hosts are gone",
                self.host
            ));
        }
        let mut command = self.command(|name| std::env::var_os(name));
        if !self.like_ssh {
            // Another file system view has another root, and so another working folder.
            command.current_dir(folder);
        }
        let error = command.exec();
        let program = command.get_program();
        Err(format!("{program:?} on {}: {error}", self.host))
    }

    fn command(&self, variable: impl Fn(&str) -> Option<OsString>) -> Command {
        let shell = || variable("SHELL").unwrap_or_else(|| "/bin/sh".into());
        let mut words = self.command.iter();
        let mut command = match (self.like_ssh, words.next()) {
            (_, None) => Command::new(shell()),
            (false, Some(program)) => {
                let mut command = Command::new(program);
                command.args(words);
                command
            }
            (true, Some(_)) => {
                let words: Vec<Vec<u8>> = self
                    .command
                    .iter()
                    .map(|word| word.clone().into_vec())
                    .collect();
                let mut command = Command::new(shell());
                command.arg("-c").arg(OsString::from_vec(words.join(&b' ')));
                command
            }
        };
        if self.like_ssh {
            command.env_clear();
            for name in OF_A_LOGIN {
                command.envs(variable(name).map(|value| (name, value)));
            }
            command.current_dir(variable("HOME").unwrap_or_else(|| "/".into()));
        }
        command
    }
}

fn find(host: &str) -> Result<u32, String> {
    holder(std::env::var(HOLDERS_VARIABLE).ok().as_deref(), host)
}

/// Moves this process into some of a host's namespaces.
fn move_to(host: &str, namespaces: &[&str]) -> Result<(), String> {
    let process = find(host)?;
    // All are opened first: in another view of the files, /proc may be another.
    let mut open = Vec::new();
    for namespace in namespaces {
        let path = format!("/proc/{process}/ns/{namespace}");
        open.push(File::open(&path).map_err(|error| {
            format!("{host} is gone, or this process is not root: {path}: {error}")
        })?);
    }
    for (file, namespace) in open.iter().zip(namespaces) {
        system::enter(file).map_err(|error| {
            format!("cannot enter the {namespace} namespace of {host}: {error}")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, as_ssh: bool) -> Errand {
        Errand::parse(line.split(' ').map(OsString::from).collect(), as_ssh).unwrap()
    }

    fn words(command: &Command) -> Vec<&str> {
        let program = command.get_program().to_str().unwrap();
        let rest = command.get_args().map(|word| word.to_str().unwrap());
        std::iter::once(program).chain(rest).collect()
    }

    #[test]
    fn plain_words_are_executed_as_they_are() {
        let errand = parse("h1 echo -n $HOME", false);
        assert_eq!((errand.host.as_str(), errand.like_ssh), ("h1", false));
        let command = errand.command(|_| None);
        assert_eq!(words(&command), ["echo", "-n", "$HOME"]);
        assert_eq!(command.get_current_dir(), None);
    }

    #[test]
    fn options_make_it_an_ssh() {
        for line in [
            "-x -o BatchMode=yes -p22 -qTl root h1 echo $HOME",
            "-oBatchMode=yes root@h1 echo $HOME",
        ] {
            let errand = parse(line, false);
            assert_eq!((errand.host.as_str(), errand.like_ssh), ("h1", true));
            let command = errand.command(|name| (name == "HOME").then(|| "/root".into()));
            assert_eq!(words(&command), ["/bin/sh", "-c", "echo $HOME"]);
            assert_eq!(command.get_current_dir(), Some("/root".as_ref()));
        }
        assert!(parse("h1 true", true).like_ssh);
    }

    #[test]
    fn a_host_is_needed() {
        assert!(Errand::parse(Vec::new(), false).is_err());
        assert!(Errand::parse(vec!["-o".into(), "h1".into()], false).is_err());
    }
}
