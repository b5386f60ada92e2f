//! Says what a rank learns from its launcher: rank, size, hosts, and the values of all other ranks.
//!
//! Start it with any launcher: `mpiexec.hydra -n 4 whoami`, `srun --mpi=pmi2 -n 4 whoami`, `mpirun
//! -n 4 whoami`. Every rank puts a value (longer than the protocols take in one piece), all meet in
//! a fence, and every rank reads what every other has put; a difference is an error. `--abort CODE`
//! lets the last rank end the job instead.

use std::process::ExitCode;

use oxmpi_pmi::{Client, PmiError};

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("whoami: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, PmiError> {
    let Some(mut client) = Client::from_env()? else {
        return Ok("no launcher: rank 0 of 1".to_owned());
    };
    let (rank, size) = (client.rank(), client.size());
    // A key is put once, so every fence has a key of its own.
    for key in ["oxmpi-first", "oxmpi-second"] {
        client.put(key, &value(rank, key))?;
        client.fence()?;
        for other in 0..size {
            let found = client.get(other, key)?;
            assert!(
                found == value(other, key),
                "rank {rank} finds {} bytes of rank {other} under {key}",
                found.len()
            );
        }
    }
    let missing = client.get(size - 1, "oxmpi-nothing");
    assert!(
        matches!(missing, Err(PmiError::NotThere { .. })),
        "{missing:?}"
    );
    let hosts = client.hosts()?;
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--abort") {
        let code = arguments
            .next()
            .and_then(|code| code.parse().ok())
            .unwrap_or(1);
        if rank + 1 == size {
            client.abort(code, "whoami was told to");
            std::process::exit(code);
        }
        // The launcher ends the others here.
        let _ = client.fence();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    let line = format!(
        "{}: rank {rank} of {size}, hosts {hosts:?}",
        client.launcher()
    );
    client.finalize()?;
    Ok(line)
}

fn value(rank: u32, key: &str) -> String {
    format!("{key}/{rank}:").repeat(200 + rank as usize)
}
