//! Refuses an inconsistent list: nothing that depends on it compiles.

#[expect(unreachable_pub, reason = "the library exports it")]
#[path = "src/list.rs"]
mod list;

fn main() {
    println!("cargo::rerun-if-changed=../../platform.toml");
    if let Err(error) = list::parse(include_str!("../../platform.toml")) {
        for line in error.lines() {
            println!("cargo::error=platform.toml: {line}");
        }
    }
}
