//! The engine's lock: made for one application thread and the driver, or for many application threads.
//!
//! With one application thread (every thread level but MULTIPLE) the lock is *biased*: the thread enters by a plain store and a
//! plain load, no atomic read-modify-write, and the driver, which wants in some hundred times a second at most, pays for
//! both: it raises its flag, has the kernel fence the other threads of the process (membarrier), and only then looks whether the
//! application is inside. With many threads it is a mutex.

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
    biased: bool,
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

/// The right to the value. It is passed on by reference, never by value: moving it costs more than taking it.
pub(crate) struct Guard<'l, T> {
    lock: &'l Lock<T>,
    /// The mutex's guard when the lock is not biased.
    mutex: Option<MutexGuard<'l, ()>>,
    by_driver: bool,
}

impl<T> Lock<T> {
    /// # Safety
    /// With [`Threads::One`], calls of [`Lock::enter`] must never overlap, nor the life of the guards they return.
    pub unsafe fn new(value: T, threads: Threads) -> Self {
        // SAFETY: no pointers are passed. Where the kernel refuses, a mutex serves one thread as well.
        let fences = || unsafe {
            libc::syscall(
                libc::SYS_membarrier,
                MEMBARRIER_REGISTER_PRIVATE_EXPEDITED,
                0,
                0,
            ) == 0
        };
        Self {
            biased: threads == Threads::One && fences(),
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
        let mutex = if self.biased {
            self.enter_biased();
            None
        } else {
            Some(self.enter_shared())
        };
        Guard {
            lock: self,
            mutex,
            by_driver: false,
        }
    }

    #[inline(always)]
    fn enter_biased(&self) {
        self.inside.store(true, Ordering::Relaxed);
        // The processor's half of this fence is the driver's membarrier.
        compiler_fence(Ordering::SeqCst);
        if self.driver.load(Ordering::Acquire) {
            self.wait_for_driver();
        }
    }

    #[cold]
    fn wait_for_driver(&self) {
        loop {
            self.inside.store(false, Ordering::Release);
            while self.driver.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            self.inside.store(true, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            if !self.driver.load(Ordering::Acquire) {
                return;
            }
        }
    }

    #[inline(never)]
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

    /// Waits for the mutex. Whoever has it lets go soon, if it has a CPU: yielding to it costs a tenth of sleeping and being woken.
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
        if !self.biased {
            let mutex = match self.mutex.try_lock() {
                Ok(mutex) => mutex,
                Err(TryLockError::WouldBlock) => return None,
                Err(TryLockError::Poisoned(_)) => poisoned(),
            };
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
        if self.inside.load(Ordering::Acquire) {
            self.driver.store(false, Ordering::Release);
            return None;
        }
        Some(Guard {
            lock: self,
            mutex: None,
            by_driver: true,
        })
    }

    /// Whether somebody waits for the guard's holder to let go.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.contenders.load(Ordering::Relaxed) != 0 || self.driver.load(Ordering::Relaxed)
    }
}

impl<T> Guard<'_, T> {
    /// Lets go while `meanwhile` runs. The application's guard only: the driver's may not get in again.
    pub fn let_go<R>(&mut self, meanwhile: impl FnOnce() -> R) -> R {
        debug_assert!(!self.by_driver);
        if self.lock.biased {
            self.lock.inside.store(false, Ordering::Release);
        } else {
            self.mutex = None;
        }
        let result = meanwhile();
        if self.lock.biased {
            self.lock.enter_biased();
        } else {
            self.mutex = Some(self.lock.enter_shared());
        }
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
        // SAFETY: the guard is the only one: a mutex guard, or one of application and driver, which exclude each other.
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
        if self.lock.biased {
            // Release: pairs with the acquire loads of the other side's entry.
            if self.by_driver {
                self.lock.driver.store(false, Ordering::Release);
            } else {
                self.lock.inside.store(false, Ordering::Release);
            }
        }
    }
}
