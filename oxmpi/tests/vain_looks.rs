//! A program that looks for messages in a loop gives way to the rank that it waits for.

use std::process::Command;

use oxmpi::{Communicator, op};

const ROUNDS: u64 = 200;
/// Looks for one message, on average: a time slice without a yield has some 100 000 of them.
const LOOKS_MAX: u64 = 2000;

/// With `yield`, two ranks on one CPU are treated as if the launcher knew of it.
const SETTINGS: [oxmpi_harness::Setting; 1] =
    [&[("OXMPI_SHARED_MEMORY", "on"), ("OXMPI_WAIT", "yield")]];

/// Puts all ranks on the CPU where rank 0 runs. False where that is not permitted.
fn share_a_cpu(world: &Communicator<'_>) -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(") ").next().unwrap();
    // The field `processor` of proc_pid_stat(5), counted from the one behind the name.
    let mut cpu = [fields.split(' ').nth(36).unwrap().parse::<u32>().unwrap()];
    world.bcast(&mut cpu, 0).unwrap();
    let (cpu, pid) = (cpu[0].to_string(), std::process::id().to_string());
    let moved = Command::new("taskset").args(["-apc", &cpu, &pid]).output();
    let moved = moved.is_ok_and(|output| output.status.success());
    world.allreduce_one(u32::from(moved), op::Min).unwrap() == 1
}

oxmpi_harness::ranks! {
    fn looks_in_a_loop_give_way([2], SETTINGS) {
        let mpi = oxmpi::init().unwrap();
        let world = mpi.world();
        if !share_a_cpu(&world) {
            return eprintln!("SKIPPED: taskset cannot move this process");
        }
        let mut looks = 0;
        for round in 0..ROUNDS {
            if world.rank() == 1 {
                let (asked, _) = world.recv_one::<u64>(0, 1).unwrap();
                world.send(&[asked + 1], 0, 2).unwrap();
                continue;
            }
            let mut answer = [0];
            if round % 2 == 0 {
                world.send(&[round], 1, 1).unwrap();
                while world.iprobe(1, 2).unwrap().is_none() {
                    looks += 1;
                }
                world.recv(&mut answer, 1, 2).unwrap();
            } else {
                oxmpi::scope(|s| {
                    let mut request = world.irecv(s, &mut answer, 1, 2)?;
                    world.send(&[round], 1, 1)?;
                    while request.test()?.is_none() {
                        looks += 1;
                    }
                    Ok::<(), oxmpi::Error>(())
                })
                .unwrap();
            }
            assert_eq!(answer, [round + 1]);
        }
        assert!(looks <= ROUNDS * LOOKS_MAX, "{} looks for each message", looks / ROUNDS);
    }
}
