//! A table of objects of one kind, from handle to object and back.
//!
//! Looking up is what every call does, so it takes no lock: a constant is one load, any other
//! handle pins its slot by one compare-and-swap and unpins it when the call is over. Removing an
//! object that is pinned hides it at once and leaves it alive until the last pin is gone; so a
//! thread inside a call and a thread that frees the handle do not hurt each other.
//!
//! A slot's state is one word: generation, LIVE, number of pins. Invariants: pins grow only while
//! LIVE is set; the value is there from `insert` until the pins are 0 and LIVE is not set; then
//! exactly one thread, who saw that, takes it out.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};

use super::{CONSTANTS_END, Handle};

/// Objects of one kind that can exist at once: 20 bits of a handle are the place.
pub const OBJECTS_MAX: usize = 1 << INDEX_BITS;

const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 7;
const KIND_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
/// Slots made at a time. All of them are free at first and reused in turn, so that a program which
/// makes and frees one object at a time sees a handle again after 512 * 128 objects. 512 slots of a
/// communicator are some tens of kilobytes.
const CHUNK: usize = 512;
/// Constants of one kind that a table can hold: datatypes have the most, from 512 to 747.
const CONSTANTS: usize = 256;

const LIVE: u32 = 1 << 24;
const PINS: u32 = LIVE - 1;
const GENERATION_SHIFT: u32 = 25;

/// What can stand behind a handle.
pub trait Object: Sized + Send + Sync + 'static {
    /// The C type of the handle, for texts.
    const TYPE: &'static str;
    /// What the object is called, for texts, with its article.
    const WHAT: &'static str;
    /// The null handle.
    const NULL: Handle;
    /// The error class for a handle that has no object.
    const CLASS: i32;

    /// The table of this kind.
    fn table() -> &'static Table<Self>;

    /// The object of a constant, made at its first use. None if there is no such constant, or not
    /// before initialisation.
    fn predefined(_handle: Handle) -> Option<Self> {
        None
    }
}

/// The objects of one kind.
pub struct Table<T: 'static> {
    kind: u32,
    first_constant: usize,
    constants: [AtomicPtr<T>; CONSTANTS],
    chunks: [AtomicPtr<Slot<T>>; OBJECTS_MAX / CHUNK],
    free: Mutex<Free>,
    /// Constants' objects of the past, which are never freed. They stand here for tools that look
    /// for memory which nobody knows any more.
    retired: Mutex<Vec<*mut T>>,
}

