//! The program: `atelier-fetch`.

use std::process::ExitCode;

use atelier_fetch::File;
use clap::Parser;
use url::Url;

/// Downloads one file into the working directory, atomically.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Address of the file
    #[arg(long, env = "ATELIER_DOWNLOAD_URL", hide_env_values = true)]
    url: Url,
    /// Path of the file below the working directory
    #[arg(long)]
    path: String,
    /// Size of the file
    #[arg(long)]
    bytes: u64,
    /// SHA-256 of the file, in hexadecimal
    #[arg(long)]
    sha256: String,
    /// Name of the download, for the temporary file
    #[arg(long)]
    id: String,
    /// Number of the attempt
    #[arg(long)]
    attempt: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let Args { url, path, bytes, sha256, id, attempt } = Args::parse();
    service::start_logging();
    let file = File { path, bytes, sha256, id, attempt };
    let root = std::env::current_dir()?;
    match atelier_fetch::fetch(&service::http_client()?, url, &root, &file).await {
        Ok(()) => {
            tracing::info!(path = file.path, bytes, "the file is there");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            tracing::error!(path = file.path, %error, "no file");
            Ok(ExitCode::from(error.failure().code()))
        }
    }
}
