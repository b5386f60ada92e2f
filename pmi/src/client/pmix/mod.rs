//! A client of PMIx, the protocol of PRRTE, Open MPI's mpirun and `srun --mpi=pmix`.
//!
//! PMIx is an interface of functions, not of messages: what travels between rank and launcher is
//! libpmix's own affair, and changes. So the library is loaded (`library`), and this file says what
//! is asked of it. Keys belong to ranks by nature, and values may be long.

#[allow(unsafe_code)]
mod library;

use std::ffi::{CStr, CString};

use super::Limits;
use crate::error::PmiError;
use crate::mapping;
use library::{EVERY_RANK, Held, Library, Process, Status};

/// What the standard allows for a key; for a value it names no limit, this one keeps mistakes
/// small.
const LIMITS: Limits = Limits {
    key_bytes: 511,
    value_bytes: 1 << 20,
};

/// PMIX_JOB_SIZE: ranks in the job.
const JOB_SIZE: &CStr = c"pmix.job.size";
/// PMIX_NODEID: the number of a rank's host.
const NODE_ID: &CStr = c"pmix.nodeid";
/// PMIX_HOSTNAME: the name of a rank's host.
const HOST_NAME: &CStr = c"pmix.hname";

/// PMIX_APPNUM: the number of a rank's program among those of its job.
const PROGRAM: &CStr = c"pmix.appnum";

/// The connection to the launcher's server on this host.
pub(super) struct Pmix {
    library: Library,
    me: Process,
    size: u32,
}

impl Pmix {
    /// Loads the library and joins the job. Err(reason): there is no library; the caller knows what
    /// to say.
    pub(super) fn open(files: &[String]) -> Result<Result<Pmix, PmiError>, String> {
        Ok(Library::load(files)?.and_then(|library| {
            let me = library
                .init()
                .map_err(|status| failed(&library, "PMIx_Init", status))?;
            let mut pmix = Pmix {
                library,
                me,
                size: 0,
            };
            pmix.size = match pmix.look_up(EVERY_RANK, JOB_SIZE)? {
                Some(Held::Number(size)) => u32::try_from(size).unwrap_or(u32::MAX),
                other => {
                    return Err(PmiError::Unexpected {
                        doing: "PMIx_Get of pmix.job.size",
                        expected: "a number",
                        answer: format!("{other:?}"),
                    });
                }
            };
            Ok(pmix)
        }))
    }

    pub(super) fn rank(&self) -> u32 {
        self.me.rank
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    pub(super) fn version(&self) -> &str {
        self.library.version()
    }

    pub(super) fn limits(&self) -> Limits {
        LIMITS
    }

    /// The host of every rank. Asking host by host takes few calls; where a launcher does not
    /// answer that, rank by rank.
    pub(super) fn hosts(&self) -> Result<Option<Vec<u32>>, PmiError> {
        if let Some(hosts) = self.hosts_by_node() {
            return Ok(Some(hosts));
        }
        let mut names = Vec::new();
        for rank in 0..self.size {
            let host = match self.look_up(rank, NODE_ID)? {
                Some(id) => id,
                None => match self.look_up(rank, HOST_NAME)? {
                    Some(name) => name,
                    None => return Ok(None),
                },
            };
            names.push(host);
        }
        let number = |host: &Held| names.iter().position(|name| name == host).unwrap_or(0) as u32;
        Ok(Some(mapping::in_order_of_ranks(names.iter().map(number))))
    }

    fn hosts_by_node(&self) -> Option<Vec<u32>> {
        let mut hosts = vec![None; self.size as usize];
        for (number, node) in self.library.nodes(&self.me).ok()?.iter().enumerate() {
            for rank in self.library.peers(&self.me, node).ok()? {
                *hosts.get_mut(rank as usize)? = Some(number as u32);
            }
        }
        let hosts: Option<Vec<u32>> = hosts.into_iter().collect();
        Some(mapping::in_order_of_ranks(hosts?.into_iter()))
    }

    pub(super) fn program(&self) -> Result<Option<u32>, PmiError> {
        Ok(match self.look_up(self.me.rank, PROGRAM)? {
            Some(Held::Number(number)) => u32::try_from(number).ok(),
            _ => None,
        })
    }

    pub(super) fn put(&self, key: &str, value: &str) -> Result<(), PmiError> {
        let (key, value) = (c_string(key), c_string(value));
        self.library
            .put(&key, &value)
            .map_err(|status| failed(&self.library, "PMIx_Put", status))?;
        self.library
            .commit()
            .map_err(|status| failed(&self.library, "PMIx_Commit", status))
    }

    /// None: `rank` has put nothing under this key.
    pub(super) fn get(&self, rank: u32, key: &str) -> Result<Option<String>, PmiError> {
        let key = c_string(key);
        // PRRTE does not bring everything to every host at a fence: what is not here is asked for.
        let held = match self.look_up(rank, &key)? {
            None => self.look(rank, &key, true)?,
            here => here,
        };
        match held {
            None => Ok(None),
            Some(Held::Text(value)) => Ok(Some(value)),
            Some(other) => Err(PmiError::Unexpected {
                doing: "PMIx_Get",
                expected: "a text",
                answer: format!("{other:?}"),
            }),
        }
    }

    pub(super) fn fence(&self) -> Result<(), PmiError> {
        self.library
            .fence()
            .map_err(|status| failed(&self.library, "PMIx_Fence", status))
    }

    pub(super) fn abort(&self, code: i32, text: &str) {
        self.library.abort(code, &c_string(text));
    }

    pub(super) fn finalize(&self) -> Result<(), PmiError> {
        self.library
            .finalize()
            .map_err(|status| failed(&self.library, "PMIx_Finalize", status))
    }

    fn look_up(&self, rank: u32, key: &CStr) -> Result<Option<Held>, PmiError> {
        self.look(rank, key, false)
    }

    fn look(&self, rank: u32, key: &CStr, patient: bool) -> Result<Option<Held>, PmiError> {
        /// PMIX_ERR_NOT_FOUND
        const NOT_FOUND: Status = Status(-46);
        /// PMIX_ERR_TIMEOUT: what other hosts were asked for is not there either.
        const TIMEOUT: Status = Status(-24);
        match self.library.get(&self.me.with_rank(rank), key, patient) {
            Ok(held) => Ok(Some(held)),
            Err(NOT_FOUND | TIMEOUT) => Ok(None),
            Err(status) => Err(failed(&self.library, "PMIx_Get", status)),
        }
    }
}

/// Keys and values are checked before, texts for people may lose a zero.
fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

fn failed(library: &Library, call: &'static str, status: Status) -> PmiError {
    PmiError::Pmix {
        call,
        version: format!("libpmix {}", library.version()),
        status: status.0,
        text: library.text_of(status),
        hint: match call {
            "PMIx_Init" => {
                ": the server named by PMIX_SERVER_URI* does not answer or is too different; a program that a rank starts cannot be a rank of the same job (unset PMIX_NAMESPACE for it), and libpmix should be the launcher's own (OXMPI_LIBPMIX names another)"
            }
            _ => "",
        },
    }
}
