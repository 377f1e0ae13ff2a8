//! The HTTP API: `/sdapi/v1/…` as in AUTOMATIC1111's WebUI, our page, the gallery and the WebSockets.

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::checkpoints::{MODEL, MODEL_HASH, title};
use crate::refusal::{broken, fail, invalid};
use crate::settings::Format;
use crate::state::AppState;
use crate::txt2img::{SAMPLERS, txt2img};
use crate::{gallery, img2img, page};

pub(crate) fn router(app: AppState) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/internal/ping", get(async || Json(json!({}))))
        .route("/sdapi/v1/txt2img", post(txt2img))
        .route("/sdapi/v1/img2img", post(img2img::img2img).layer(DefaultBodyLimit::max(img2img::MAX_BODY)))
        .route("/sdapi/v1/progress", get(progress))
        .route("/sdapi/v1/interrupt", post(interrupt))
        .route("/sdapi/v1/options", get(options).post(set_options))
        .route("/sdapi/v1/sd-models", get(models))
        .route("/sdapi/v1/refresh-checkpoints", post(refresh_checkpoints))
        .route("/sdapi/v1/samplers", get(samplers))
        .route("/sdapi/v1/loras", get(loras))
        .route("/sdapi/v1/refresh-loras", post(refresh_loras))
        .route("/gallery", get(list))
        .route("/gallery/{name}", get(show))
        .route("/ws/progress", get(ws_progress))
        .route("/ws/echo", get(ws_echo))
        .fallback(async || fail(StatusCode::NOT_FOUND, "Not Found"))
        .with_state(app)
}

/// The supported options. Others are refused, because they would have no effect.
pub(crate) fn default_options() -> Map<String, Value> {
    let Value::Object(map) = json!({
        "samples_save": true,
        "samples_format": "png",
        "outdir_txt2img_samples": "",
        "sd_model_checkpoint": title(MODEL),
        "sd_checkpoint_hash": MODEL_HASH,
        "enable_pnginfo": true,
        "show_progressbar": true,
        "CLIP_stop_at_last_layers": 1,
    }) else {
        return Map::new();
    };
    map
}

#[derive(Deserialize)]
struct ProgressQuery {
    #[serde(default)]
    skip_current_image: bool,
}

async fn progress(State(app): State<AppState>, Query(query): Query<ProgressQuery>) -> Response {
    let now = app.jobs.watch().borrow().clone();
    let image = now
        .preview
        .as_ref()
        .filter(|_| !query.skip_current_image)
        .and_then(|p| Format::of(&app.options())?.encode((p.0, p.1, &p.2), None).ok())
        .map(|file| BASE64.encode(file));
    let mut body = json!(now);
    body["current_image"] = json!(image);
    body["textinfo"] = Value::Null;
    Json(body).into_response()
}

async fn interrupt(State(app): State<AppState>) -> Json<Value> {
    app.jobs.interrupt();
    Json(json!({}))
}

async fn options(State(app): State<AppState>) -> Response {
    let mut map = app.options().clone();
    map["outdir_txt2img_samples"] = json!(app.gallery.folder());
    Json(map).into_response()
}

async fn set_options(State(app): State<AppState>, body: Bytes) -> Response {
    let changes: Map<String, Value> = match serde_json::from_slice(&body) {
        Ok(map) => map,
        Err(error) => return invalid("body", &error.to_string()),
    };
    let mut map = app.options();
    if let Some(unknown) = changes.keys().find(|key| !map.contains_key(*key)) {
        return invalid(unknown, "not an option of this stand-in");
    }
    map.extend(changes);
    Json(Value::Null).into_response()
}

async fn models(State(app): State<AppState>) -> Json<Value> {
    Json(app.checkpoints.list())
}

async fn refresh_checkpoints(State(app): State<AppState>) -> Response {
    match tokio::task::spawn_blocking(move || app.checkpoints.refresh()).await {
        Ok(()) => Json(Value::Null).into_response(),
        Err(error) => broken(&error.into()),
    }
}

async fn samplers() -> Json<Value> {
    let all = SAMPLERS.map(|(name, alias)| json!({ "name": name, "aliases": [alias], "options": {} }));
    Json(Value::from(all.to_vec()))
}

async fn loras(State(app): State<AppState>) -> Json<Value> {
    let all = app.loras.list().into_iter().map(
        |(name, path, metadata)| json!({ "name": name, "alias": name, "path": path, "metadata": metadata }),
    );
    Json(all.collect())
}

async fn refresh_loras(State(app): State<AppState>) -> Response {
    match tokio::task::spawn_blocking(move || app.loras.refresh()).await {
        Ok(()) => Json(Value::Null).into_response(),
        Err(error) => broken(&error.into()),
    }
}

async fn index(State(app): State<AppState>) -> Html<String> {
    Html(page::render(&app.version, MODEL))
}

async fn list(State(app): State<AppState>) -> Response {
    match tokio::task::spawn_blocking(move || app.gallery.newest(gallery::SHOWN)).await {
        Ok(Ok(names)) => Json(json!({ "items": names })).into_response(),
        Ok(Err(error)) => broken(&error.into()),
        Err(error) => broken(&error.into()),
    }
}

async fn show(State(app): State<AppState>, Path(name): Path<String>) -> Response {
    match tokio::task::spawn_blocking(move || {
        let file = app.gallery.read(&name);
        (name, file)
    })
    .await
    {
        Ok((name, Some(file))) => {
            let media_type = if name.ends_with(".jpg") { "image/jpeg" } else { "image/png" };
            ([(header::CONTENT_TYPE, media_type)], file).into_response()
        }
        _ => fail(StatusCode::NOT_FOUND, "File not found"),
    }
}

async fn ws_progress(State(app): State<AppState>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(move |socket| converse(socket, app, true))
}

async fn ws_echo(State(app): State<AppState>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(move |socket| converse(socket, app, false))
}

/// Echoes every text and binary message; with `push`, also sends the progress whenever it changes.
async fn converse(mut socket: WebSocket, mut app: AppState, push: bool) {
    let mut progress = app.jobs.watch();
    if push {
        progress.mark_changed();
    }
    loop {
        let reply = tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(text @ Message::Text(_))) => text,
                Some(Ok(binary @ Message::Binary(_))) => binary,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            changed = progress.changed(), if push => {
                if changed.is_err() {
                    return;
                }
                Message::Text(json!(*progress.borrow_and_update()).to_string().into())
            }
            _ = app.stopping.changed() => Message::Close(None),
        };
        let last = matches!(reply, Message::Close(_));
        if socket.send(reply).await.is_err() || last {
            return;
        }
    }
}
