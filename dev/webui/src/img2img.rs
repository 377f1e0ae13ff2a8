//! `/sdapi/v1/img2img`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::init::Init;
use crate::refusal::{broken, exception, invalid};
use crate::state::AppState;
use crate::txt2img::{self, Txt2Img};

/// Maximum number of bytes of a request: two pictures in base64.
pub(crate) const MAX_BODY: usize = 96 << 20;

/// The supported fields. Others are ignored, as the real API ignores unknown fields.
#[derive(Deserialize)]
struct Img2Img {
    #[serde(flatten)]
    common: Txt2Img,
    /// In base64; PNG or JPEG only, unlike the real API.
    #[serde(default)]
    init_images: Option<Vec<String>>,
    /// White where the picture is repainted.
    #[serde(default)]
    mask: Option<String>,
    #[serde(default = "denoising_strength")]
    denoising_strength: f32,
    #[serde(default)]
    resize_mode: u32,
    /// Whether the answer repeats them.
    #[serde(default)]
    include_init_images: bool,
}

fn denoising_strength() -> f32 {
    0.75
}

pub(crate) async fn img2img(State(app): State<AppState>, body: Bytes) -> Response {
    let made = async || {
        let (mut parameters, request) = txt2img::read::<Img2Img>(&body)?;
        let mut recipe = txt2img::recipe(&request.common, &app)?;
        recipe.init = Some(Arc::new(init(&request, (recipe.width, recipe.height)).await?));
        if !request.include_init_images {
            (parameters["init_images"], parameters["mask"]) = (Value::Null, Value::Null);
        }
        txt2img::make(&app, &request.common, recipe, parameters).await
    };
    made().await.unwrap_or_else(|refusal| refusal)
}

/// Reads the picture and the mask.
async fn init(request: &Img2Img, size: (usize, usize)) -> Result<Init, Response> {
    let Some(images) = &request.init_images else {
        return Err(exception(StatusCode::NOT_FOUND, "Init image not found"));
    };
    let [image] = &images[..] else { return Err(invalid("init_images", "must be one picture")) };
    let strength = request.denoising_strength;
    if !(0.0..=1.0).contains(&strength) {
        return Err(invalid("denoising_strength", "must be from 0 to 1"));
    }
    if request.resize_mode != 0 {
        return Err(invalid("resize_mode", "this stand-in stretches only (0)"));
    }
    let (image, mask) = (file(image)?, request.mask.as_deref().map(file).transpose()?);
    let reading = tokio::task::spawn_blocking(move || Init::read(&image, mask.as_deref(), strength, size));
    let read = reading.await.map_err(|error| broken(&error.into()))?;
    read.map_err(|_| unreadable())
}

/// The bytes of a picture in base64, perhaps as a data URL.
fn file(text: &str) -> Result<Vec<u8>, Response> {
    let text = match text.strip_prefix("data:image/") {
        Some(url) => url.split_once(',').map_or("", |(_, data)| data),
        None => text,
    };
    BASE64.decode(text).map_err(|_| unreadable())
}

fn unreadable() -> Response {
    exception(StatusCode::INTERNAL_SERVER_ERROR, "Invalid encoded image")
}
