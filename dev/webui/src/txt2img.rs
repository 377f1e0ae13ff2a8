//! `/sdapi/v1/txt2img`, and the parts shared with `img2img`: the fields, the computation and the response.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::checkpoints::{MODEL, MODEL_HASH};
use crate::jobs::{Made, Recipe};
use crate::log::say;
use crate::refusal::{broken, exception, fail, invalid};
use crate::settings::{Format, Overrides};
use crate::state::AppState;

pub(crate) const SAMPLERS: [(&str, &str); 4] =
    [("Euler a", "k_euler_a"), ("Euler", "k_euler"), ("DPM++ 2M Karras", "k_dpmpp_2m_ka"), ("DDIM", "ddim")];
/// Maximum number of pixels in all pictures of one request, so that a small pod can compute them.
const MOST_PIXELS: u64 = 16 * 1024 * 1024;

/// The supported fields. Others are ignored, as the real API ignores unknown fields.
#[derive(Deserialize)]
#[serde(default)]
pub(crate) struct Txt2Img {
    prompt: String,
    negative_prompt: String,
    steps: u32,
    width: u32,
    height: u32,
    seed: i64,
    cfg_scale: f32,
    batch_size: u32,
    n_iter: u32,
    sampler_name: Option<String>,
    sampler_index: Option<String>,
    send_images: bool,
    /// Default true, unlike the real API (false): the purpose of this image is to keep pictures on the storage. A
    /// caller that wants the same from the real WebUI sends true.
    save_images: bool,
    #[serde(flatten)]
    overrides: Overrides,
}

impl Default for Txt2Img {
    fn default() -> Self {
        Self {
            prompt: String::new(),
            negative_prompt: String::new(),
            steps: 50,
            width: 512,
            height: 512,
            seed: -1,
            cfg_scale: 7.0,
            batch_size: 1,
            n_iter: 1,
            sampler_name: None,
            sampler_index: None,
            send_images: true,
            save_images: true,
            overrides: Overrides::default(),
        }
    }
}

pub(crate) fn recipe(request: &Txt2Img, app: &AppState) -> Result<Recipe, Response> {
    let within = |field, value: u32, low: u32, high: u32| {
        if (low..=high).contains(&value) {
            return Ok(value);
        }
        Err(invalid(field, &format!("must be from {low} to {high}")))
    };
    let sampler = request.sampler_name.as_deref().or(request.sampler_index.as_deref()).unwrap_or("Euler");
    if !SAMPLERS.iter().any(|(name, alias)| sampler == *name || sampler == *alias) {
        return Err(fail(StatusCode::NOT_FOUND, "Sampler not found"));
    }
    let seed = match request.seed {
        -1 => u64::from(rand::random::<u32>()),
        seed => u64::try_from(seed).map_err(|_| invalid("seed", "must be -1 or from 0 up"))?,
    };
    if !request.cfg_scale.is_finite() {
        return Err(invalid("cfg_scale", "must be a number"));
    }
    let (words, adapters) = app.loras.read(&request.prompt);
    // one that is not there is ignored, as in the real WebUI
    let options = request.overrides.apply(&app.options());
    let checkpoint = options["sd_model_checkpoint"].as_str().and_then(|name| app.checkpoints.find(name));
    let made = Recipe {
        prompt: request.prompt.clone(),
        words,
        adapters,
        negative_prompt: request.negative_prompt.clone(),
        seed: seed.min(u64::MAX / 2),
        steps: within("steps", request.steps, 1, 150)?,
        width: within("width", request.width, 16, 2048)? as usize,
        height: within("height", request.height, 16, 2048)? as usize,
        cfg_scale: request.cfg_scale,
        sampler_name: sampler.to_owned(),
        checkpoint: checkpoint.unwrap_or_else(|| MODEL.to_owned()),
        batch_size: within("batch_size", request.batch_size, 1, 8)?,
        n_iter: within("n_iter", request.n_iter, 1, 100)?,
        init: None,
    };
    let pixels = u64::from(request.width) * u64::from(request.height);
    if pixels * u64::from(request.batch_size) * u64::from(request.n_iter) > MOST_PIXELS {
        return Err(invalid("n_iter", "too many pixels in one request: fewer or smaller pictures"));
    }
    Ok(made)
}

fn infotext(recipe: &Recipe, seed: u64, version: &str) -> String {
    let mut text = recipe.prompt.clone();
    if !recipe.negative_prompt.is_empty() {
        text.push_str("\nNegative prompt: ");
        text.push_str(&recipe.negative_prompt);
    }
    let Recipe { steps, sampler_name, cfg_scale, width, height, checkpoint, .. } = recipe;
    text.push_str(&format!(
        "\nSteps: {steps}, Sampler: {sampler_name}, Schedule type: Automatic, CFG scale: {cfg_scale:?}, Seed: {seed}, Size: {width}x{height}, Model hash: {MODEL_HASH}, Model: {checkpoint}, "
    ));
    if let Some(init) = &recipe.init {
        text.push_str(&format!("Denoising strength: {}, ", init.strength));
    }
    text.push_str(&format!("Version: {version}"));
    text
}

