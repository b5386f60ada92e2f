//! Hostfiles: MPICH's syntax (`host:4`) and Open MPI's (`host slots=4 max_slots=8`), line by line.
//!
//! A line holds one host; `#` begins a comment; empty lines are nothing. A file may mix both
//! syntaxes. What has no meaning here is an error that names file and line, never silently ignored.

use std::path::Path;

use super::{Host, HostsError, merged, number};

pub(super) fn read(path: &Path) -> Result<Vec<Host>, HostsError> {
    let bytes = std::fs::read(path).map_err(|error| HostsError::File {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    parse(
        &String::from_utf8_lossy(&bytes),
        &path.display().to_string(),
    )
}

/// `file` is what errors call it.
pub(crate) fn parse(text: &str, file: &str) -> Result<Vec<Host>, HostsError> {
    let mut hosts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let given = format!("{file} line {}", index + 1);
        let mut host = Host::parse(first, &given)?;
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "slots" => host.slots = number(value, "slots", &host.name, &given)?,
                "max_slots" | "max-slots" => {
                    host.slots_max = Some(number(value, "max_slots", &host.name, &given)?);
                }
                _ => {
                    return Err(HostsError::Word {
                        given,
                        word: word.chars().take(80).flat_map(char::escape_debug).collect(),
                    });
                }
            }
        }
        // A host that takes 4 at most is not meant for 8.
        host.slots = host.slots.min(host.slots_max.unwrap_or(host.slots));
        hosts.push(host);
    }
    merged(hosts, &format!("the hostfile {file}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(text: &str) -> Result<Vec<(String, u32, Option<u32>)>, String> {
        let hosts = parse(text, "hosts").map_err(|error| error.to_string())?;
        let entry = |host: Host| (host.name, host.slots, host.slots_max);
        Ok(hosts.into_iter().map(entry).collect())
    }

    #[test]
    fn both_syntaxes() {
        let text =
            "# nodes\n\na:4   # first\r\nb slots=2 max_slots=8\n  c\nd slots=9 max-slots=3\na\n";
        assert_eq!(
            slots(text).unwrap(),
            [
                ("a".to_owned(), 5, None),
                ("b".to_owned(), 2, Some(8)),
                ("c".to_owned(), 1, None),
                ("d".to_owned(), 3, Some(3)),
            ]
        );
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            slots("a\nb user=me\n").unwrap_err(),
            "hosts line 2: 'user=me' is not understood; a line is host, host:4, or host slots=4 max_slots=8"
        );
        assert_eq!(
            slots("a slots=none").unwrap_err(),
            "hosts line 1: slots 'none' of host a is not a number from 1 to 65535"
        );
        assert_eq!(
            slots("# nobody\n").unwrap_err(),
            "the hostfile hosts names no host; write for example a:2,b:2"
        );
        let error = read(Path::new("/nonesuch/hosts")).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read the hostfile /nonesuch/hosts: No such file or directory (os error 2)"
        );
    }

    proptest! {
        #[test]
        fn no_file_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&String::from_utf8_lossy(&bytes), "hosts");
        }
    }
}
