//! The engine's lock: made for one application thread and the driver, or for many application
//! threads.
//!
//! With one application thread (every thread level but MULTIPLE) the lock is *biased*: the thread
//! enters by a plain store and a plain load, no atomic read-modify-write, and the driver, which
//! wants in some hundred times a second at most, pays for both: it raises its flag, has the kernel
//! fence the other threads of the process (membarrier), and only then looks whether the application
//! is inside. With many threads it is a mutex.
//!
//! The driver also steps the work of the layers above, which calls the engine as the application
//! does. So while there is such work the lock is *shared*: a mutex for one thread too. Whoever is
//! inside makes it so: the application when work begins ([`Guard::share`]), the driver when work
//! that was dormant has something to do ([`Guard::share_as_driver`]). Only the application's thread
//! takes it back, at its first entry after the last work has ended or fallen asleep, unless the
//! driver is still in a step ([`Lock::begin_visit`]).

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};
use std::sync::{Mutex, MutexGuard, TryLockError};

const MEMBARRIER_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// How often a thread yields before it sleeps for the mutex: some tens of microseconds.
const YIELDS_MAX: u32 = 50;

/// Who uses the engine at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// One thread of the application at a time; whoever else comes has synchronised with it.
    One,
    /// Any number.
    Many,
}

pub(crate) struct Lock<T> {
    /// One thread of the application: the lock may be biased.
    one: bool,
    /// It is. Set by the application's thread, cleared by whoever is inside.
    biased: AtomicBool,
    /// It is to stay a mutex: there is work of the layers above.
    shared: AtomicBool,
    /// The driver enters like the application for now. Set only under the mutex.
    visited: AtomicBool,
    /// The application's thread is inside (biased only).
    inside: AtomicBool,
    /// The driver is inside or wants to be (biased only).
    driver: AtomicBool,
    /// The real lock when not biased.
    mutex: Mutex<()>,
    /// Threads that want the mutex and do not have it.
    contenders: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through guards, of which the lock gives out one at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The right to the value. It is passed on by reference, never by value: moving it costs more than
/// taking it.
pub(crate) struct Guard<'l, T> {
    lock: &'l Lock<T>,
    /// The mutex's guard when the lock is not biased.
    mutex: Option<MutexGuard<'l, ()>>,
    by_driver: bool,
}

impl<T> Lock<T> {
    /// # Safety
    /// With [`Threads::One`], calls of [`Lock::enter`] must never overlap, nor the life of the
    /// guards they return.
    pub unsafe fn new(value: T, threads: Threads) -> Self {
        // SAFETY: no pointers are passed. Where the kernel refuses, a mutex serves one thread as
        // well.
        let fences = || unsafe {
            libc::syscall(
                libc::SYS_membarrier,
                MEMBARRIER_REGISTER_PRIVATE_EXPEDITED,
                0,
                0,
            ) == 0
        };
        let one = threads == Threads::One && fences();
        Self {
            one,
            biased: AtomicBool::new(one),
            shared: AtomicBool::new(false),
            visited: AtomicBool::new(false),
            inside: AtomicBool::new(false),
            driver: AtomicBool::new(false),
            mutex: Mutex::new(()),
            contenders: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// The application enters.
    #[inline(always)]
    pub fn enter(&self) -> Guard<'_, T> {
        let mutex = if self.biased.load(Ordering::Relaxed) && self.try_enter_biased() {
            None
        } else {
            self.enter_slowly()
        };
        Guard {
            lock: self,
            mutex,
            by_driver: false,
        }
    }

    /// False: the driver is inside, or has been and has shared the lock. `inside` is set all the
    /// same.
    #[inline(always)]
    fn try_enter_biased(&self) -> bool {
        self.inside.store(true, Ordering::Relaxed);
        // The processor's half of this fence is the driver's membarrier: if the driver has not seen
        // the store above, this thread sees the flag up, or down again (acquire: with whatever the
        // driver has done to the bias).
        compiler_fence(Ordering::SeqCst);
        !self.driver.load(Ordering::Acquire) && self.biased.load(Ordering::Relaxed)
    }

    /// `None`: the lock is biased, and the caller inside.
    #[inline(never)]
    fn enter_slowly(&self) -> Option<MutexGuard<'_, ()>> {
        loop {
            if !self.one {
                return Some(self.enter_shared());
            }
            self.inside.store(false, Ordering::Release);
            while self.driver.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            if !self.biased.load(Ordering::Relaxed)
                && let Some(mutex) = self.enter_by_mutex()
            {
                return Some(mutex);
            }
            if self.try_enter_biased() {
                return None;
            }
        }
    }

