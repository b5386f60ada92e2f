//! A process that makes calls: it says which before each, so that a crash or a hang is known.

use std::io::Write as _;

use mpi_abi::constant::*;
use oxmpi_abi_table::{Face, Function, Table};

use super::library::{ARGUMENTS_MAX, Library};
use super::value::{Draw, Handles, Random, SLOT_BYTES, kind_of};

/// They end the process, as they must, or begin what happens once.
const LEFT_OUT: [&str; 4] = ["MPI_Abort", "MPI_Init", "MPI_Init_thread", "MPI_Finalize"];

/// With good arguments these wait for somebody, so they get bad ones.
const MAY_WAIT: [&str; 24] = [
    "MPI_Buffer_detach",
    "MPI_Buffer_flush",
    "MPI_Comm_detach_buffer",
    "MPI_Comm_disconnect",
    "MPI_Comm_flush_buffer",
    "MPI_Intercomm_create",
    "MPI_Intercomm_create_from_groups",
    "MPI_Mprobe",
    "MPI_Probe",
    "MPI_Recv",
    "MPI_Rsend",
    "MPI_Send",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Session_detach_buffer",
    "MPI_Session_finalize",
    "MPI_Session_flush_buffer",
    "MPI_Ssend",
    "MPI_Win_lock",
    "MPI_Win_lock_all",
    "MPI_Win_post",
    "MPI_Win_start",
    "MPI_Win_wait",
    "MPI_Win_complete",
];

/// Calls after which living handles are made anew: some calls free them.
const FRESH_EVERY: u64 = 32;

/// Seconds that a call may take outside of the library's life.
const SECONDS_MAX: u32 = 30;

