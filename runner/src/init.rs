//! The initial picture and mask of a generation, from the inputs of its attempt.

use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use crate::{
    engine::Init,
    jobs_service::{Attempt, Error, Session},
    picture,
};

/// Downloads the inputs in the parameters.
///
/// # Errors
/// If one cannot be downloaded, or has other content than was announced.
pub(crate) async fn fetch(
    session: &Session,
    attempt: Attempt,
    parameters: &Map<String, Value>,
) -> Result<Init, Error> {
    let inputs = session.inputs(attempt).await?;
    let file = async |id: &Value, background: u8| -> Result<Bytes, Error> {
        let not_told = || Error::Unavailable(anyhow::anyhow!("the service does not tell where {id} is"));
        let mut files = inputs.uploads.iter().chain(&inputs.artifacts);
        let input = files.find(|input| input.id == *id).ok_or_else(not_told)?;
        let content = session.fetch(attempt, input).await?;
        let plain = spawn_blocking(move || picture::plain(content, background)).await;
        plain.map_err(|error| Error::Unavailable(error.into()))
    };
    let image = file(parameters.get("image").unwrap_or(&Value::Null), picture::WHITE).await?;
    let mask = match parameters.get("mask") {
        Some(mask) => Some(file(mask, picture::KEPT).await?),
        None => None,
    };
    Ok(Init { image, mask })
}
