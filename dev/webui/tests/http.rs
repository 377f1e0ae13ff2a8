//! The stand-in through its HTTP API, as the gateway and the demo use it.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;

struct Server {
    address: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<anyhow::Result<()>>,
    folder: tempfile::TempDir,
    http: reqwest::Client,
}

impl Server {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let config = atelier_webui::Config {
            output_dir: folder.path().join("outputs/txt2img-images"),
            lora_dir: Some(folder.path().join("loras")),
            checkpoint_dir: Some(folder.path().join("checkpoints")),
            version: "1.6".into(),
        };
        let task = tokio::spawn(atelier_webui::serve(config, listener, async {
            let _ = stopped.await;
        }));
        Self { address, stop: Some(stop), task, folder, http: reqwest::Client::new() }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.http.get(self.url(path)).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.json().await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let answer = self.http.post(self.url(path)).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }
}

fn picture(body: &Value) -> Vec<u8> {
    BASE64.decode(body["images"][0].as_str().unwrap()).unwrap()
}

/// The RGB rows of a PNG.
fn pixels(png: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    pixels
}

/// A square PNG of these RGB rows, uncompressed.
fn square(edge: u32, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, edge, edge);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::NoCompression);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    file
}

#[tokio::test]
async fn a_picture_is_computed_saved_and_listed() {
    let server = Server::start().await;
    let request = json!({ "prompt": "mountains at sunset", "negative_prompt": "people", "steps": 20,
        "seed": 42, "sampler_name": "Euler a", "some_extension": {"x": 1} });
    let started = Instant::now();
    let (status, body) = server.post("/sdapi/v1/txt2img", request.clone()).await;
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["parameters"], request);
    let info: Value = serde_json::from_str(body["info"].as_str().unwrap()).unwrap();
    assert_eq!((&info["seed"], &info["all_seeds"]), (&json!(42), &json!([42])));

    let png = picture(&body);
    let reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (512, 512));
    let text = &reader.info().uncompressed_latin1_text[0];
    assert_eq!(text.keyword, "parameters");
    assert_eq!(text.text, info["infotexts"][0].as_str().unwrap());
    let begin = "mountains at sunset\nNegative prompt: people\nSteps: 20, Sampler: Euler a, Schedule type: Automatic, ";
    assert!(text.text.starts_with(begin), "{}", text.text);
    assert_eq!(info["denoising_strength"], Value::Null);
    let idle = server.get("/sdapi/v1/progress").await;
    assert_eq!(
        (&idle["state"]["job_count"], &idle["state"]["job_no"], &idle["state"]["sampling_steps"]),
        (&json!(0), &json!(1), &json!(20))
    );

    assert_eq!(server.get("/gallery").await["items"], json!(["00000-42.png"]));
    let saved = server.folder.path().join("outputs/txt2img-images/00000-42.png");
    assert_eq!(std::fs::read(saved).unwrap(), png);
    let shown = server.http.get(server.url("/gallery/00000-42.png")).send().await.unwrap();
    assert_eq!(shown.bytes().await.unwrap(), png);

    let (_, again) = server.post("/sdapi/v1/txt2img", request.clone()).await;
    assert_eq!(picture(&again), png, "same words and seed, same picture");
    let mut other = request;
    other["seed"] = json!(43);
    let (_, other) = server.post("/sdapi/v1/txt2img", other).await;
    assert_ne!(picture(&other), png);
    assert_eq!(
        server.get("/gallery").await["items"],
        json!(["00002-43.png", "00001-42.png", "00000-42.png"])
    );
}

