//! Lists through numbered things, in memory that is taken once: a thing is in one list at most.

use alloc::vec;
use alloc::vec::Vec;

use crate::bits::NONE;

/// The links of all things.
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy)]
struct Link {
    next: u32,
    previous: u32,
    listed: bool,
}

/// One list, from the oldest to the youngest.
#[derive(Clone, Copy)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(crate) const EMPTY: List = List {
        first: NONE,
        last: NONE,
    };

    pub(crate) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

impl Links {
    pub(crate) fn new(capacity: usize) -> Links {
        Links(vec![
            Link {
                next: NONE,
                previous: NONE,
                listed: false
            };
            capacity
        ])
    }

    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * size_of::<Link>()
    }

    pub(crate) fn is_listed(&self, number: u32) -> bool {
        self.0[number as usize].listed
    }

    /// Makes a thing the youngest of a list, unless it is in one.
    pub(crate) fn push(&mut self, list: &mut List, number: u32) {
        if self.is_listed(number) {
            return;
        }
        self.0[number as usize] = Link {
            next: NONE,
            previous: list.last,
            listed: true,
        };
        match list.last {
            NONE => list.first = number,
            last => self.0[last as usize].next = number,
        }
        list.last = number;
    }

    /// Takes a thing out of the list that it is in, if it is in one.
    pub(crate) fn remove(&mut self, list: &mut List, number: u32) {
        let link = self.0[number as usize];
        if !link.listed {
            return;
        }
        self.0[number as usize].listed = false;
        match link.previous {
            NONE => list.first = link.next,
            previous => self.0[previous as usize].next = link.next,
        }
        match link.next {
            NONE => list.last = link.previous,
            next => self.0[next as usize].previous = link.previous,
        }
    }

    pub(crate) fn pop(&mut self, list: &mut List) -> Option<u32> {
        let number = list.first()?;
        self.remove(list, number);
        Some(number)
    }
}
