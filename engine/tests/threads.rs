//! Many threads of one process in one engine at once: sending, receiving, sleeping and waking each
//! other.

mod engines;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use engines::{data, irecv, isend, job, job_on, pair, recv, send, within};
use oxmpi_engine::{Board, Condition, Mode, Options, Threads, Ticket, WaitMode, Work};

const LIMIT: Duration = Duration::from_secs(600);

fn sleeping() -> Options {
    Options {
        wait: WaitMode::Sleep,
        ..Options::default()
    }
}

/// Threads `0..count` of both engines play ping-pong, each pair on its own tag.
fn ping_pongs(options: &Options, count: i32, turns: usize, bytes: usize) {
    let (left, right) = pair(options, Threads::Many);
    within(LIMIT, "ping-pongs of many threads", || {
        thread::scope(|scope| {
            for tag in 0..count {
                let (left, right) = (&left, &right);
                scope.spawn(move || {
                    for turn in 0..turns {
                        let message = data(turn, bytes);
                        send(left, 1, tag, &message).unwrap();
                        let mut back = vec![0; bytes];
                        recv(left, 1, tag, &mut back).unwrap();
                        assert_eq!(back, message);
                    }
                });
                scope.spawn(move || {
                    let mut message = vec![0; bytes];
                    for _ in 0..turns {
                        recv(right, 0, tag, &mut message).unwrap();
                        send(right, 0, tag, &message).unwrap();
                    }
                });
            }
        });
    });
    thread::scope(|scope| {
        scope.spawn(|| left.finalize());
        right.finalize();
    });
}

#[test]
fn many_threads_talk_at_once() {
    ping_pongs(&Options::default(), 4, 300, 100);
}

#[test]
fn many_threads_that_sleep_are_all_woken() {
    for _ in 0..5 {
        ping_pongs(&sleeping(), 3, 400, 100);
    }
}

#[test]
fn many_threads_with_long_messages() {
    ping_pongs(&Options::default(), 3, 20, 300_000);
    let options = Options {
        single_copy: false,
        ..sleeping()
    };
    ping_pongs(&options, 3, 20, 300_000);
}

#[test]
fn a_thread_sleeps_in_a_receive_while_another_talks() {
    let (left, right) = pair(&Options::default(), Threads::Many);
    within(LIMIT, "one sleeper and one talker", || {
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let mut word = [0; 8];
                recv(&left, 1, 77, &mut word).unwrap();
                word
            });
            scope.spawn(|| {
                for turn in 0..2000u64 {
                    send(&left, 1, 1, &turn.to_le_bytes()).unwrap();
                    let mut back = [0; 8];
                    recv(&left, 1, 2, &mut back).unwrap();
                    assert_eq!(u64::from_le_bytes(back), turn);
                }
            });
            for _ in 0..2000 {
                let mut word = [0; 8];
                recv(&right, 0, 1, &mut word).unwrap();
                send(&right, 0, 2, &word).unwrap();
            }
            send(&right, 0, 77, &[9; 8]).unwrap();
            assert_eq!(sleeper.join().unwrap(), [9; 8]);
        });
    });
}

#[test]
fn a_message_to_oneself_wakes_the_thread_that_sleeps_for_it() {
    for bytes in [8, 20_000, 200_000] {
        for options in [sleeping(), Options::default()] {
            let engine = Arc::clone(&job(1, &options, Threads::Many).engines[0]);
            within(LIMIT, "a message between threads of one process", || {
                thread::scope(|scope| {
                    let receiving = scope.spawn(|| {
                        let mut into = vec![0; bytes];
                        recv(&engine, 0, 3, &mut into).unwrap();
                        into
                    });
                    thread::sleep(Duration::from_millis(20));
                    send(&engine, 0, 3, &data(1, bytes)).unwrap();
                    assert_eq!(receiving.join().unwrap(), data(1, bytes));
                });
            });
        }
    }
}

#[test]
fn a_cancelled_receive_wakes_the_thread_that_sleeps_for_it() {
    let (left, _right) = pair(&sleeping(), Threads::Many);
    let mut into = [0; 8];
    let request = irecv(&left, 1, 3, &mut into);
    within(LIMIT, "a cancel by another thread", || {
        thread::scope(|scope| {
            let waiting = scope.spawn(|| left.wait(request).unwrap());
            thread::sleep(Duration::from_millis(20));
            left.cancel(request);
            assert!(waiting.join().unwrap().cancelled);
        });
    });
}

/// Counts how often it was woken.
#[derive(Default)]
struct Alarm {
    rung: AtomicU64,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, Ordering::SeqCst);
    }
}

