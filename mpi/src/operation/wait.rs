//! Waiting for one of several operations.

use std::sync::Arc;

use oxmpi_engine::{Engine, RequestId};

use super::Operation;
use crate::error::ErrorKind;

/// Waits until at least one active operation is ready and tells which is the first; none if none is active.
pub fn wait_ready(operations: &mut [&mut Operation]) -> Result<Option<usize>, ErrorKind> {
    let mut watched: Vec<RequestId> = Vec::new();
    loop {
        let mut engine: Option<Arc<Engine>> = None;
        let mut active = false;
        watched.clear();
        for (index, operation) in operations.iter_mut().enumerate() {
            if !operation.is_active() {
                continue;
            }
            if operation.is_ready() {
                return Ok(Some(index));
            }
            active = true;
            operation.watch(&mut watched);
            if engine.is_none() {
                engine = operation.engine().cloned();
            }
        }
        if !active {
            return Ok(None);
        }
        let Some(engine) = engine else {
            // Only another thread of the program can end these (generalized requests).
            std::thread::sleep(std::time::Duration::from_micros(20));
            continue;
        };
        let noted = || operations.iter().any(|operation| operation.is_noted());
        engine.wait_for(&watched, noted)?;
    }
}
