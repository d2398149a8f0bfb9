//! The `pinfold` program. Everything is in the library; see [`pinfold`] for the map of the house.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    pinfold::cli::main()
}
