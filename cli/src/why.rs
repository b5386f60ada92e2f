//! `oxmpi why`: where the ranks of running jobs are.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::show::show_line;

pub(crate) fn print(process: Option<u32>) -> Result<ExitCode, Failure> {
    let lines = oxmpi_launch::why(process).map_err(|error| Failure::Message {
        text: error.to_string(),
        code: 1,
    })?;
    for line in lines {
        show_line!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}
