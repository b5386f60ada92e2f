//! `oxmpi setup-net PROGRAM...`: how to let programs use raw Ethernet.
//!
//! It prints what to do and does nothing: granting a capability is the administrator's decision, and takes root.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oxmpi_net::device::ethernet;

use crate::failure::Failure;

/// Prints the commands for these programs.
pub(crate) fn print(programs: &[OsString]) -> Result<(), Failure> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut commands = Vec::new();
    for program in programs {
        let path = find(Path::new(program), &search).ok_or_else(|| {
            let name = program.to_string_lossy();
            Failure::usage(format!("setup-net: there is no program {name}"))
        })?;
        commands.push(command(&path));
    }
    print!("{}", text(ethernet::permitted().is_ok(), &commands));
    Ok(())
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
        text += "raw Ethernet needs CAP_NET_RAW: name the programs that shall have it (oxmpi setup-net ./my_program; for Python scripts, the interpreter)\n";
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
    fn who_may_already_is_told() {
        assert!(text(true, &[]).starts_with("this user may open packet sockets already"));
        assert!(text(false, &[]).contains("CAP_NET_RAW"));
        let one = text(false, &["x".into()]);
        assert!(one.starts_with("x\n\nOn every host"), "{one}");
    }
}
