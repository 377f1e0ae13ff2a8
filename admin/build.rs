//! Embeds the migrations of the services with a schema.

use std::{env, fmt::Write, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=../migrations");
    let mut code = String::from("&[\n");
    for name in platform::stateful().map(|service| &service.name) {
        writeln!(code, "    ({name:?}, sqlx::migrate!({:?})),", format!("../migrations/{name}"))?;
    }
    code.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("schemas.rs"), code)?;
    Ok(())
}
