//! A process with more rights than its caller takes no files and no commands from its environment.
//! Alone in its process: the switch is for good.

use oxmpi_settings::{ALL, WAIT, distrust_files};

#[test]
fn files_and_commands_count_as_not_set() {
    let everything = |_: &str| Some("spin");
    distrust_files();
    for setting in ALL {
        let given = setting.read_from(everything);
        assert_eq!(
            given.is_set(),
            !setting.kind.names_files(),
            "{}",
            setting.name
        );
    }
    assert_eq!(WAIT.read_from(everything).choice(), Ok("spin"));
}