#[tokio::test]
async fn other_endpoints_respond_like_the_real_webui() {
    let server = Server::start().await;
    assert_eq!(server.get("/internal/ping").await, json!({}));
    assert_eq!(server.get("/sdapi/v1/sd-models").await[0]["model_name"], "atelier-cpu-stand-in");
    assert_eq!(server.get("/sdapi/v1/samplers").await[0]["name"], "Euler a");
    let idle = server.get("/sdapi/v1/progress").await;
    assert_eq!(idle["progress"], json!(0.0));
    assert_eq!(idle["state"]["sampling_steps"], json!(0));
    assert_eq!(idle["current_image"], Value::Null);
    let (status, body) = server.post("/sdapi/v1/options", json!({ "CLIP_stop_at_last_layers": 2 })).await;
    assert_eq!((status, body), (200, Value::Null));
    assert_eq!(server.get("/sdapi/v1/options").await["CLIP_stop_at_last_layers"], json!(2));
    let page = server.http.get(server.url("/")).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("CPU stand-in") && page.contains("version 1.6"));
}

#[tokio::test]
async fn invalid_input_is_refused_without_effect() {
    let server = Server::start().await;
    for (body, status) in [
        (json!({ "steps": 0 }), 422),
        (json!({ "steps": -5 }), 422),
        (json!({ "steps": "many" }), 422),
        (json!({ "width": 100_000 }), 422),
        (json!({ "width": 2048, "height": 2048, "n_iter": 5 }), 422),
        (json!({ "seed": -2 }), 422),
        (json!({ "sampler_name": "nope" }), 404),
        (json!([1]), 422),
    ] {
        let (got, answer) = server.post("/sdapi/v1/txt2img", body.clone()).await;
        assert_eq!(got, status, "{body} -> {answer}");
    }
    let torn = server.http.post(server.url("/sdapi/v1/txt2img")).body("{").send().await.unwrap();
    assert_eq!(torn.status(), 422);
    let (status, _) = server.post("/sdapi/v1/options", json!({ "nope": 1 })).await;
    assert_eq!(status, 422);
    for path in ["/gallery/..%2f..%2fsecret-1.png", "/gallery/1-2.jpg", "/sdapi/v1/nope"] {
        assert_eq!(server.http.get(server.url(path)).send().await.unwrap().status(), 404, "{path}");
    }
    assert_eq!(server.get("/gallery").await["items"], json!([]));
}

#[tokio::test]
async fn the_websocket_pushes_progress_and_echoes() {
    let server = Server::start().await;
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/ws/progress", server.address)).await.unwrap();
    let first = socket.next().await.unwrap().unwrap();
    let first: Value = serde_json::from_str(first.to_text().unwrap()).unwrap();
    assert_eq!(first["state"]["job"], "");
    let post = server.post("/sdapi/v1/txt2img", json!({ "steps": 30, "save_images": false }));
    let follow = async {
        loop {
            let message = socket.next().await.unwrap().unwrap();
            let now: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
            if now["state"]["sampling_step"].as_u64().unwrap() > 0 {
                assert_eq!(now["state"]["sampling_steps"], 30);
                return;
            }
        }
    };
    tokio::join!(post, follow);

    let (mut echo, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/ws/echo", server.address)).await.unwrap();
    for message in [Message::text("hello"), Message::binary(vec![0, 255, 7])] {
        echo.send(message.clone()).await.unwrap();
        assert_eq!(echo.next().await.unwrap().unwrap(), message);
    }
}

#[tokio::test]
async fn a_stop_ends_the_picture_early_and_closes_the_sockets() {
    let mut server = Server::start().await;
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/ws/progress", server.address)).await.unwrap();
    let http = server.http.clone();
    let url = server.url("/sdapi/v1/txt2img");
    let long = tokio::spawn(async move {
        let body = json!({ "steps": 150, "width": 2048, "height": 2048, "save_images": false });
        http.post(url).json(&body).send().await.unwrap().status()
    });
    loop {
        let message = socket.next().await.unwrap().unwrap();
        if message.to_text().unwrap().contains("Batch") {
            break;
        }
    }
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(20), server.task).await.unwrap().unwrap().unwrap();
    assert_eq!(long.await.unwrap(), 200);
    while let Some(Ok(message)) = socket.next().await {
        if message.is_close() {
            break;
        }
    }
}

