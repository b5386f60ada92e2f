//! `oxmpi`: the code is in the library; it goes by the name it was called by.

fn main() -> std::process::ExitCode {
    oxmpi_cli::main()
}