/// Makes pictures from a text.
pub(crate) async fn txt2img(State(app): State<AppState>, body: Bytes) -> Response {
    let made = async || {
        let (parameters, request) = read::<Txt2Img>(&body)?;
        let recipe = recipe(&request, &app)?;
        make(&app, &request, recipe, parameters).await
    };
    made().await.unwrap_or_else(|refusal| refusal)
}

/// Reads a body. Also returns it as it is, for the answer.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<(Value, T), Response> {
    let parsed: Value = serde_json::from_slice(body)
        .map_err(|error| invalid("body", &format!("JSON decode error: {error}")))?;
    let request = T::deserialize(&parsed).map_err(|error| invalid("body", &error.to_string()))?;
    Ok((parsed, request))
}

/// Makes the pictures of a valid request, and answers it.
pub(crate) async fn make(
    app: &AppState,
    request: &Txt2Img,
    recipe: Recipe,
    parameters: Value,
) -> Result<Response, Response> {
    let method = if recipe.init.is_some() { "img2img" } else { "txt2img" };
    say(&format!(
        "{method}: {:?}, {} steps, {}x{}, seed {}",
        recipe.prompt, recipe.steps, recipe.width, recipe.height, recipe.seed
    ));
    let made = app.jobs.clone().make(recipe.clone()).await.map_err(|error| broken(&error))?;
    let formats = formats(app, &request.overrides)?;
    let (app, kept) = (app.clone(), request.save_images);
    let worked = tokio::task::spawn_blocking(move || {
        let (images, infotexts) = encode(&app, &recipe, &made, kept, formats)?;
        anyhow::Ok(answer(&app, &recipe, &made, &infotexts, images))
    });
    let (images, info) =
        worked.await.map_err(anyhow::Error::from).flatten().map_err(|error| broken(&error))?;
    let images = if request.send_images { images } else { Vec::new() };
    Ok(Json(json!({ "images": images, "parameters": parameters, "info": info })).into_response())
}

/// In which format pictures are saved, and in which they are sent.
fn formats(app: &AppState, overrides: &Overrides) -> Result<(Format, Format), Response> {
    let mut options = app.options();
    let applied = overrides.apply(&options);
    let saved = Format::of(&applied);
    if overrides.stay() {
        *options = applied;
    }
    let unknown = || exception(StatusCode::INTERNAL_SERVER_ERROR, "Invalid image format");
    Ok((saved.ok_or_else(unknown)?, Format::of(&options).ok_or_else(unknown)?))
}

fn encode(
    app: &AppState,
    recipe: &Recipe,
    made: &[Made],
    keep: bool,
    (saved, sent): (Format, Format),
) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let mut images = Vec::with_capacity(made.len());
    let mut infotexts = Vec::with_capacity(made.len());
    for one in made {
        let text = infotext(recipe, one.seed, &app.version);
        let encoded = |format: Format| format.encode((one.size.0, one.size.1, &one.rgb), Some(&text));
        if keep {
            let name = app.gallery.save(one.seed, saved.extension(), &encoded(saved)?)?;
            say(&format!("saved {}", app.gallery.folder().join(name).display()));
        }
        images.push(BASE64.encode(encoded(sent)?));
        infotexts.push(text);
    }
    Ok((images, infotexts))
}

/// The response body: the images, and `info` as a JSON string, as in the real API.
fn answer(
    app: &AppState,
    recipe: &Recipe,
    made: &[Made],
    infotexts: &[String],
    images: Vec<String>,
) -> (Vec<String>, String) {
    let seeds: Vec<u64> = made.iter().map(|one| one.seed).collect();
    let info = json!({
        "prompt": recipe.prompt,
        "all_prompts": vec![&recipe.prompt; seeds.len()],
        "negative_prompt": recipe.negative_prompt,
        "all_negative_prompts": vec![&recipe.negative_prompt; seeds.len()],
        "seed": recipe.seed,
        "all_seeds": seeds,
        "subseed": recipe.seed,
        "all_subseeds": seeds,
        "subseed_strength": 0,
        "width": recipe.width,
        "height": recipe.height,
        "sampler_name": recipe.sampler_name,
        "cfg_scale": recipe.cfg_scale,
        "steps": recipe.steps,
        "batch_size": recipe.batch_size,
        "restore_faces": false,
        "face_restoration_model": null,
        "sd_model_name": recipe.checkpoint,
        "sd_model_hash": MODEL_HASH,
        "denoising_strength": recipe.init.as_ref().map(|init| init.strength),
        "extra_generation_params": {},
        "index_of_first_image": 0,
        "infotexts": infotexts,
        "styles": [],
        "job_timestamp": jiff::Zoned::now().strftime("%Y%m%d%H%M%S").to_string(),
        "clip_skip": 1,
        "is_using_inpainting_conditioning": false,
        "version": &*app.version,
    });
    (images, info.to_string())
}
