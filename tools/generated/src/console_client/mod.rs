//! `cargo xtask console-client`: the console's client, from the OpenAPI document that the gateway serves.

mod operations;
mod problems;
mod schema;
mod text;
mod types;

use serde_json::Value;

use crate::generate::{self, Args};

const FOLDER: &str = "console/src/api/generated";

/// Writes the client to the console.
pub async fn run(args: &Args) -> anyhow::Result<()> {
    let document = generate::output_of(&machine::programs::folder()?, "atelier-gateway", &["openapi"])?;
    let document: Value = serde_json::from_str(&document)?;
    let files = emit(&document)?.map(|(name, text)| (xtask::root().join(FOLDER).join(name), text));
    generate::put(args, "cargo xtask console-client", &files)
}

/// The names of the files, and their text.
fn emit(document: &Value) -> anyhow::Result<[(&'static str, String); 3]> {
    Ok([
        ("types.ts", types::emit(document)?),
        ("operations.ts", operations::emit(document)?),
        ("problems.ts", problems::emit(document)?),
    ])
}

/// The first line of each file.
const HEADER: &str =
    "// Generated from the gateway's OpenAPI document by `cargo xtask console-client`: do not edit.\n";

/// The members of an object, in their order; none if it is none.
fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// The elements of an array; none if it is none.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
