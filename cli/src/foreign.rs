//! Options of other launchers: what people type who come from MPICH, Open MPI or Intel MPI.
//!
//! What means the same here is taken. What changes nothing here is accepted with a note. What would
//! change something, and cannot, is refused, with what to write instead. docs/coming-from.md is the
//! table in words.

use std::ffi::OsString;

use Meaning::{Here, Ignored, Same};

/// What an option of another launcher is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// These words; `{}` stands for its value, and a list of variables gives a word for each.
    Same(&'static [&'static str]),
    /// Nothing, for this reason.
    Ignored(&'static str),
    /// Refused: this is what to write.
    Here(&'static str),
}

/// Name without dashes, number of values, meaning.
type Row = (&'static str, usize, Meaning);

const ALREADY: &str = "ranks get the whole environment anyway";
const QUIET: &str = "the launcher says what matters, and no more";
const PARAMETERS: &str = "parameters of Open MPI mean nothing to this library";
const BY_ALLOCATION: &str = "-host or -hostfile, which name the hosts";

const ROWS: &[Row] = &[
    // The standard's own (MPI 5.0 §11.5).
    ("soft", 1, Ignored("the number of -n is what is started")),
    (
        "arch",
        1,
        Ignored("programs run on the hosts that are named"),
    ),
    (
        "memory-alloc-kinds",
        1,
        Ignored("memory is of the kinds mpi and system"),
    ),
    ("file", 1, Here("-configfile FILE")),
    (
        "initial-errhandler",
        1,
        Here("MPI_Comm_set_errhandler in the program"),
    ),
    // MPICH's Hydra, and Intel MPI, whose launcher descends from it.
    ("v", 0, Ignored(QUIET)),
    ("verbose", 0, Ignored(QUIET)),
    ("genvall", 0, Ignored(ALREADY)),
    ("envall", 0, Ignored(ALREADY)),
    ("genvlist", 1, Same(&["-x", "{}"])),
    ("envlist", 1, Same(&["-x", "{}"])),
    ("genvnone", 0, Here("env -i mpiexec …")),
    ("envnone", 0, Here("env -i mpiexec …")),
    ("genvexcl", 1, Here("env -u NAME mpiexec …")),
    ("iface", 1, Same(&["--net-include", "{}"])),
    ("rr", 0, Same(&["--ppn", "1"])),
    ("grr", 1, Same(&["--ppn", "{}"])),
    (
        "rmk",
        1,
        Ignored("hosts are those of -host, -hostfile, the batch system, or this one"),
    ),
    ("launcher-exec", 1, Here("--launcher 'PATH {host}'")),
    (
        "bootstrap",
        1,
        Here("--launcher 'ssh {host}' or another command"),
    ),
    ("bootstrap-exec", 1, Here("--launcher 'PATH {host}'")),
    (
        "print-rank-map",
        0,
        Ignored("mpiexec … hostname with -l shows where ranks are"),
    ),
    ("disable-auto-cleanup", 0, Same(&["--keep-going"])),
    (
        "disable-hostname-propagation",
        0,
        Ignored("no host name is passed on"),
    ),
    ("enable-x", 0, Ignored("ssh forwards no display")),
    ("disable-x", 0, Ignored("ssh forwards no display")),
    (
        "localhost",
        1,
        Ignored("this host is known by its own name"),
    ),
    (
        "usize",
        1,
        Ignored("MPI_UNIVERSE_SIZE is the size of the job"),
    ),
    (
        "demux",
        1,
        Ignored("there is one way of waiting for output"),
    ),
    ("tmpdir", 1, Ignored("no files are made")),
    (
        "ilp64",
        0,
        Ignored("Fortran's default INTEGER is what the compiler has made it"),
    ),
    ("binding", 1, Here("--bind-to core, and --report-bindings")),
    ("tune", 0, Ignored("nothing is tuned by files")),
    ("check-mpi", 0, Ignored("arguments are always checked")),
    // Open MPI and PRRTE.
    ("mca", 2, Ignored(PARAMETERS)),
    ("gmca", 2, Ignored(PARAMETERS)),
    ("omca", 2, Ignored(PARAMETERS)),
    ("prtemca", 2, Ignored(PARAMETERS)),
    ("pmixmca", 2, Ignored(PARAMETERS)),
    ("am", 1, Ignored(PARAMETERS)),
    ("c", 1, Same(&["-n", "{}"])),
    ("pernode", 0, Same(&["--ppn", "1"])),
    ("N", 1, Same(&["--ppn", "{}"])),
    ("bynode", 0, Same(&["--map-by", "node"])),
    ("byslot", 0, Same(&["--map-by", "slot"])),
    ("bind-to-core", 0, Same(&["--bind-to", "core"])),
    ("bind-to-none", 0, Same(&["--bind-to", "none"])),
    (
        "nooversubscribe",
        0,
        Ignored("ranks may outnumber cores at little cost here"),
    ),
    (
        "use-hwthread-cpus",
        0,
        Ignored("hardware threads count as CPUs"),
    ),
    (
        "rank-by",
        1,
        Ignored("ranks are numbered in the order in which hosts get them"),
    ),
    ("display", 1, Ignored(QUIET)),
    (
        "display-map",
        0,
        Ignored("mpiexec … hostname with -l shows where ranks are"),
    ),
    (
        "display-allocation",
        0,
        Ignored("hosts are those of -host, -hostfile, the batch system, or this one"),
    ),
    ("display-devel-map", 0, Ignored(QUIET)),
    (
        "prefix",
        1,
        Ignored("--agent PATH names oxmpi on other hosts where it lies elsewhere"),
    ),
    ("noprefix", 0, Ignored("nothing is added to paths")),
    ("enable-recovery", 0, Same(&["--keep-going"])),
    ("continuous", 0, Same(&["--keep-going"])),
    (
        "hetero-nodes",
        0,
        Ignored("every host is asked for its own CPUs"),
    ),
    ("quiet", 0, Ignored(QUIET)),
    ("q", 0, Ignored(QUIET)),
    ("d", 0, Ignored(QUIET)),
    ("debug-devel", 0, Ignored(QUIET)),
    ("show-progress", 0, Ignored("jobs start in milliseconds")),
    ("default-hostfile", 1, Same(&["--hostfile", "{}"])),
    ("app", 1, Here("-configfile FILE")),
    (
        "output",
        1,
        Here("--output-dir FOLDER, --label, --timestamp-output"),
    ),
    ("merge-stderr-to-stdout", 0, Here("mpiexec … 2>&1")),
    ("rankfile", 1, Here(BY_ALLOCATION)),
    ("rf", 1, Here(BY_ALLOCATION)),
    ("nolocal", 0, Here(BY_ALLOCATION)),
    ("xterm", 1, Here("mpiexec -n 2 xterm -e PROGRAM")),
    (
        "preload-binary",
        0,
        Here("a file system that all hosts share, or scp"),
    ),
    (
        "preload-files",
        1,
        Here("a file system that all hosts share, or scp"),
    ),
];

/// What an option of another launcher comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Translated {
    /// These words of ours.
    Words(Vec<OsString>),
    /// Nothing, and the user is told.
    Note(String),
    /// It is refused, and the user is told.
    Refused(String),
}

/// How many of the words that follow belong to the option of this name, if another launcher has it.
pub(crate) fn values_of(name: &str) -> Option<usize> {
    find(name).map(|(_, values, _)| *values)
}

/// Translates the option as it was `written`, with its values.
pub(crate) fn translate(written: &str, name: &str, values: &[OsString]) -> Option<Translated> {
    let (_, wanted, meaning) = find(name)?;
    if values.len() < *wanted {
        return Some(Translated::Refused(format!("{written} lacks a value")));
    }
    Some(match meaning {
        Same(words) => Translated::Words(fill(words, values)),
        Ignored(why) => Translated::Note(format!("{written} changes nothing here: {why}")),
        Here(instead) => Translated::Refused(format!("{written} is not known here; use {instead}")),
    })
}

fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|(known, ..)| *known == name)
}