pub fn run(case: &str) {
    let mut parts = case.split(':');
    let stage = parts.next().unwrap();
    let [seed, first, count] = [(); 3].map(|()| parts.next().unwrap().parse::<u64>().unwrap());
    let library = Library::open();
    let table = Table::mpi5();
    let faces = |function| Function::faces(function).map(move |face| (function, face));
    let calls: Vec<(&Function, Face)> = table.functions().flat_map(faces).collect();
    let slots: Vec<*mut u8> = (0..ARGUMENTS_MAX)
        .map(|_| Box::leak(vec![0u8; SLOT_BYTES].into_boxed_slice()).as_mut_ptr())
        .collect();
    let mut trial = Trial {
        library,
        slots,
        handles: Handles::default(),
    };
    if stage != "before" {
        assert_eq!(trial.library.call("MPI_Init", &[0, 0]), MPI_SUCCESS);
        trial.set_handlers();
    }
    trial.make_handles(stage != "before");
    if stage == "after" {
        assert_eq!(trial.library.call("MPI_Finalize", &[]), MPI_SUCCESS);
    }
    for number in first..first + count {
        let (function, face) = calls[(number % calls.len() as u64) as usize];
        if LEFT_OUT.contains(&function.name.as_str()) {
            continue;
        }
        if stage == "inside" && number % FRESH_EVERY == 0 {
            trial.make_handles(true);
        }
        let random = Random(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let arguments = trial.draw(random, function, face);
        let words: Vec<String> = arguments.iter().map(|word| format!("{word:#x}")).collect();
        let text = format!("{number} {}({})", function.c_name(face), words.join(", "));
        say(&format!("at {text}"));
        if stage == "inside" {
            trial.library.call(&function.c_name(face), &arguments);
            trial.set_handlers();
        } else if let Some(how) = trial.call_apart(&function.c_name(face), &arguments) {
            say(&format!("wrong {how}: {text}"));
        }
    }
    say("finished");
    // What was begun may never end, so nothing is finalised.
    // SAFETY: ends this process at once.
    unsafe { libc::_exit(0) };
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

struct Trial {
    library: Library,
    slots: Vec<*mut u8>,
    handles: Handles,
}

impl Trial {
    fn draw(&self, random: Random, function: &Function, face: Face) -> Vec<usize> {
        let mut draw = Draw {
            random,
            handles: &self.handles,
            slots: &self.slots,
            only_bad: MAY_WAIT.contains(&function.name.as_str()),
            is_large: face == Face::Large,
        };
        let parameters = function.parameters_of(face).enumerate();
        parameters
            .map(|(place, parameter)| draw.argument(parameter, place))
            .collect()
    }

    /// Errors come back as codes again, whatever a call has set.
    fn set_handlers(&self) {
        for comm in [MPI_COMM_WORLD, MPI_COMM_SELF] {
            self.library
                .call("MPI_Comm_set_errhandler", &[comm.0, MPI_ERRORS_RETURN.0]);
        }
        let none = [MPI_FILE_NULL.0, MPI_ERRORS_RETURN.0];
        self.library.call("MPI_File_set_errhandler", &none);
    }

    /// A call in a process of its own: how it ended, if that is wrong.
    fn call_apart(&self, name: &str, arguments: &[usize]) -> Option<String> {
        // SAFETY: the child makes one call and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the limit ends the child if the call does not.
            unsafe { libc::alarm(SECONDS_MAX) };
            self.library.call(name, arguments);
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the child is this process's own.
        unsafe { libc::waitpid(child, &mut status, 0) };
        match libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)) {
            Some(libc::SIGALRM) => Some("hangs".to_owned()),
            Some(signal) => Some(format!("signal {signal}")),
            None => None,
        }
    }

    /// A handle that a call makes; none if it cannot.
    fn make(&self, name: &str, before: &[usize], after: &[usize]) -> Option<usize> {
        let mut handle = 0usize;
        let place = [(&raw mut handle) as usize];
        let arguments = [before, &place, after].concat();
        (self.library.call(name, &arguments) == MPI_SUCCESS).then_some(handle)
    }

    fn make_handles(&mut self, inside: bool) {
        let kind = |word| kind_of(word).unwrap();
        let nulls = [
            MPI_COMM_NULL,
            MPI_GROUP_NULL,
            MPI_DATATYPE_NULL,
            MPI_OP_NULL,
            MPI_INFO_NULL,
            MPI_ERRHANDLER_NULL,
            MPI_REQUEST_NULL,
            MPI_MESSAGE_NULL,
            MPI_SESSION_NULL,
            MPI_WIN_NULL,
            MPI_FILE_NULL,
        ];
        self.handles.nulls = nulls.map(|handle| handle.0).to_vec();
        let mut living = vec![Vec::new(); nulls.len()];
        living[kind("info")] = vec![MPI_INFO_ENV.0];
        living[kind("errhandler")] = vec![MPI_ERRORS_RETURN.0];
        living[kind("datatype")] = vec![MPI_INT.0, MPI_BYTE.0, MPI_DOUBLE.0, MPI_PACKED.0];
        living[kind("op")] = vec![MPI_SUM.0, MPI_MAXLOC.0, MPI_NO_OP.0];
        living[kind("group")] = vec![MPI_GROUP_EMPTY.0];
        living[kind("message")] = vec![MPI_MESSAGE_NO_PROC.0];
        living[kind("info")].extend(self.make("MPI_Info_create", &[], &[]));
        if inside {
            living[kind("comm")] = vec![MPI_COMM_WORLD.0, MPI_COMM_SELF.0];
            self.make_objects(&mut living);
        }
        self.handles.living = living;
    }

    fn make_objects(&mut self, living: &mut [Vec<usize>]) {
        let kind = |word| kind_of(word).unwrap();
        let memory = self.slots[0] as usize;
        let dup = |trial: &Trial| trial.make("MPI_Comm_dup", &[MPI_COMM_SELF.0], &[]);
        let returns = MPI_ERRORS_RETURN.0;
        let comm = dup(self).unwrap_or(MPI_COMM_SELF.0);
        self.library
            .call("MPI_Comm_set_errhandler", &[comm, returns]);
        living[kind("comm")].push(comm);
        let group = self.make("MPI_Comm_group", &[comm], &[]);
        living[kind("group")].extend(group);
        let vector = self.make("MPI_Type_vector", &[3, 1, 2, MPI_INT.0], &[]);
        living[kind("datatype")].extend(vector);
        let session = self.make("MPI_Session_init", &[MPI_INFO_NULL.0, returns], &[]);
        living[kind("session")].extend(session);
        let window = [memory, 64, 4, MPI_INFO_NULL.0, comm];
        if let Some(win) = self.make("MPI_Win_create", &window, &[]) {
            self.library.call("MPI_Win_set_errhandler", &[win, returns]);
            living[kind("win")].push(win);
        }
        let mode = (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE) as usize;
        let open = [
            comm,
            c"bad-arguments".as_ptr() as usize,
            mode,
            MPI_INFO_NULL.0,
        ];
        living[kind("file")].extend(self.make("MPI_File_open", &open, &[]));
        // Freed handles, some of each kind.
        for (free, made) in [
            ("MPI_Comm_free", dup(self)),
            ("MPI_Group_free", self.make("MPI_Comm_group", &[comm], &[])),
            (
                "MPI_Type_free",
                self.make("MPI_Type_contiguous", &[2, MPI_INT.0], &[]),
            ),
            ("MPI_Info_free", self.make("MPI_Info_create", &[], &[])),
            ("MPI_Win_free", self.make("MPI_Win_create", &window, &[])),
        ] {
            let Some(mut handle) = made else { continue };
            self.handles.freed.push(handle);
            self.library.call(free, &[(&raw mut handle) as usize]);
        }
    }
}
