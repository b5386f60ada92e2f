//! Hints (MPI 5.0 §14.2.8), under the names that programs set because ROMIO knows them.
//!
//! A hint that is not listed here is ignored, and so is a value that cannot be. What
//! [`Hints::info`] tells is what is in force.

use oxmpi_core::info::Info;

use crate::config_list::ConfigList;

/// What a hint says about a way of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Switch {
    /// Chosen by cost.
    Automatic = 0,
    /// Always.
    Enable = 1,
    /// Never.
    Disable = 2,
}

/// The hints in force.
#[derive(Clone, Debug)]
pub struct Hints {
    /// Ranks that access the file for all others; 0: a few on each host.
    pub cb_nodes: u64,
    /// Bytes that such a rank accesses at a time.
    pub cb_buffer_size: u64,
    /// Whether collective writes are aggregated.
    pub cb_write: Switch,
    /// Whether collective reads are aggregated.
    pub cb_read: Switch,
    /// Whether holes are read and written again by a write of small pieces.
    pub ds_write: Switch,
    /// Whether holes are read, too, by a read of small pieces.
    pub ds_read: Switch,
    /// Bytes that a read of small pieces reads at a time.
    pub ind_rd_buffer_size: u64,
    /// Bytes that a write of scattered memory writes at a time.
    pub ind_wr_buffer_size: u64,
    /// Ranges of aggregating ranks begin at multiples of it.
    pub striping_unit: u64,
    /// Ranks that may access the file for all others, if it was opened with a list of them.
    pub(crate) config_list: Option<ConfigList>,
    /// Others that are kept and told, and change nothing.
    others: Vec<(String, String)>,
}

/// Hints that are kept and told: about the place and layout of a file, which a file system may
/// know, and ROMIO's about ways of access that this library does not have.
const KEPT: [&str; 24] = [
    "access_style",
    "cb_block_size",
    "chunked",
    "chunked_item",
    "chunked_size",
    "collective_buffering",
    "direct_read",
    "direct_write",
    "file_perm",
    "filename",
    "io_node_list",
    "nb_proc",
    "num_io_nodes",
    "romio_aggregator_list",
    "romio_cb_alltoall",
    "romio_cb_ds_threshold",
    "romio_cb_fr_alignment",
    "romio_cb_fr_types",
    "romio_cb_pfr",
    "romio_filesystem_type",
    "romio_min_fdomain_size",
    "romio_no_indep_rw",
    "start_iodevice",
    "striping_factor",
];

impl Default for Hints {
    fn default() -> Hints {
        Hints {
            cb_nodes: 0,
            cb_buffer_size: 4 << 20,
            cb_write: Switch::Automatic,
            cb_read: Switch::Automatic,
            ds_write: Switch::Automatic,
            ds_read: Switch::Automatic,
            ind_rd_buffer_size: 4 << 20,
            ind_wr_buffer_size: 1 << 20,
            striping_unit: 0,
            config_list: None,
            others: Vec::new(),
        }
    }
}

impl Hints {
    /// Takes over what an info object says.
    pub fn update(&mut self, info: &Info) {
        let number = |key: &str, least: u64| {
            let value = info.get_text(key)?.trim().parse::<u64>().ok()?;
            (value >= least && value <= 1 << 40).then_some(value)
        };
        let switch = |key: &str| match info.get_text(key)?.trim().to_ascii_lowercase().as_str() {
            "enable" | "true" => Some(Switch::Enable),
            "disable" | "false" => Some(Switch::Disable),
            "automatic" => Some(Switch::Automatic),
            _ => None,
        };
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        set(&mut self.cb_nodes, number("cb_nodes", 0));
        set(&mut self.cb_buffer_size, number("cb_buffer_size", 4096));
        set(
            &mut self.ind_rd_buffer_size,
            number("ind_rd_buffer_size", 4096),
        );
        set(
            &mut self.ind_wr_buffer_size,
            number("ind_wr_buffer_size", 4096),
        );
        set(&mut self.striping_unit, number("striping_unit", 0));
        // The standard's own name comes first, ROMIO's, which is finer, may overrule it.
        set(&mut self.cb_write, switch("collective_buffering"));
        set(&mut self.cb_read, switch("collective_buffering"));
        set(&mut self.cb_write, switch("romio_cb_write"));
        set(&mut self.cb_read, switch("romio_cb_read"));
        set(&mut self.ds_write, switch("romio_ds_write"));
        set(&mut self.ds_read, switch("romio_ds_read"));
        for key in KEPT {
            if let Some(value) = info.get_text(key) {
                self.others.retain(|(known, _)| known != key);
                self.others.push((key.to_owned(), value));
            }
        }
    }

    /// What is in force, in a new info object.
    pub fn info(&self) -> Info {
        let info = Info::new();
        let set = |key: &str, value: &str| {
            info.set(key, value)
                .expect("hints have legal keys and values");
        };
        for (key, value) in [
            ("cb_nodes", self.cb_nodes),
            ("cb_buffer_size", self.cb_buffer_size),
            ("ind_rd_buffer_size", self.ind_rd_buffer_size),
            ("ind_wr_buffer_size", self.ind_wr_buffer_size),
            ("striping_unit", self.striping_unit),
        ] {
            set(key, &value.to_string());
        }
        for (key, value) in [
            ("romio_cb_write", self.cb_write),
            ("romio_cb_read", self.cb_read),
            ("romio_ds_write", self.ds_write),
            ("romio_ds_read", self.ds_read),
        ] {
            let text = match value {
                Switch::Automatic => "automatic",
                Switch::Enable => "enable",
                Switch::Disable => "disable",
            };
            set(key, text);
        }
        if let Some(list) = &self.config_list {
            set("cb_config_list", list.text());
        }
        self.others.iter().for_each(|(key, value)| set(key, value));
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_understood_and_told() {
        let info = Info::new();
        for (key, value) in [
            ("cb_nodes", "3"),
            ("cb_buffer_size", "nonsense"),
            ("romio_cb_write", "disable"),
            ("striping_factor", "7"),
            ("unknown", "1"),
        ] {
            info.set(key, value).unwrap();
        }
        let mut hints = Hints::default();
        hints.update(&info);
        assert_eq!((hints.cb_nodes, hints.cb_buffer_size), (3, 4 << 20));
        let told = hints.info();
        assert_eq!(told.get_text("romio_cb_write").unwrap(), "disable");
        assert_eq!(told.get_text("striping_factor").unwrap(), "7");
        assert!(told.get_text("unknown").is_none());
    }
}
