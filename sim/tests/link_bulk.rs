//! Long transfers of the PM protocol: flows that share a bottleneck share it fairly, and the table
//! of throughput over loss in `docs/link.md` says what the code does.

use oxmpi_link::Recovery;
use oxmpi_sim::link::bulk::{Path, Transfer, jain};
use oxmpi_sim::link::scenario::MS;
use oxmpi_sim::link::table;

/// Each flow of a bottleneck gets its share, whatever the number of flows and however losses are
/// made good; also who comes when the others have filled the queue.
#[test]
fn flows_at_a_bottleneck_share_it_fairly() {
    for recovery in [Recovery::GoBackN, Recovery::Selective] {
        for (path, flows) in [
            (Path::Ip, 2),
            (Path::Ip, 8),
            (Path::Ip, 32),
            (Path::Lan, 4),
            (Path::Lan, 16),
        ] {
            for seed in 1..=2 {
                share(Transfer {
                    path,
                    recovery,
                    congestion: true,
                    loss_ppm: 0,
                    flows,
                    seed,
                });
            }
        }
    }
}

fn share(transfer: Transfer) {
    let times = match transfer.path {
        Path::Lan => [50 * MS, 150 * MS],
        Path::Ip => [500 * MS, 1500 * MS],
    };
    let bits_per_second = match transfer.path {
        Path::Lan => 10e9,
        Path::Ip => 1e9,
    };
    let shares = transfer
        .bytes(times[0], times[1])
        .unwrap_or_else(|what| panic!("{transfer:?}: {what}"));
    let index = jain(&shares);
    assert!(
        index > 0.9,
        "{transfer:?}: Jain's index is {index:.3}, bytes {shares:?}"
    );
    // Selective repeat wastes nothing; what go-back-N repeats in vain takes its share of the trunk.
    let enough = match transfer.recovery {
        Recovery::GoBackN => 0.5,
        Recovery::Selective => 0.9,
    };
    let used = shares.iter().sum::<u64>() as f64 * 8e9 / times[1] as f64 / bits_per_second;
    assert!(
        used > enough,
        "{transfer:?}: only {used:.2} of the trunk are used, bytes {shares:?}"
    );
}

#[test]
fn the_table_of_the_page_is_what_the_code_does() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/link.md");
    let page = std::fs::read_to_string(page).expect("the page is part of the repository");
    let generated = table::generate().expect("long transfers find nothing");
    assert_eq!(
        table::shown(&page),
        Some(generated.as_str()),
        "to write the new table: cargo run --release -p oxmpi-sim -- link-table docs/link.md; look at the sentences around it, too"
    );
}