impl Alarm {
    fn wait(&self) {
        while self.rung.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

#[test]
fn a_waker_is_woken_by_a_message() {
    for threads in [Threads::One, Threads::Many] {
        let (left, right) = pair(&Options::default(), threads);
        let mut into = [0; 8];
        let request = irecv(&left, 1, 3, &mut into);
        let alarm = Arc::new(Alarm::default());
        assert!(left.set_waker(request, &Waker::from(Arc::clone(&alarm))));
        thread::sleep(Duration::from_millis(30));
        assert_eq!(alarm.rung.load(Ordering::SeqCst), 0);
        send(&right, 0, 3, &[4; 8]).unwrap();
        within(LIMIT, "a waker", || alarm.wait());
        assert_eq!(left.wait(request).unwrap().bytes, 8);
        assert_eq!(into, [4; 8]);
        let mut over = [0; 8];
        let late = irecv(&left, 1, 3, &mut over);
        send(&right, 0, 3, &[5; 8]).unwrap();
        while !left.is_complete(late) {}
        assert!(
            !left.set_waker(late, &Waker::from(alarm)),
            "it is over already"
        );
        left.wait(late).unwrap();
    }
}

#[test]
fn a_waker_is_woken_by_a_message_to_oneself() {
    for threads in [Threads::One, Threads::Many] {
        let (left, _right) = pair(&Options::default(), threads);
        for bytes in [8, 100_000] {
            let mut into = vec![0; bytes];
            let request = irecv(&left, 0, 3, &mut into);
            let alarm = Arc::new(Alarm::default());
            assert!(left.set_waker(request, &Waker::from(Arc::clone(&alarm))));
            let message = data(2, bytes);
            let sending = isend(&left, 0, 3, &message, Mode::Standard);
            within(LIMIT, "a waker of a message to oneself", || alarm.wait());
            left.wait(request).unwrap();
            left.wait(sending).unwrap();
            assert_eq!(into, message);
        }
    }
}

#[test]
fn a_waker_is_woken_by_a_cancel() {
    let (left, _right) = pair(&Options::default(), Threads::One);
    let mut into = [0; 8];
    let request = irecv(&left, 1, 3, &mut into);
    let alarm = Arc::new(Alarm::default());
    assert!(left.set_waker(request, &Waker::from(Arc::clone(&alarm))));
    left.cancel(request);
    within(LIMIT, "a waker of a cancelled receive", || alarm.wait());
    assert!(left.wait(request).unwrap().cancelled);
}

/// Sleepers, talkers and pollers in one engine, with messages from everywhere: nobody may be
/// forgotten.
#[test]
fn sleepers_talkers_and_pollers_share_an_engine() {
    const TURNS: usize = 300;
    for options in [sleeping(), Options::default()] {
        let engines = job(3, &options, Threads::Many).engines;
        let stop = AtomicBool::new(false);
        within(LIMIT, "three engines, twelve threads", || {
            thread::scope(|scope| {
                for engine in &engines {
                    let stop = &stop;
                    // A poller that probes for what never comes.
                    scope.spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            assert!(engine.probe(engines::from(None, 99)).unwrap().is_none());
                            thread::yield_now();
                        }
                    });
                }
                let rings: Vec<_> = (0..3)
                    .map(|tag| {
                        let engines = &engines;
                        scope.spawn(move || {
                            thread::scope(|scope| {
                                for (rank, engine) in engines.iter().enumerate() {
                                    scope.spawn(move || ring(engine, rank as u32, tag, TURNS));
                                }
                            });
                        })
                    })
                    .collect();
                for ring in rings {
                    ring.join().unwrap();
                }
                stop.store(true, Ordering::Relaxed);
            });
        });
    }
}

/// A member's wait for the others' contributions to one operation on a board.
struct Contributions<'b> {
    board: &'b mut Board,
    operation: u64,
    written: bool,
}

impl Condition for Contributions<'_> {
    fn is_met(&mut self) -> bool {
        if !self.written {
            return self.board.is_writable(self.operation, size_of::<u64>());
        }
        (0..self.board.size()).all(|member| self.board.has_arrived(self.operation, member))
    }

    fn before_sleep(&mut self) {
        self.board.announce_sleep();
    }

    fn after_sleep(&mut self) {
        self.board.announce_awake();
    }
}

/// One thread of each process meets the others on a board while other threads sleep in receives and
/// play ping-pong: whoever sleeps beside the doorbell learns of the board through the one who
/// sleeps on it.
#[test]
fn a_board_and_messages_share_a_process() {
    const TURNS: u64 = 300;
    for options in [sleeping(), Options::default()] {
        // A board is for one host, whatever transport the other tests use.
        let engines = job_on(vec![0, 0], &options, Threads::Many).engines;
        let ticket = engines[0].offer_board().expect("all boards are free");
        within(LIMIT, "a board beside messages", || {
            thread::scope(|scope| {
                for (me, engine) in engines.iter().enumerate() {
                    let other = 1 - me as u32;
                    scope.spawn(move || meet(engine, ticket, me, TURNS));
                    for tag in 0..2 {
                        scope.spawn(move || {
                            let mut word = [0; 8];
                            for turn in 0..TURNS {
                                if me == 0 {
                                    send(engine, other, tag, &turn.to_le_bytes()).unwrap();
                                }
                                recv(engine, other, tag, &mut word).unwrap();
                                assert_eq!(u64::from_le_bytes(word), turn);
                                if me == 1 {
                                    send(engine, other, tag, &word).unwrap();
                                }
                            }
                        });
                    }
                }
            });
        });
    }
}