/// An adapter that makes everything redder.
fn red() -> Vec<u8> {
    use painter::adapter::{Adapter, FEATURES};
    let mut numbers = vec![0.0; Adapter::size(1)];
    (numbers[0], numbers[FEATURES]) = (1.0, 0.4);
    Adapter::new(1, numbers).unwrap().to_safetensors(&std::collections::BTreeMap::new()).unwrap()
}

#[tokio::test]
async fn an_adapter_that_the_prompt_names_changes_the_picture() {
    let server = Server::start().await;
    let make = async |prompt: &str| {
        let request =
            json!({ "prompt": prompt, "seed": 42, "width": 64, "height": 64, "save_images": false });
        let (status, body) = server.post("/sdapi/v1/txt2img", request).await;
        assert_eq!(status, 200, "{body}");
        pixels(&picture(&body))
    };
    let plain = make("a fox").await;
    assert_eq!(make("a fox <lora:red:1>").await, plain, "not there yet");
    assert_eq!(server.get("/sdapi/v1/loras").await, json!([]));

    let folder = server.folder.path().join("loras");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("red.safetensors"), red()).unwrap();
    std::fs::write(folder.join("other.safetensors"), b"no adapter").unwrap();
    assert_eq!(make("a fox <lora:red:1>").await, plain, "not read yet");
    let refreshed = server.post("/sdapi/v1/refresh-loras", Value::Null).await;
    assert_eq!(refreshed, (200, Value::Null));
    let loras = server.get("/sdapi/v1/loras").await;
    assert_eq!((loras.as_array().unwrap().len(), &loras[0]["name"]), (1, &json!("red")));
    assert_eq!(loras[0]["metadata"]["base_model"], "atelier-cpu-stand-in");

    let redder = make("a fox <lora:red:1>").await;
    let sum =
        |pixels: &[u8], channel| pixels.iter().skip(channel).step_by(3).map(|c| u64::from(*c)).sum::<u64>();
    assert!(sum(&redder, 0) > sum(&plain, 0));
    assert_eq!(sum(&redder, 1), sum(&plain, 1));
    assert_eq!(make("a fox <lora:red:0>").await, plain, "the weight 0 changes nothing");

    std::fs::remove_file(folder.join("red.safetensors")).unwrap();
    let _ = server.post("/sdapi/v1/refresh-loras", Value::Null).await;
    assert_eq!(make("a fox <lora:red:1>").await, redder, "kept from the previous prompt");
    assert_eq!(make("a fox").await, plain);
    assert_eq!(make("a fox <lora:red:1>").await, plain, "gone");
}

/// Rows of a square of 64 pixels that is darker on the left.
fn shaded() -> Vec<u8> {
    (0..64 * 64).flat_map(|n| [(n % 64 * 2) as u8, 60, 200]).collect()
}

/// The mean difference of two pictures.
fn difference(one: &[u8], other: &[u8]) -> f64 {
    assert_eq!(one.len(), other.len());
    let sum: u64 = one.iter().zip(other).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.len() as f64
}

