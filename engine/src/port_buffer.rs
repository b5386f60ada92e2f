//! Memory that both sides map: port buffers to send from, and messages received where they lie.

use std::sync::Arc;

use oxmpi_ports::extent::Extent;
use oxmpi_wire::Envelope;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::protocol::Claim;

impl Engine {
    /// Memory that other processes can read where it lies.
    pub fn allocate(self: &Arc<Self>, bytes: u64) -> Result<PortBuffer, EngineError> {
        let extent = Extent::allocate(Arc::clone(&self.shared.segment), bytes)
            .map_err(|error| EngineError::memory(self.rank(), self.host(), &error))?;
        let address = extent.address();
        let offset = extent
            .offset_of(address, 0)
            .expect("an extent contains its own beginning");
        self.extents.add(address as u64, extent.bytes(), offset);
        Ok(PortBuffer {
            extent,
            engine: Arc::clone(self),
        })
    }

    /// A claimed message's bytes where they lie, if they lie in shared memory; else the claim comes
    /// back to be received.
    pub fn in_place(self: &Arc<Self>, claim: Claim) -> Result<Result<InPlace, Claim>, EngineError> {
        let Some(offset) = claim.mapped() else {
            return Ok(Err(claim));
        };
        let mut handler = self.shared.enter();
        let bytes = claim.envelope.bytes();
        let mapped = handler.memory.mappings.borrow(offset, bytes);
        self.shared.leave(&mut handler);
        let address =
            mapped.map_err(|error| EngineError::memory(self.rank(), self.host(), &error))?;
        Ok(Ok(InPlace {
            claim: Some(claim),
            address,
            engine: Arc::clone(self),
        }))
    }
}

/// Memory of this process that lies in the shared segment: messages out of it are copied once, or
/// not at all.
pub struct PortBuffer {
    extent: Extent,
    engine: Arc<Engine>,
}

impl PortBuffer {
    /// Where it lies.
    pub fn address(&self) -> *mut u8 {
        self.extent.address()
    }

    /// The offset by which the other processes of the host find it.
    pub fn offset(&self) -> u64 {
        let offset = self.extent.offset_of(self.extent.address(), 0);
        offset.expect("an extent contains its own beginning")
    }

    /// How long it is (at least what was asked for).
    pub fn bytes(&self) -> u64 {
        self.extent.bytes()
    }
}

impl Drop for PortBuffer {
    fn drop(&mut self) {
        self.engine.extents.remove(self.extent.address() as u64);
    }
}

/// A received message that was not copied: its bytes lie in the sender's memory. Dropping it gives
/// them back to the sender.
pub struct InPlace {
    claim: Option<Claim>,
    address: *const u8,
    engine: Arc<Engine>,
}

impl InPlace {
    /// What was received.
    pub fn envelope(&self) -> Envelope {
        self.claim
            .as_ref()
            .expect("the claim is there until the drop")
            .envelope
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for the length of the message until the drop; the sender leaves them alone
        // until then.
        unsafe { std::slice::from_raw_parts(self.address, self.envelope().bytes() as usize) }
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else {
            return;
        };
        let mut handler = self.engine.shared.enter();
        if let Some(offset) = claim.mapped() {
            handler
                .memory
                .mappings
                .release(offset, claim.envelope.bytes());
        }
        handler.protocol.finish_claim(claim);
        handler.flush();
        self.engine.shared.leave(&mut handler);
    }
}
