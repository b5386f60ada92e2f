//! A window as C programs know it: the window itself, which carries name, attributes and hints,
//! its error handler, and the values that the predefined attributes point at.

use std::ops::Deref;
use std::sync::Arc;

use oxmpi_core::window::{self, Flavor};

use super::{Errhandler, ErrhandlerSlot};
use crate::constant::*;
use crate::failure::Failure;
use crate::handle::Handle;

/// What an `MPI_Win` stands for.
pub struct Window {
    window: Arc<window::Window>,
    /// Who is told of errors.
    pub errhandler: ErrhandlerSlot,
    /// What programs see by the predefined attributes, whose addresses they get.
    pub predefined: Predefined,
}

/// The values of the predefined attributes that are addresses of numbers (MPI 5.0 §12.2.6).
#[derive(Debug)]
pub struct Predefined {
    /// MPI_WIN_SIZE.
    pub size: i64,
    /// MPI_WIN_DISP_UNIT.
    pub unit: i32,
    /// MPI_WIN_CREATE_FLAVOR.
    pub flavor: i32,
    /// MPI_WIN_MODEL: loads and stores of a process and accesses of others meet in one memory.
    pub model: i32,
}

impl Window {
    /// Gives a window a handle, which it remembers. Errors on it are fatal until the program says
    /// otherwise, whatever its communicator has (MPI 5.0 §12.6.1).
    pub fn new_handle(window: window::Window) -> Result<Handle, Failure> {
        let window = Arc::new(window);
        let predefined = Predefined {
            size: window.bytes() as i64,
            // What an `int` cannot hold was given through a large form.
            unit: i32::try_from(window.unit()).unwrap_or(MPI_UNDEFINED),
            flavor: match window.flavor() {
                Flavor::Create => MPI_WIN_FLAVOR_CREATE,
                Flavor::Allocate => MPI_WIN_FLAVOR_ALLOCATE,
                Flavor::Dynamic => MPI_WIN_FLAVOR_DYNAMIC,
                Flavor::Shared => MPI_WIN_FLAVOR_SHARED,
            },
            model: MPI_WIN_UNIFIED,
        };
        let object = Window {
            window: window.clone(),
            errhandler: ErrhandlerSlot::new(Errhandler::AreFatal),
            predefined,
        };
        let handle = super::handle_for(object)?;
        window.set_handle(handle.0 as u64);
        // Requests know their communicator; those of a window are found by its hidden one.
        window.comm().set_handle(handle.0 as u64);
        Ok(handle)
    }
}

impl Deref for Window {
    type Target = window::Window;

    #[inline]
    fn deref(&self) -> &window::Window {
        &self.window
    }
}
