//! Prints `docs/PROBLEMS.md`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(atelier_api::problem::reference().as_bytes())
}
