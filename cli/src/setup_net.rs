//! `oxmpi setup-net PROGRAM...`: how to let programs use raw Ethernet.
//!
//! It prints what to do and does nothing: granting a capability is the administrator's decision,
//! and takes root.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use oxmpi_net::device::ethernet;

use crate::failure::Failure;
use crate::show::show;

/// Names of programs that run code which their caller names, apart from version numbers and
/// suffixes such as "3.11".
const INTERPRETERS: [&str; 25] = [
    "python", "pypy", "perl", "ruby", "lua", "luajit", "node", "nodejs", "java", "julia", "R",
    "Rscript", "octave", "tclsh", "wish", "guile", "php", "sh", "bash", "dash", "zsh", "ksh",
    "fish", "busybox", "gdb",
];

/// Why a program is a bad holder of privileges.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Danger {
    /// Whoever may start it runs any code with the privileges.
    Interpreter,
    /// The kernel ignores capabilities of a script; its interpreter would need them.
    Script { interpreter: String },
}

/// Prints the commands for these programs.
pub(crate) fn print(programs: &[OsString]) -> Result<(), Failure> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let (mut commands, mut warnings) = (Vec::new(), Vec::new());
    for program in programs {
        let path = find(Path::new(program), &search).ok_or_else(|| {
            let name = program.to_string_lossy();
            Failure::usage(format!("setup-net: there is no program {name}"))
        })?;
        let danger = danger(&path);
        if !matches!(danger, Some(Danger::Script { .. })) {
            commands.push(command(&path));
        }
        warnings.extend(danger.map(|danger| warning(&path, &danger)));
    }
    show!("{}", text(ethernet::permitted().is_ok(), &commands));
    // Not among the commands: those may go straight to a shell.
    for warning in warnings {
        eprintln!("oxmpi: {warning}");
    }
    Ok(())
}

/// What speaks against giving privileges to this file.
fn danger(path: &Path) -> Option<Danger> {
    let mut begin = Vec::new();
    if let Ok(file) = File::open(path) {
        // A line of "#!" that is longer than this, the kernel does not read either.
        let _ = file.take(256).read_to_end(&mut begin);
    }
    if let Some(rest) = begin.strip_prefix(b"#!") {
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let interpreter = String::from_utf8_lossy(line).trim().to_owned();
        return Some(Danger::Script { interpreter });
    }
    let name = path.file_name()?.to_string_lossy().into_owned();
    let stem = name.trim_end_matches(|end: char| end.is_ascii_digit() || ".-".contains(end));
    INTERPRETERS.contains(&stem).then_some(Danger::Interpreter)
}

fn warning(path: &Path, danger: &Danger) -> String {
    let path = path.display();
    match danger {
        Danger::Interpreter => format!(
            "warning: {path} is an interpreter: with the capability, every user who may start it can read and forge all \
             traffic of this host's networks by a script of their own; give the capability to a copy that only you may \
             execute (cp, chmod 700), or use --net udp, which needs none"
        ),
        Danger::Script { interpreter } => format!(
            "warning: {path} is a script of {interpreter}: the kernel ignores capabilities of scripts, so no command is \
             given for it; a copy of the interpreter that only you may execute can have the capability (cp, chmod 700, \
             oxmpi setup-net), or use --net udp, which needs none"
        ),
    }
}

/// The file that a program's name stands for, behind all links: capabilities belong to files.
fn find(program: &Path, search: &std::ffi::OsStr) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = match program.components().count() {
        1 => std::env::split_paths(search)
            .map(|folder| folder.join(program))
            .chain([program.to_owned()])
            .collect(),
        _ => vec![program.to_owned()],
    };
    let file = candidates.into_iter().find(|path| path.is_file())?;
    file.canonicalize().ok()
}

fn command(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\'', r"'\''");
    format!("sudo setcap cap_net_raw+ep '{path}'")
}

fn text(permitted: bool, commands: &[String]) -> String {
    let mut text = String::new();
    if permitted {
        text += "this user may open packet sockets already: --net ethernet works for every program here\n";
    }
    if commands.is_empty() && !permitted {
        text += "raw Ethernet needs CAP_NET_RAW: name the programs that shall have it (oxmpi setup-net ./my_program; for Python scripts, a copy of the interpreter that only you may execute)\n";
    }
    for command in commands {
        text += command;
        text.push('\n');
    }
    if !commands.is_empty() {
        text += "\nOn every host of the job, and again after the program is rebuilt. A program with capabilities ignores LD_LIBRARY_PATH: mpicc notes where the library is.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        assert_eq!(
            command(Path::new("/home/me/it's here/a.out")),
            r"sudo setcap cap_net_raw+ep '/home/me/it'\''s here/a.out'"
        );
    }

    #[test]
    fn names_are_looked_up_where_a_shell_would() {
        let found = find(Path::new("sh"), std::ffi::OsStr::new("/nowhere:/bin"));
        assert!(found.is_some_and(|path| path.is_absolute()));
        assert_eq!(
            find(Path::new("./no such program"), std::ffi::OsStr::new("")),
            None
        );
    }

    #[test]
    fn interpreters_and_scripts_are_known() {
        let folder = std::env::temp_dir().join(format!("oxmpi-setup-net-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, content).unwrap();
            danger(&path)
        };
        let elf = b"\x7fELF";
        let script = |interpreter: &str| {
            Some(Danger::Script {
                interpreter: interpreter.into(),
            })
        };
        for name in ["python3.11", "python", "perl5.36.0", "bash", "lua5.4", "R"] {
            assert_eq!(file(name, elf), Some(Danger::Interpreter), "{name}");
        }
        for name in ["a.out", "pi", "mypython", "lu"] {
            assert_eq!(file(name, elf), None, "{name}");
        }
        assert_eq!(
            file("run", b"#! /usr/bin/env python3\nprint()\n"),
            script("/usr/bin/env python3")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn warnings_say_what_can_happen_and_what_to_do() {
        assert_eq!(
            warning(Path::new("/usr/bin/python3.11"), &Danger::Interpreter),
            "warning: /usr/bin/python3.11 is an interpreter: with the capability, every user who may start it can read \
             and forge all traffic of this host's networks by a script of their own; give the capability to a copy that \
             only you may execute (cp, chmod 700), or use --net udp, which needs none"
        );
        let interpreter = "/bin/sh".to_owned();
        assert_eq!(
            warning(Path::new("/home/me/run"), &Danger::Script { interpreter }),
            "warning: /home/me/run is a script of /bin/sh: the kernel ignores capabilities of scripts, so no command is \
             given for it; a copy of the interpreter that only you may execute can have the capability (cp, chmod 700, \
             oxmpi setup-net), or use --net udp, which needs none"
        );
    }

    #[test]
    fn who_may_already_is_told() {
        assert!(text(true, &[]).starts_with("this user may open packet sockets already"));
        assert!(text(false, &[]).contains("CAP_NET_RAW"));
        let one = text(false, &["x".into()]);
        assert!(one.starts_with("x\n\nOn every host"), "{one}");
    }
}
