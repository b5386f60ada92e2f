//! Every program as real ranks: it finds its result correct, and says what is wrong with its
//! arguments.

use std::process::ExitCode;

use oxmpi_harness::run_and_judge;

/// Makes a test that runs a program at some sizes and looks for words in what it says.
macro_rules! program {
    ($test:ident, $name:literal, $args:expr, $sizes:expr, $words:expr) => {
        #[test]
        fn $test() {
            let path = concat!(module_path!(), "::", stringify!($test));
            let args: Vec<String> = $args.iter().map(|arg: &&str| arg.to_string()).collect();
            let body = || {
                let code = oxmpi_programs::run($name, &args).expect("the program exists");
                assert!(code == ExitCode::SUCCESS, "{} failed", $name);
            };
            run_and_judge(path, &$sizes, body, |outcome, text| {
                assert!(outcome.success(), "{text}");
                for word in $words {
                    assert!(text.contains(word), "'{word}' is missing in: {text}");
                }
            });
        }
    };
}

program!(
    pi,
    "pi",
    ["--intervals", "1000000"],
    [1, 2, 3, 8],
    ["pi = 3.14159265", "correct", "1000000 intervals in"]
);
program!(
    pi_with_fewer_intervals_than_ranks,
    "pi",
    ["--intervals=3"],
    [4],
    ["correct"]
);
program!(
    what_a_run_costs,
    "pi",
    ["--counts", "--intervals=1000"],
    [2],
    ["correct", "{\"ranks\":2,\"seconds\":", "\"packets\":"]
);
program!(
    mm,
    "mm",
    ["--size", "130", "--strip", "7"],
    [1, 2, 3, 6],
    ["equals the serial one: correct"]
);
program!(
    mm_large,
    "mm",
    ["--size", "600"],
    [3],
    ["random vectors (Freivalds): correct"]
);
program!(
    mm_with_more_workers_than_strips,
    "mm",
    ["--size", "3"],
    [6],
    ["correct"]
);
program!(
    lu,
    "lu",
    ["--size", "150", "--block", "8"],
    [1, 2, 3, 5],
    ["scaled residual 0.", "correct"]
);
program!(
    lu_with_fewer_blocks_than_ranks,
    "lu",
    ["--size", "10", "--block", "32"],
    [3],
    ["correct"]
);
program!(
    is_class_s,
    "is",
    ["--class", "S"],
    [1, 2, 3, 4, 7],
    ["50 of 50", "sorted", "verification successful"]
);
program!(
    is_class_w,
    "is",
    ["--class=w"],
    [2, 3],
    ["50 of 50", "sorted", "verification successful"]
);
program!(
    is_class_a,
    "is",
    ["--class=a"],
    [4],
    ["50 of 50", "sorted", "verification successful"]
);
program!(
    ring,
    "ring",
    ["--rounds", "50"],
    [1, 2, 5],
    ["every byte checked: correct", "µs per hop"]
);
program!(
    ring_of_long_messages,
    "ring",
    ["--rounds=3", "--bytes=1000000"],
    [1, 3],
    ["correct"]
);
program!(help, "is", ["--help"], [2], ["--class WORD"]);

#[test]
fn wrong_arguments_are_one_message_and_status_two() {
    let path = concat!(
        module_path!(),
        "::wrong_arguments_are_one_message_and_status_two"
    );
    let body = || {
        let args = ["--intervals".to_string(), "0".to_string()];
        let code = oxmpi_programs::run("pi", &args).expect("the program exists");
        let rank = std::env::var("OXMPI_RANK").unwrap();
        assert!(
            code == if rank == "0" {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            }
        );
    };
    run_and_judge(path, &[3], body, |outcome, text| {
        assert!(outcome.success(), "{text}");
        let message =
            "pi: --intervals 0 is out of range: 1 to 1000000000000; --help lists the options";
        assert_eq!(text.matches(message).count(), 1, "{text}");
    });
}