struct Slot<T> {
    state: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Places to use next, the longest unused first.
struct Free {
    places: VecDeque<u32>,
    made: usize,
}

/// An object that stays alive while this exists.
pub struct Pinned<'t, T: 'static> {
    value: &'t T,
    /// The table and the place to unpin; none for constants, which stay for good.
    place: Option<(&'t Table<T>, &'t Slot<T>, u32)>,
}

// SAFETY: the table hands out shared references to objects and moves objects in and out, both from
// any thread; `Object` demands what that needs.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T: Object> Table<T> {
    /// An empty table. Kinds are 1 to 15; constants of the kind begin at `first_constant`.
    pub const fn new(kind: u32, first_constant: usize) -> Table<T> {
        assert!(kind >= 1 && kind <= 15);
        Table {
            kind,
            first_constant,
            constants: [const { AtomicPtr::new(ptr::null_mut()) }; CONSTANTS],
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; OBJECTS_MAX / CHUNK],
            free: Mutex::new(Free {
                places: VecDeque::new(),
                made: 0,
            }),
            retired: Mutex::new(Vec::new()),
        }
    }

    /// The object behind a handle.
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<Pinned<'_, T>> {
        if handle.0 < CONSTANTS_END {
            let constant = self
                .constants
                .get(handle.0.wrapping_sub(self.first_constant))?;
            // Pairs with the release in `install`.
            let object = constant.load(Ordering::Acquire);
            if object.is_null() {
                return self.make_constant(handle);
            }
            // SAFETY: installed objects are never freed.
            let value = unsafe { &*object };
            return Some(Pinned { value, place: None });
        }
        self.pin(handle)
    }

    /// Whether a constant has been used.
    pub fn is_made(&self, handle: Handle) -> bool {
        let constant = self
            .constants
            .get(handle.0.wrapping_sub(self.first_constant));
        constant.is_some_and(|constant| !constant.load(Ordering::Acquire).is_null())
    }

    /// The object behind a handle that is no constant, without a pin.
    ///
    /// # Safety
    /// Nobody may remove the handle while the object is used: calls must not overlap, and no
    /// function of the program may be called.
    #[inline(always)]
    pub unsafe fn peek(&self, handle: Handle) -> Option<&T> {
        let (slot, _, generation) = self.slot(handle)?;
        let state = slot.state.load(Ordering::Acquire);
        if state & !PINS != (generation << GENERATION_SHIFT | LIVE) {
            return None;
        }
        // SAFETY: the slot is LIVE, so its value is there; by the caller's promise it stays.
        Some(unsafe { (*slot.value.get()).assume_init_ref() })
    }

    #[inline]
    fn pin(&self, handle: Handle) -> Option<Pinned<'_, T>> {
        let (slot, place, generation) = self.slot(handle)?;
        let mut state = slot.state.load(Ordering::Relaxed);
        loop {
            if state & !PINS != (generation << GENERATION_SHIFT | LIVE) {
                return None;
            }
            assert!(
                state & PINS != PINS,
                "fewer than 16 million threads are inside the library"
            );
            // Pairs with the release in `insert`.
            match slot.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // SAFETY: the slot was LIVE when the pin was added, so its value is there and stays until
        // the pin is gone.
        let value = unsafe { (*slot.value.get()).assume_init_ref() };
        Some(Pinned {
            value,
            place: Some((self, slot, place)),
        })
    }

    /// Adds an object; none if there are [`OBJECTS_MAX`] already.
    pub fn insert(&self, object: T) -> Option<Handle> {
        let place = self.take_place()?;
        let slot = self.slot_at(place)?;
        // SAFETY: the place came from the free list, so nobody else writes here, and no handle is
        // LIVE for it.
        unsafe { (*slot.value.get()).write(object) };
        let generation = slot.state.load(Ordering::Relaxed) >> GENERATION_SHIFT;
        // Pairs with the acquire in `pin`.
        slot.state
            .store(generation << GENERATION_SHIFT | LIVE, Ordering::Release);
        let value = self.kind << KIND_SHIFT | generation << INDEX_BITS | place;
        Some(Handle(value as usize))
    }

    /// Makes a handle invalid; false if it was. The object goes when nobody has it pinned.
    pub fn remove(&self, handle: Handle) -> bool {
        let Some((slot, place, generation)) = self.slot(handle) else {
            return false;
        };
        let mut state = slot.state.load(Ordering::Relaxed);
        loop {
            if state & !PINS != (generation << GENERATION_SHIFT | LIVE) {
                return false;
            }
            match slot.state.compare_exchange_weak(
                state,
                state & !LIVE,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state & PINS == 0 {
            self.vacate(slot, place);
        }
        true
    }

    /// Gives a constant its object. What was there before stays in memory, for calls that still use
    /// it.
    pub fn install(&self, handle: Handle, object: T) {
        let constant = &self.constants[handle.0 - self.first_constant];
        // Pairs with the acquire in `get`.
        self.retire(constant.swap(Box::into_raw(Box::new(object)), Ordering::AcqRel));
    }

    /// Takes a constant's object away: the handle is invalid from now on. It stays in memory for
    /// calls that still use it.
    pub fn uninstall(&self, handle: Handle) {
        let constant = &self.constants[handle.0 - self.first_constant];
        self.retire(constant.swap(ptr::null_mut(), Ordering::AcqRel));
    }

    fn retire(&self, object: *mut T) {
        if !object.is_null() {
            let retired = self.retired.lock();
            retired
                .expect("nothing panics while it holds this lock")
                .push(object);
        }
    }

    #[cold]
    fn make_constant(&self, handle: Handle) -> Option<Pinned<'_, T>> {
        let constant = &self.constants[handle.0 - self.first_constant];
        let made = Box::into_raw(Box::new(T::predefined(handle)?));
        let installed =
            constant.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        let object = match installed {
            Ok(_) => made,
            Err(earlier) => {
                // SAFETY: another thread was faster; this one is still ours alone.
                drop(unsafe { Box::from_raw(made) });
                earlier
            }
        };
        // SAFETY: installed objects are never freed.
        let value = unsafe { &*object };
        Some(Pinned { value, place: None })
    }

    #[inline(always)]
    fn slot(&self, handle: Handle) -> Option<(&Slot<T>, u32, u32)> {
        if handle.0 >> KIND_SHIFT != self.kind as usize {
            return None;
        }
        let place = handle.0 as u32 & (OBJECTS_MAX as u32 - 1);
        let generation = handle.0 as u32 >> INDEX_BITS & ((1 << GENERATION_BITS) - 1);
        Some((self.slot_at(place)?, place, generation))
    }

    #[inline(always)]
    fn slot_at(&self, place: u32) -> Option<&Slot<T>> {
        // Pairs with the release in `grow`.
        let chunk = self.chunks[place as usize / CHUNK].load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk has CHUNK slots and is never freed.
        Some(unsafe { &*chunk.add(place as usize % CHUNK) })
    }

    fn take_place(&self) -> Option<u32> {
        let mut free = self
            .free
            .lock()
            .expect("nothing panics while it holds this lock");
        if free.places.is_empty() {
            self.grow(&mut free);
        }
        free.places.pop_front()
    }

    fn grow(&self, free: &mut Free) {
        let Some(chunk) = self.chunks.get(free.made / CHUNK) else {
            return;
        };
        let slots: Box<[Slot<T>]> = (0..CHUNK)
            .map(|_| Slot {
                state: AtomicU32::new(0),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            })
            .collect();
        // Pairs with the acquire in `slot_at`.
        chunk.store(Box::into_raw(slots).cast(), Ordering::Release);
        free.places
            .extend(free.made as u32..(free.made + CHUNK) as u32);
        free.made += CHUNK;
    }
}