fn fill(words: &[&str], values: &[OsString]) -> Vec<OsString> {
    let (option, rest) = words.split_first().expect("a translation has an option");
    let Some(value) = values.first().filter(|_| rest.contains(&"{}")) else {
        return words.iter().map(OsString::from).collect();
    };
    // Only -x may be given several times, once for each name.
    let text = value.to_string_lossy();
    let parts: Vec<&str> = match *option {
        "-x" => text.split(',').filter(|part| !part.is_empty()).collect(),
        _ => vec![&text],
    };
    let words = parts.into_iter();
    words
        .flat_map(|part| [OsString::from(option), OsString::from(part)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::CommandFactory;

    fn translated(name: &str, values: &[&str]) -> Translated {
        let values: Vec<OsString> = values.iter().map(OsString::from).collect();
        translate(&format!("-{name}"), name, &values).expect("the table has it")
    }

    fn words(text: &str) -> Translated {
        Translated::Words(text.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn what_means_the_same_is_taken() {
        assert_eq!(translated("iface", &["eth1"]), words("--net-include eth1"));
        assert_eq!(translated("genvlist", &["A,B"]), words("-x A -x B"));
        assert_eq!(translated("rr", &[]), words("--ppn 1"));
        assert_eq!(translated("grr", &["3"]), words("--ppn 3"));
    }

    #[test]
    fn the_rest_is_told() {
        assert!(matches!(
            translated("mca", &["a", "b"]),
            Translated::Note(_)
        ));
        assert!(matches!(translated("mca", &["a"]), Translated::Refused(_)));
        let refused = "-app is not known here; use -configfile FILE".to_owned();
        assert_eq!(translated("app", &["f"]), Translated::Refused(refused));
    }

    #[test]
    fn no_row_is_twice_or_hides_an_option_of_ours() {
        let ours = Options::command();
        for (at, (name, ..)) in ROWS.iter().enumerate() {
            assert!(ROWS[..at].iter().all(|(other, ..)| other != name), "{name}");
            let is_ours = ours.get_arguments().any(|argument| {
                argument.get_long() == Some(name)
                    || argument
                        .get_all_aliases()
                        .is_some_and(|all| all.contains(name))
                    || argument.get_short().map(String::from).as_deref() == Some(name)
            });
            assert!(!is_ours, "{name} is an option of ours");
        }
    }

    #[test]
    fn every_row_is_in_the_documents() {
        let page = include_str!("../../docs/coming-from.md");
        for (name, ..) in ROWS {
            assert!(page.contains(&format!("| `-{name}` |")), "{name}");
        }
    }

    #[test]
    fn translations_are_options_of_ours() {
        let ours = Options::command();
        for (name, _, meaning) in ROWS {
            let Same(words) = meaning else { continue };
            let option = words[0].trim_start_matches('-');
            let is_ours = ours.get_arguments().any(|argument| {
                argument.get_long() == Some(option)
                    || argument.get_short().map(String::from).as_deref() == Some(option)
            });
            assert!(is_ours, "{name} is translated to {}", words[0]);
        }
    }
}
