//! Sessions and their process sets (MPI 5.0 §11.3).

use std::ffi::CStr;

use oxmpi_core::session::ThreadLevel;

use super::group;
use crate::argument::{InOut, Out, TextOut};
use crate::call::Call;
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::{Handle, Object};
use crate::object::{Errhandler, Handled, Info, Session, handle_for};
use crate::stage;

/// MPI_Session_init: the process joins its job if it is not in it yet.
pub fn session_init(
    _call: &Call,
    info: Option<&Info>,
    errhandler: &Errhandler,
    session: Out<Handle>,
) -> Result<(), Failure> {
    if !errhandler.handles(Handled::Session) {
        let text = "errhandler was made for another kind of object than sessions";
        return Err(Failure::new(MPI_ERR_ARG, text));
    }
    let level = match ThreadLevel::asked(info)? {
        ThreadLevel::Single => MPI_THREAD_SINGLE,
        ThreadLevel::Funneled => MPI_THREAD_FUNNELED,
        ThreadLevel::Serialized => MPI_THREAD_SERIALIZED,
        ThreadLevel::Multiple => MPI_THREAD_MULTIPLE,
    };
    let process = stage::join(level)?;
    let new = oxmpi_core::session::Session::new(process, info);
    let handle = handle_for(Session::new(new, errhandler.clone()));
    session.set(handle.inspect_err(|_| stage::leave())?);
    Ok(())
}

/// MPI_Session_finalize. Buffered messages are delivered first.
pub fn session_finalize(call: &Call, session: InOut<Handle>) -> Result<(), Failure> {
    let handle = session.get();
    call.session("session", handle)?.attached().detach()?;
    if Session::table().remove(handle) {
        stage::leave();
    }
    session.set(MPI_SESSION_NULL);
    Ok(())
}

/// MPI_Session_get_info.
pub fn session_get_info(
    _call: &Call,
    session: &Session,
    info_used: Out<Handle>,
) -> Result<(), Failure> {
    info_used.set(handle_for(session.info())?);
    Ok(())
}

/// MPI_Session_get_num_psets.
pub fn session_get_num_psets(
    _call: &Call,
    session: &Session,
    _info: Option<&Info>,
    npset_names: Out<i32>,
) -> Result<(), Failure> {
    npset_names.set(session.set_count() as i32);
    Ok(())
}

/// MPI_Session_get_nth_pset: the length that comes back is the room that the whole name needs.
pub fn session_get_nth_pset(
    _call: &Call,
    session: &Session,
    _info: Option<&Info>,
    n: i32,
    pset_len: InOut<i32>,
    pset_name: TextOut,
) -> Result<(), Failure> {
    let name = session.set_name(i64::from(n))?;
    pset_name.set(name);
    pset_len.set(name.len() as i32 + 1);
    Ok(())
}

/// MPI_Session_get_pset_info.
pub fn session_get_pset_info(
    _call: &Call,
    session: &Session,
    pset_name: &CStr,
    info: Out<Handle>,
) -> Result<(), Failure> {
    let known = session.set_info(&pset_name.to_string_lossy())?;
    info.set(handle_for(known)?);
    Ok(())
}

/// MPI_Group_from_session_pset.
pub fn group_from_session_pset(
    _call: &Call,
    session: &Session,
    pset_name: &CStr,
    newgroup: Out<Handle>,
) -> Result<(), Failure> {
    newgroup.set(MPI_GROUP_NULL);
    let members = session.group(&pset_name.to_string_lossy())?;
    newgroup.set(group::handle_of(members)?);
    Ok(())
}
