//! A device that often has no room: it takes a few frames of a batch, or none.

use std::io;
use std::os::fd::RawFd;

use oxmpi_net::device::{Address, Batch, Counters, Device};

use super::Random;

pub struct Narrow {
    device: Box<dyn Device>,
    random: Random,
    one: Vec<u8>,
}

impl Narrow {
    pub fn new(device: Box<dyn Device>, seed: u64) -> Narrow {
        Narrow {
            device,
            random: Random(seed),
            one: Vec::new(),
        }
    }
}

impl Device for Narrow {
    fn describe(&self) -> String {
        format!("narrow {}", self.device.describe())
    }

    fn frame_bytes_max(&self) -> usize {
        self.device.frame_bytes_max()
    }

    fn batch_max(&self) -> (usize, usize) {
        self.device.batch_max()
    }

    fn send(&mut self, to: &Address, batch: &Batch) -> io::Result<usize> {
        let taken = (self.random.next() % 4).min(batch.len() as u64) as usize;
        for frame in 0..taken {
            batch.copy_frame(frame, &mut self.one);
            let mut alone = Batch::new();
            // SAFETY: the copy stays until after the call.
            unsafe { alone.push(self.one.as_ptr(), self.one.len()) };
            alone.end_frame();
            assert_eq!(self.device.send(to, &alone)?, 1);
        }
        Ok(taken)
    }

    fn poll(&mut self) -> bool {
        self.device.poll()
    }

    fn frame(&self) -> &[u8] {
        self.device.frame()
    }

    fn sender(&self) -> Address {
        self.device.sender()
    }

    fn backlog(&self, high: usize) -> usize {
        self.device.backlog(high)
    }

    fn room(&self) -> usize {
        self.device.room()
    }

    fn fd(&self) -> RawFd {
        self.device.fd()
    }

    fn prepare_sleep(&mut self) -> bool {
        self.device.prepare_sleep()
    }

    fn refused(&mut self) -> Option<Address> {
        self.device.refused()
    }

    fn counters(&self) -> Counters {
        self.device.counters()
    }
}