#[tokio::test]
async fn img2img_repaints_a_picture_by_strength_and_mask() {
    let server = Server::start().await;
    let init = square(64, &shaded());
    let request = json!({ "prompt": "a fox", "seed": 42, "width": 64, "height": 64, "save_images": false,
                          "init_images": [BASE64.encode(&init)] });
    let answer = async |change: Value| {
        let mut request = request.clone();
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let (status, body) = server.post("/sdapi/v1/img2img", request).await;
        assert_eq!(status, 200, "{body}");
        body
    };
    let make = async |change: Value| pixels(&picture(&answer(change).await));
    assert_eq!(make(json!({ "denoising_strength": 0 })).await, shaded());
    let (_, painted) = server.post("/sdapi/v1/txt2img", request.clone()).await;
    assert_eq!(make(json!({ "denoising_strength": 1 })).await, pixels(&picture(&painted)));
    let weak = difference(&make(json!({ "denoising_strength": 0.2 })).await, &shaded());
    let strong = difference(&make(json!({})).await, &shaded());
    assert!(weak > 1.0 && strong > 2.0 * weak, "{weak} {strong}");

    // white on the left
    let mask: Vec<u8> = (0..64 * 64).flat_map(|n| [if n % 64 < 32 { 255 } else { 0 }; 3]).collect();
    let masked = make(json!({ "mask": BASE64.encode(square(64, &mask)) })).await;
    let half = |rows: &[u8], at: usize| -> Vec<u8> {
        rows.chunks(192).flat_map(|row| row[at..at + 96].to_vec()).collect()
    };
    assert_eq!(half(&masked, 96), half(&shaded(), 96));
    assert_eq!(half(&masked, 0), half(&make(json!({})).await, 0));

    // a picture of another size is stretched, and one may be a data URL
    let small = format!("data:image/png;base64,{}", BASE64.encode(square(2, &[90; 12])));
    let stretched = make(json!({ "init_images": [small], "denoising_strength": 0 })).await;
    assert_eq!(stretched, vec![90; 64 * 64 * 3]);

    let body = answer(json!({ "denoising_strength": 0.5 })).await;
    assert_eq!(
        (&body["parameters"]["init_images"], &body["parameters"]["mask"]),
        (&Value::Null, &Value::Null)
    );
    let info: Value = serde_json::from_str(body["info"].as_str().unwrap()).unwrap();
    assert_eq!(info["denoising_strength"], json!(0.5));
    assert!(info["infotexts"][0].as_str().unwrap().contains("Denoising strength: 0.5, "), "{info}");
    let body = answer(json!({ "include_init_images": true })).await;
    assert_eq!(body["parameters"]["init_images"][0], json!(BASE64.encode(&init)));
}

#[tokio::test]
async fn img2img_takes_large_pictures_and_refuses_what_is_none() {
    let server = Server::start().await;
    // larger than the usual limit of a body
    let large = BASE64.encode(square(1_200, &vec![90; 1_200 * 1_200 * 3]));
    assert!(large.len() > 4 << 20, "{}", large.len());
    let small = BASE64.encode(square(2, &[90; 12]));
    for (change, status, detail) in [
        (json!({ "init_images": [large] }), 200, Value::Null),
        (json!({}), 404, json!("Init image not found")),
        (json!({ "init_images": null }), 404, json!("Init image not found")),
        (json!({ "init_images": ["bm90IGEgcGljdHVyZQ=="] }), 500, json!("Invalid encoded image")),
        (json!({ "init_images": ["?"] }), 500, json!("Invalid encoded image")),
        (json!({ "init_images": [small], "mask": "?" }), 500, json!("Invalid encoded image")),
    ] {
        let mut request =
            json!({ "prompt": "a fox", "steps": 1, "width": 64, "height": 64, "save_images": false });
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let (got, answer) = server.post("/sdapi/v1/img2img", request).await;
        assert_eq!((got, &answer["detail"]), (status, &detail));
    }
    for (field, value) in [
        ("init_images", json!([])),
        ("denoising_strength", json!(1.5)),
        ("denoising_strength", json!(-0.1)),
        ("resize_mode", json!(1)),
        ("steps", json!(0)),
    ] {
        let mut request = json!({ "prompt": "a fox", "init_images": [small] });
        request[field] = value;
        let (got, answer) = server.post("/sdapi/v1/img2img", request).await;
        assert_eq!((got, &answer["detail"][0]["loc"]), (422, &json!(["body", field])));
    }
}

