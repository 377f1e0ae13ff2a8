//! Embeds the services' committed OpenAPI documents, which `/openapi.json` is merged from.

use std::{env, fmt::Write, fs, path::Path};

/// The services whose operations the gateway forwards, in the order of the merged document.
const SERVICES: [&str; 4] = ["identity", "stock", "gpu", "storage"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../openapi");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut code = String::from("&[\n");
    for service in SERVICES {
        let file = folder.join(format!("{service}.json"));
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
            writeln!(code, "    ({service:?}, include_str!({:?})),", file.canonicalize()?)?;
        } else {
            println!("cargo::warning=openapi/{service}.json is missing: run `cargo xtask openapi`");
        }
    }
    code.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("documents.rs"), code)?;
    Ok(())
}