    /// `None`: the lock is biased from now on, and the caller outside.
    fn enter_by_mutex(&self) -> Option<MutexGuard<'_, ()>> {
        let mutex = self.enter_shared();
        // Under the mutex nobody begins to visit.
        if self.one && !self.shared.load(Ordering::Relaxed) && !self.visited.load(Ordering::Acquire)
        {
            self.biased.store(true, Ordering::Release);
            return None;
        }
        Some(mutex)
    }

    /// The driver, which has the lock, is about to call the engine as the application does. False
    /// while the lock is biased. True: [`Lock::end_visit`] must follow.
    pub fn begin_visit(&self, guard: &Guard<'_, T>) -> bool {
        if guard.mutex.is_some() {
            self.visited.store(true, Ordering::Relaxed);
        }
        guard.mutex.is_some()
    }

    /// The driver enters as the driver again. Pairs with the acquire in `enter_by_mutex`.
    pub fn end_visit(&self) {
        self.visited.store(false, Ordering::Release);
    }

    /// There is no more work that the driver steps: the lock may be biased again.
    pub fn unshare(&self) {
        self.shared.store(false, Ordering::Relaxed);
    }

    fn enter_shared(&self) -> MutexGuard<'_, ()> {
        match self.mutex.try_lock() {
            Ok(mutex) => mutex,
            Err(TryLockError::WouldBlock) => {
                self.contenders.fetch_add(1, Ordering::Relaxed);
                let mutex = self.contend();
                self.contenders.fetch_sub(1, Ordering::Relaxed);
                mutex
            }
            Err(TryLockError::Poisoned(_)) => poisoned(),
        }
    }

    /// Waits for the mutex. Whoever has it lets go soon, if it has a CPU: yielding to it costs a
    /// tenth of sleeping and being woken.
    fn contend(&self) -> MutexGuard<'_, ()> {
        for _ in 0..YIELDS_MAX {
            std::thread::yield_now();
            match self.mutex.try_lock() {
                Ok(mutex) => return mutex,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(_)) => poisoned(),
            }
        }
        self.mutex.lock().unwrap_or_else(|_| poisoned())
    }

    /// The driver enters, if nobody is inside.
    pub fn try_enter_as_driver(&self) -> Option<Guard<'_, T>> {
        if !self.biased.load(Ordering::Acquire) {
            let mutex = match self.mutex.try_lock() {
                Ok(mutex) => mutex,
                Err(TryLockError::WouldBlock) => return None,
                Err(TryLockError::Poisoned(_)) => poisoned(),
            };
            if self.biased.load(Ordering::Relaxed) {
                return None;
            }
            return Some(Guard {
                lock: self,
                mutex: Some(mutex),
                by_driver: true,
            });
        }
        if self.inside.load(Ordering::Relaxed) {
            return None;
        }
        self.driver.store(true, Ordering::SeqCst);
        // SAFETY: no pointers are passed; registered in `new`.
        unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) };
        // If the application has left with a shared lock, its store to `biased` came before that to
        // `inside`.
        if self.inside.load(Ordering::Acquire) || !self.biased.load(Ordering::Relaxed) {
            self.driver.store(false, Ordering::Release);
            return None;
        }
        Some(Guard {
            lock: self,
            mutex: None,
            by_driver: true,
        })
    }

    /// Whether several threads of the application may want the lock at once, as far as it knows.
    #[inline(always)]
    pub fn is_for_many(&self) -> bool {
        !self.one
    }

    /// Whether somebody waits for the guard's holder to let go.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.contenders.load(Ordering::Relaxed) != 0 || self.driver.load(Ordering::Relaxed)
    }
}

impl<'l, T> Guard<'l, T> {
    /// Makes the lock one that the driver can enter as the application does, until
    /// [`Lock::unshare`]. The application's guard only.
    pub fn share(&mut self) {
        debug_assert!(!self.by_driver);
        let lock: &'l Lock<T> = self.lock;
        lock.shared.store(true, Ordering::Relaxed);
        if self.mutex.is_none() {
            self.mutex = Some(lock.enter_shared());
            lock.biased.store(false, Ordering::Relaxed);
            lock.inside.store(false, Ordering::Release);
        }
    }

    /// [`Guard::share`] for the driver's guard.
    pub fn share_as_driver(&mut self) {
        debug_assert!(self.by_driver);
        let lock: &'l Lock<T> = self.lock;
        lock.shared.store(true, Ordering::Relaxed);
        if self.mutex.is_none() {
            self.mutex = Some(lock.enter_shared());
            lock.biased.store(false, Ordering::Relaxed);
            // Release: the application, which waits for the flag or finds it down, sees that the
            // lock is not biased.
            lock.driver.store(false, Ordering::Release);
        }
    }

