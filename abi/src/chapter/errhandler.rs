//! Error handlers (MPI 5.0 §9.3): made, freed, attached to objects, asked for and called.

use crate::argument::{Callback, InOut, Out};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;
use crate::object::{
    Communicator, Errhandler, ErrhandlerSlot, FILE_ERRHANDLER, File, Handled, Session, Window,
};

/// MPI_Comm_create_errhandler.
pub fn comm_create_errhandler(
    _call: &Call,
    function: Callback,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    create(Handled::Comm, function, errhandler)
}

/// MPI_Session_create_errhandler.
pub fn session_create_errhandler(
    _call: &Call,
    function: Callback,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    create(Handled::Session, function, errhandler)
}

/// MPI_Win_create_errhandler.
pub fn win_create_errhandler(
    _call: &Call,
    function: Callback,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    create(Handled::Win, function, errhandler)
}

/// MPI_File_create_errhandler.
pub fn file_create_errhandler(
    _call: &Call,
    function: Callback,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    create(Handled::File, function, errhandler)
}

fn create(handled: Handled, function: Callback, errhandler: Out<Handle>) -> Result<(), Failure> {
    // SAFETY: the four parameters of this kind have the type that `Errhandler::user` takes, and no
    // constants stand for such functions.
    let function = unsafe { function.function() };
    let function = function
        .ok_or_else(|| Failure::new(MPI_ERR_ARG, "the function for errors is a null pointer"))?;
    errhandler.set(Errhandler::user(handled, function)?);
    Ok(())
}

/// MPI_Errhandler_free. Handles of predefined ones, which "get" hands out, may be given back too.
pub fn errhandler_free(call: &Call, errhandler: InOut<Handle>) -> Result<(), Failure> {
    let handler = call
        .errhandler("errhandler", errhandler.get())?
        .clone_object();
    handler.release();
    errhandler.set(MPI_ERRHANDLER_NULL);
    Ok(())
}

/// MPI_Comm_get_errhandler.
pub fn comm_get_errhandler(
    _call: &Call,
    comm: &Communicator,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    get(&comm.errhandler, errhandler)
}

/// MPI_Session_get_errhandler.
pub fn session_get_errhandler(
    _call: &Call,
    session: &Session,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    get(&session.errhandler, errhandler)
}

/// MPI_Win_get_errhandler.
pub fn win_get_errhandler(
    _call: &Call,
    win: &Window,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    get(&win.errhandler, errhandler)
}

/// MPI_File_get_errhandler: MPI_FILE_NULL stands for the default of files.
pub fn file_get_errhandler(
    _call: &Call,
    file: Option<&File>,
    errhandler: Out<Handle>,
) -> Result<(), Failure> {
    get(
        file.map_or(&FILE_ERRHANDLER, |file| &file.errhandler),
        errhandler,
    )
}

fn get(slot: &ErrhandlerSlot, errhandler: Out<Handle>) -> Result<(), Failure> {
    errhandler.set(slot.get().reference()?);
    Ok(())
}

/// MPI_Comm_set_errhandler.
pub fn comm_set_errhandler(
    _call: &Call,
    comm: &Communicator,
    errhandler: &Errhandler,
) -> Result<(), Failure> {
    set(&comm.errhandler, Handled::Comm, errhandler)
}

/// MPI_Session_set_errhandler.
pub fn session_set_errhandler(
    _call: &Call,
    session: &Session,
    errhandler: &Errhandler,
) -> Result<(), Failure> {
    set(&session.errhandler, Handled::Session, errhandler)
}

/// MPI_Win_set_errhandler.
pub fn win_set_errhandler(
    _call: &Call,
    win: &Window,
    errhandler: &Errhandler,
) -> Result<(), Failure> {
    set(&win.errhandler, Handled::Win, errhandler)
}

/// MPI_File_set_errhandler: MPI_FILE_NULL stands for the default of files.
pub fn file_set_errhandler(
    _call: &Call,
    file: Option<&File>,
    errhandler: &Errhandler,
) -> Result<(), Failure> {
    let slot = file.map_or(&FILE_ERRHANDLER, |file| &file.errhandler);
    set(slot, Handled::File, errhandler)
}

fn set(slot: &ErrhandlerSlot, handled: Handled, errhandler: &Errhandler) -> Result<(), Failure> {
    if !errhandler.handles(handled) {
        let text = format!("errhandler was made for another kind of object than {handled:?}");
        return Err(Failure::new(MPI_ERR_ERRHANDLER, text));
    }
    slot.set(errhandler.clone());
    Ok(())
}

/// MPI_Comm_call_errhandler.
pub fn comm_call_errhandler(
    call: &Call,
    _comm: &Communicator,
    errorcode: i32,
) -> Result<(), Failure> {
    raise(call, errorcode)
}

/// MPI_Session_call_errhandler.
pub fn session_call_errhandler(
    call: &Call,
    _session: &Session,
    errorcode: i32,
) -> Result<(), Failure> {
    raise(call, errorcode)
}

/// MPI_Win_call_errhandler.
pub fn win_call_errhandler(call: &Call, _win: &Window, errorcode: i32) -> Result<(), Failure> {
    raise(call, errorcode)
}

/// MPI_File_call_errhandler: MPI_FILE_NULL stands for the default of files.
pub fn file_call_errhandler(
    call: &Call,
    _file: Option<&File>,
    errorcode: i32,
) -> Result<(), Failure> {
    raise(call, errorcode)
}

/// Runs the handler of the call's object with a code of the program. The call itself succeeds if
/// the handler returns (MPI 5.0 §9.3.4).
fn raise(call: &Call, errorcode: i32) -> Result<(), Failure> {
    if super::error::class_of(errorcode).is_none() {
        return Err(Failure::new(
            MPI_ERR_ARG,
            format!("errorcode is {errorcode}, which is no error code"),
        ));
    }
    call.fail(&Failure::new(
        errorcode,
        format!("the program reported error code {errorcode}"),
    ));
    Ok(())
}