fn meet(engine: &oxmpi_engine::Engine, ticket: Ticket, me: usize, turns: u64) {
    let mut board = engine.open_board(ticket, vec![0, 1], me).unwrap();
    for turn in 0..turns {
        let operation = board.begin();
        for written in [false, true] {
            if written {
                board.write(operation, turn, 8, |out| out.fill((turn + me as u64) as u8));
            }
            let board = &mut board;
            let mut wait = Contributions {
                board,
                operation,
                written,
            };
            engine.wait_until(&mut wait, &[0, 1]).unwrap();
        }
        for member in 0..2 {
            assert_eq!(board.note(operation, member), turn);
            assert_eq!(
                board.read(operation, member, 8),
                [(turn + member as u64) as u8; 8]
            );
        }
        board.finish(operation, true);
    }
    engine.close_board(board);
}

/// A token goes around, and to each process itself in between.
fn ring(engine: &oxmpi_engine::Engine, rank: u32, tag: i32, turns: usize) {
    let mut token = [tag as u8; 64];
    for turn in 0..turns {
        if rank > 0 || turn > 0 {
            recv(engine, (rank + 2) % 3, tag, &mut token).unwrap();
        }
        assert_eq!(token, [tag as u8; 64]);
        send(engine, rank, 10 + tag, &token).unwrap();
        recv(engine, rank, 10 + tag, &mut token).unwrap();
        if rank < 2 || turn + 1 < turns {
            send(engine, (rank + 1) % 3, tag, &token).unwrap();
        }
    }
}

/// Background work that waits for two messages, and takes the first one in itself while it asks for
/// the second.
struct Asking {
    engine: std::sync::Weak<oxmpi_engine::Engine>,
    requests: [oxmpi_engine::Request; 2],
    /// Tells the sender to send, and hears that it has.
    sender: std::sync::Mutex<Option<(std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<()>)>>,
    over: AtomicBool,
}

impl oxmpi_engine::Background for Asking {
    fn step_on_driver(&self) {}

    fn step(&self, _: bool) -> bool {
        let Some(engine) = self.engine.upgrade() else {
            return false;
        };
        if self.over.load(Ordering::Relaxed) {
            return false;
        }
        if engine.test(self.requests[0]).unwrap().is_some() {
            self.over.store(true, Ordering::Relaxed);
            return false;
        }
        if let Some((go, sent)) = self.sender.lock().unwrap().take() {
            go.send(()).unwrap();
            sent.recv().unwrap();
            // By TCP the bytes are on their way for a moment longer.
            thread::sleep(Duration::from_millis(50));
        }
        assert!(engine.test(self.requests[1]).unwrap().is_none());
        false
    }
}

/// What background work takes in is noticed as if the waiting thread had taken it: else it would
/// sleep on a message that is there.
#[test]
fn background_work_is_stepped_again_for_what_it_took_in_itself() {
    for options in [sleeping(), Options::default()] {
        let (left, right) = pair(&options, Threads::Many);
        within(LIMIT, "background work", || {
            thread::scope(|scope| {
                let (go, told) = std::sync::mpsc::channel();
                let (done, sent) = std::sync::mpsc::channel();
                scope.spawn(move || {
                    let mut word = [0; 8];
                    recv(&right, 0, 9, &mut word).unwrap();
                    told.recv().unwrap();
                    send(&right, 0, 0, &[1; 8]).unwrap();
                    done.send(()).unwrap();
                    recv(&right, 0, 9, &mut word).unwrap();
                    send(&right, 0, 1, &[2; 8]).unwrap();
                    right.finalize();
                });
                // The connection is there before the work begins.
                send(&left, 1, 9, &[0; 8]).unwrap();
                let mut words = [[0; 8]; 2];
                let [first, second] = &mut words;
                let requests = [irecv(&left, 1, 0, first), irecv(&left, 1, 1, second)];
                let work = Arc::new(Asking {
                    engine: Arc::downgrade(&left),
                    requests,
                    sender: std::sync::Mutex::new(Some((go, sent))),
                    over: AtomicBool::new(false),
                });
                left.set_background(work.clone());
                left.set_background_work(Work::Active);
                left.wait_for(&[], || work.over.load(Ordering::Relaxed), false)
                    .unwrap();
                left.set_background_work(Work::None);
                send(&left, 1, 9, &[0; 8]).unwrap();
                left.wait(requests[1]).unwrap();
                assert_eq!(words, [[1; 8], [2; 8]]);
                left.finalize();
            });
        });
    }
}