    /// Lets go while `meanwhile` runs. The application's guard only: the driver's may not get in
    /// again.
    pub fn let_go<R>(&mut self, meanwhile: impl FnOnce() -> R) -> R {
        debug_assert!(!self.by_driver);
        if self.mutex.take().is_none() {
            self.lock.inside.store(false, Ordering::Release);
        }
        let result = meanwhile();
        // Work that began or ended meanwhile has changed the lock.
        let lock: &'l Lock<T> = self.lock;
        self.mutex = if lock.biased.load(Ordering::Relaxed) && lock.try_enter_biased() {
            None
        } else {
            lock.enter_slowly()
        };
        result
    }
}

fn poisoned<T>() -> T {
    panic!("a thread panicked inside the engine, which cannot go on")
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one: a mutex guard, or one of application and driver, which
        // exclude each other.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            // Release: pairs with the acquire loads of the other side's entry.
            if self.by_driver {
                self.lock.driver.store(false, Ordering::Release);
            } else {
                self.lock.inside.store(false, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Increments that are lost if two are inside at once, however briefly.
    fn increment(value: &mut u64) {
        let before = std::hint::black_box(*value);
        std::hint::spin_loop();
        *value = std::hint::black_box(before + 1);
    }

    /// The application shares the lock and takes it back while the driver comes in both ways.
    #[test]
    fn a_lock_that_changes_keeps_the_driver_out() {
        const ROUNDS: u64 = 20_000;
        // SAFETY: one thread below enters as the application; the driver does so only on a visit.
        let lock = unsafe { Lock::new(0_u64, Threads::One) };
        let is_over = AtomicBool::new(false);
        let by_driver = std::thread::scope(|scope| {
            let driver = scope.spawn(|| {
                let (mut entered, mut visits) = (0, 0);
                while !is_over.load(Ordering::Relaxed) {
                    let Some(mut guard) = lock.try_enter_as_driver() else {
                        std::thread::yield_now();
                        continue;
                    };
                    increment(&mut guard);
                    entered += 1;
                    if entered % 3 == 0 {
                        guard.share_as_driver();
                        increment(&mut guard);
                        entered += 1;
                    }
                    if lock.begin_visit(&guard) {
                        drop(guard);
                        for _ in 0..3 {
                            increment(&mut lock.enter());
                            entered += 1;
                        }
                        lock.end_visit();
                        visits += 1;
                    }
                }
                (entered, visits)
            });
            for round in 0..ROUNDS {
                let mut guard = lock.enter();
                increment(&mut guard);
                if round % 5 == 0 {
                    guard.share();
                }
                guard.let_go(|| {
                    if round % 7 == 0 {
                        std::thread::yield_now();
                    }
                });
                increment(&mut guard);
                drop(guard);
                if round % 5 == 3 || round % 4 == 0 {
                    lock.unshare();
                }
            }
            is_over.store(true, Ordering::Relaxed);
            driver.join().unwrap()
        });
        let (entered, visits) = by_driver;
        assert_eq!(*lock.enter(), 2 * ROUNDS + entered);
        // Where the driver never had its turn this has shown nothing, but nothing is wrong either.
        println!("the driver entered {entered} times, {visits} of them for a visit");
    }

    #[test]
    fn a_lock_is_biased_again_after_the_last_visit() {
        // SAFETY: one thread.
        let lock = unsafe { Lock::new((), Threads::One) };
        if !lock.one {
            return;
        }
        let is_biased = || lock.biased.load(Ordering::Relaxed);
        lock.enter().share();
        assert!(!is_biased());
        let guard = lock.try_enter_as_driver().expect("nobody is inside");
        assert!(lock.begin_visit(&guard));
        drop(guard);
        lock.unshare();
        drop(lock.enter());
        assert!(!is_biased(), "the driver may enter like the application");
        lock.end_visit();
        drop(lock.enter());
        assert!(is_biased());
        let mut guard = lock.try_enter_as_driver().expect("nobody is inside");
        assert!(!lock.begin_visit(&guard));
        // The driver makes it a mutex by itself.
        guard.share_as_driver();
        assert!(!is_biased() && lock.begin_visit(&guard));
        drop(guard);
        drop(lock.enter());
        lock.end_visit();
        lock.unshare();
        drop(lock.enter());
        assert!(is_biased());
    }
}