impl<T: Object + Clone> Table<T> {
    /// Removes an object and hands it out.
    pub fn take(&self, handle: Handle) -> Option<T> {
        let object = self.get(handle)?.clone_object();
        self.remove(handle).then_some(object)
    }
}

impl<T: Clone> Pinned<'_, T> {
    /// A copy of the object itself, which for shared objects is a reference to it.
    pub fn clone_object(&self) -> T {
        self.value.clone()
    }
}

impl<T> Deref for Pinned<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: 'static> Drop for Pinned<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let Some((table, slot, place)) = self.place else {
            return;
        };
        // What this thread did with the object comes before whoever takes it out.
        let state = slot.state.fetch_sub(1, Ordering::Release);
        if state & (LIVE | PINS) == 1 {
            fence(Ordering::Acquire);
            table.vacate(slot, place);
        }
    }
}

impl<T: 'static> Table<T> {
    /// Takes the value out of a slot that is not LIVE and has no pins; called once for each
    /// `remove`.
    fn vacate(&self, slot: &Slot<T>, place: u32) {
        // SAFETY: the caller saw the last pin go (or there was none) after LIVE was taken back, so
        // nobody else can reach the value.
        let value = unsafe { (*slot.value.get()).assume_init_read() };
        let generation = (slot.state.load(Ordering::Relaxed) >> GENERATION_SHIFT).wrapping_add(1);
        let generation = generation & ((1 << GENERATION_BITS) - 1);
        slot.state
            .store(generation << GENERATION_SHIFT, Ordering::Relaxed);
        let mut free = self
            .free
            .lock()
            .expect("nothing panics while it holds this lock");
        free.places.push_back(place);
        drop(free);
        drop(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    #[derive(Clone)]
    struct Thing(Arc<AtomicUsize>);

    static THINGS: Table<Thing> = Table::new(15, 256);

    impl Object for Thing {
        const TYPE: &'static str = "MPI_Thing";
        const WHAT: &'static str = "a thing";
        const NULL: Handle = Handle(256);
        const CLASS: i32 = 16;

        fn table() -> &'static Table<Self> {
            &THINGS
        }

        fn predefined(handle: Handle) -> Option<Self> {
            (handle.0 == 257).then(|| Thing(Arc::new(AtomicUsize::new(7))))
        }
    }

    fn thing(value: usize) -> Thing {
        Thing(Arc::new(AtomicUsize::new(value)))
    }

    #[test]
    fn handles_are_positive_ints_above_the_constants() {
        let handle = THINGS.insert(thing(1)).unwrap();
        assert!(handle.0 >= 4096 && handle.0 <= i32::MAX as usize);
        assert_eq!(Handle::from_int(handle.to_int()), handle);
        assert!(THINGS.remove(handle));
    }

    #[test]
    fn freed_foreign_and_random_handles_have_no_object() {
        let handle = THINGS.insert(thing(2)).unwrap();
        assert_eq!(THINGS.get(handle).unwrap().0.load(Ordering::Relaxed), 2);
        assert!(THINGS.remove(handle));
        assert!(THINGS.get(handle).is_none());
        assert!(!THINGS.remove(handle));
        for value in [
            0,
            256,
            300,
            4095,
            4096,
            1 << 27,
            usize::MAX,
            0x7fff_ffff,
            0xffff_ffff_7800_0001,
        ] {
            assert!(THINGS.get(Handle(value)).is_none(), "{value:#x}");
        }
        assert_eq!(
            THINGS.get(Handle(257)).unwrap().0.load(Ordering::Relaxed),
            7
        );
    }

    #[test]
    fn a_stale_handle_is_told_for_long() {
        static FEW: Table<Thing> = Table::new(14, 256);
        let first = FEW.insert(thing(3)).unwrap();
        FEW.remove(first);
        for _ in 0..CHUNK * 127 {
            let next = FEW.insert(thing(4)).unwrap();
            assert_ne!(next, first);
            FEW.remove(next);
        }
    }

    #[test]
    fn a_pinned_object_outlives_its_handle() {
        let counted = thing(5);
        let handle = THINGS.insert(counted.clone()).unwrap();
        let pinned = THINGS.get(handle).unwrap();
        assert!(THINGS.remove(handle));
        assert!(THINGS.get(handle).is_none());
        assert_eq!(pinned.0.load(Ordering::Relaxed), 5);
        assert_eq!(Arc::strong_count(&counted.0), 2);
        drop(pinned);
        assert_eq!(Arc::strong_count(&counted.0), 1);
    }

    #[test]
    fn threads_that_look_up_and_free_do_not_meet() {
        static SHARED: Table<Thing> = Table::new(13, 256);
        let counted = thing(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let handle = SHARED.insert(counted.clone()).unwrap();
                        let other = Handle(handle.0 ^ 1);
                        let _ = SHARED
                            .get(other)
                            .map(|thing| thing.0.fetch_add(1, Ordering::Relaxed));
                        assert!(SHARED.get(handle).is_some());
                        assert!(SHARED.remove(handle));
                    }
                });
            }
        });
        assert_eq!(Arc::strong_count(&counted.0), 1);
    }

    /// Run it with `cargo test --release -p oxmpi-abi look_up -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement: cargo test --release -p oxmpi-abi --lib -- --ignored --nocapture"]
    fn what_a_look_up_costs() {
        let handle = THINGS.insert(thing(6)).unwrap();
        for (what, handle) in [("a constant", Handle(257)), ("a made object", handle)] {
            let begin = std::time::Instant::now();
            for _ in 0..10_000_000 {
                std::hint::black_box(THINGS.get(std::hint::black_box(handle)).is_some());
            }
            println!("{what}: {:.1} ns", begin.elapsed().as_nanos() as f64 / 1e7);
        }
        THINGS.remove(handle);
    }
}
