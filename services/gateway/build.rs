//! Embeds the services' committed OpenAPI documents, which `/openapi.json` is merged from, and their public operations.

use std::{env, fmt::Write, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../openapi");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut code = String::from("&[\n");
    let mut operations = String::from("&[\n");
    for service in platform::routed().map(|service| &service.name) {
        let file = folder.join(format!("{service}.json"));
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
            let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
            for (path, methods) in document["paths"].as_object().into_iter().flatten() {
                if path.starts_with("/internal") {
                    continue;
                }
                for method in
                    methods.as_object().into_iter().flatten().map(|(method, _)| method.to_uppercase())
                {
                    writeln!(operations, "    ({service:?}, {method:?}, {path:?}),")?;
                }
            }
            writeln!(code, "    ({service:?}, include_str!({:?})),", file.canonicalize()?)?;
        } else {
            println!("cargo::warning=openapi/{service}.json is missing: run `cargo xtask openapi`");
        }
    }
    code.push_str("]\n");
    operations.push_str("]\n");
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("documents.rs"), code)?;
    fs::write(Path::new(&out).join("operations.rs"), operations)?;
    Ok(())
}