#[tokio::test]
async fn pictures_have_the_format_of_the_options() {
    let server = Server::start().await;
    let make = async |method: &str, change: Value| {
        let mut request = json!({ "prompt": "a fox", "steps": 1, "width": 64, "height": 64, "seed": 5 });
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        server.post(&format!("/sdapi/v1/{method}"), request).await
    };
    let is_jpeg = |file: &[u8]| file.starts_with(b"\xff\xd8\xff");
    let jpg = json!({ "samples_format": "jpg" });
    // overridden options apply to the file only: they are restored before the answer is encoded
    let (status, answer) = make("txt2img", json!({ "override_settings": jpg })).await;
    assert_eq!(status, 200, "{answer}");
    assert!(!is_jpeg(&picture(&answer)));
    let saved = server.get("/gallery").await["items"][0].as_str().unwrap().to_owned();
    assert_eq!(saved, "00000-5.jpg");
    let shown = server.http.get(server.url(&format!("/gallery/{saved}"))).send().await.unwrap();
    assert_eq!(shown.headers()["content-type"], "image/jpeg");
    assert!(is_jpeg(&shown.bytes().await.unwrap()));

    let stay = json!({ "override_settings": jpg, "override_settings_restore_afterwards": false });
    let jpeg = picture(&make("txt2img", stay).await.1);
    assert!(is_jpeg(&jpeg));
    assert_eq!(server.get("/sdapi/v1/options").await["samples_format"], "jpg");
    let (status, answer) = make("img2img", json!({ "init_images": [BASE64.encode(&jpeg)] })).await;
    assert_eq!((status, is_jpeg(&picture(&answer))), (200, true));
    let cut = BASE64.encode(&jpeg[..jpeg.len() / 2]);
    let (status, answer) = make("img2img", json!({ "init_images": [cut] })).await;
    assert_eq!((status, &answer["detail"]), (500, &json!("Invalid encoded image")));

    let (status, _) = server.post("/sdapi/v1/options", json!({ "samples_format": "webp" })).await;
    assert_eq!(status, 200);
    let (status, answer) = make("txt2img", json!({})).await;
    assert_eq!((status, &answer["detail"]), (500, &json!("Invalid image format")));
}

#[tokio::test]
async fn checkpoints_are_those_of_the_folder_and_make_other_pictures() {
    let server = Server::start().await;
    let names = async || {
        let all = server.get("/sdapi/v1/sd-models").await;
        let all = all.as_array().unwrap().clone();
        all.iter().map(|one| one["model_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // it answers after it has read the folder
    assert_eq!(names().await, ["atelier-cpu-stand-in"]);
    let folder = server.folder.path().join("checkpoints");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("XL base_1.0.safetensors"), "").unwrap();
    assert_eq!(names().await, ["atelier-cpu-stand-in"], "the list is that of the last look");
    assert_eq!(server.post("/sdapi/v1/refresh-checkpoints", json!({})).await.0, 200);
    assert_eq!(names().await, ["XL base_1.0", "atelier-cpu-stand-in"]);
    let make = async |checkpoint: Value| {
        let request = json!({ "prompt": "a fox", "steps": 1, "width": 64, "height": 64, "seed": 5, "save_images": false,
                              "override_settings": { "sd_model_checkpoint": checkpoint } });
        let (status, answer) = server.post("/sdapi/v1/txt2img", request).await;
        assert_eq!(status, 200, "{answer}");
        let info: Value = serde_json::from_str(answer["info"].as_str().unwrap()).unwrap();
        (pixels(&picture(&answer)), info["sd_model_name"].as_str().unwrap().to_owned())
    };
    let own = make(json!("atelier-cpu-stand-in [0000000000]")).await;
    let other = make(json!("XL base_1.0 [0000000000]")).await;
    assert_eq!((own.1.as_str(), other.1.as_str()), ("atelier-cpu-stand-in", "XL base_1.0"));
    assert!(own.0 != other.0);
    assert_eq!(make(json!("none")).await, own, "an unknown one is ignored");
}
