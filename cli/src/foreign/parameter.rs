//! Open MPI's parameters (`--mca NAME VALUE`): those by which people choose networks, places and the
//! remote shell have options here, the others mean nothing.

use std::ffi::{OsStr, OsString};

use super::Translated;

/// The parameter, and the option that says the same of its value.
const TAKEN: &[(&str, &str)] = &[
    ("btl_tcp_if_include", "--net-include"),
    ("btl_tcp_if_exclude", "--net-exclude"),
    ("hwloc_base_binding_policy", "--bind-to"),
    ("rmaps_base_mapping_policy", "--map-by"),
    ("orte_default_hostfile", "--hostfile"),
];

/// The parameter, and what has its place here.
const NAMED: &[(&str, &str)] = &[
    (
        "btl",
        "--net tcp or another chooses the network, if the choice is not right",
    ),
    (
        "pml",
        "--net tcp or another chooses the network, if the choice is not right",
    ),
    (
        "mtl",
        "--net tcp or another chooses the network, if the choice is not right",
    ),
    (
        "plm_rsh_agent",
        "--launcher 'ssh {host}' names the remote shell",
    ),
    (
        "plm_ssh_agent",
        "--launcher 'ssh {host}' names the remote shell",
    ),
    (
        "btl_tcp_port_min_v4",
        "--port-range FIRST-LAST names the ports",
    ),
    (
        "btl_tcp_port_range_v4",
        "--port-range FIRST-LAST names the ports",
    ),
    ("btl_tcp_eager_limit", "OXMPI_EAGER_BYTES is the length"),
    (
        "btl_vader_single_copy_mechanism",
        "OXMPI_SINGLE_COPY=off prevents single copies",
    ),
    (
        "btl_sm_single_copy_mechanism",
        "OXMPI_SINGLE_COPY=off prevents single copies",
    ),
    (
        "mpi_yield_when_idle",
        "OXMPI_WAIT=yield says the same, and auto does it where it helps",
    ),
    (
        "rmaps_base_oversubscribe",
        "ranks may always outnumber cores",
    ),
];

/// What a parameter comes to; `written` is the option before it.
pub(super) fn translate(written: &str, key: &OsStr, value: &OsStr) -> Translated {
    let key = key.to_string_lossy();
    let find = |rows: &[(&str, &'static str)]| {
        let row = rows.iter().find(|(name, _)| *name == key);
        row.map(|(_, here)| *here)
    };
    if let Some(option) = find(TAKEN) {
        return Translated::Words(vec![option.into(), OsString::from(value)]);
    }
    let why = find(NAMED).unwrap_or("this parameter of Open MPI has no like here");
    Translated::Note(format!("{written} {key} changes nothing here: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use clap::CommandFactory;

    fn translated(key: &str, value: &str) -> Translated {
        translate("--mca", OsStr::new(key), OsStr::new(value))
    }

    #[test]
    fn networks_and_places_are_taken_and_the_rest_is_told() {
        assert_eq!(
            translated("btl_tcp_if_include", "eth1"),
            Translated::Words(vec!["--net-include".into(), "eth1".into()])
        );
        let note = |key| match translated(key, "x") {
            Translated::Note(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(note("btl").starts_with("--mca btl changes nothing here: --net tcp"));
        assert!(note("coll_han_priority").ends_with("has no like here"));
    }

    #[test]
    fn options_are_ours_and_documented() {
        let page = include_str!("../../../docs/coming-from.md");
        let ours = Options::command();
        for (key, option) in TAKEN {
            let name = option.trim_start_matches('-');
            assert!(
                ours.get_arguments()
                    .any(|ours| ours.get_long() == Some(name)),
                "{key}"
            );
            assert!(
                page.contains(&format!("| `{key}` | `{option} VALUE` |")),
                "{key}"
            );
        }
        for (key, why) in NAMED {
            assert!(page.contains(&format!("| `{key}` | {why} |")), "{key}");
        }
    }
}
