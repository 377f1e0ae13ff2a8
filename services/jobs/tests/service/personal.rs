//! From pictures to a model, and from the model to pictures: the runner, with the CPU stand-ins as trainer and as WebUI.

use std::sync::atomic::AtomicBool;

use atelier_webui::trainer;
use painter::fit::{Picture, distance};
use serde_json::{Value, json};
use testkit::Client;

use crate::{
    fixture::submit,
    fleet::reaches,
    runner::Studio,
    uploads::{create_of, pictures},
};

/// Stripes in red, as a PNG.
fn stripes(width: usize) -> Vec<u8> {
    let colour = |at: usize| if (at % 64 / width).is_multiple_of(2) { [225, 40, 25] } else { [115, 15, 10] };
    let rows: Vec<u8> = (0..64 * 64).flat_map(colour).collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 64, 64);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&rows).unwrap();
    file
}

/// Uploads pictures. Returns their ids.
async fn upload(member: &Client, files: &[Vec<u8>]) -> Vec<String> {
    let mut ids = Vec::new();
    for file in files {
        let made = create_of(member, "stripes.png", file.len()).await;
        let put = reqwest::Client::new().put(made.str("put_url")).header("content-type", "image/png");
        assert_eq!(put.body(file.clone()).send().await.unwrap().status(), 200);
        ids.push(made.str("id").to_owned());
    }
    ids
}

fn parameters(images: &[String], steps: u32) -> Value {
    json!({ "images": images, "theme": "dog", "token": "sks", "name": "Rex", "steps": steps, "rank": 8, "seed": 7 })
}

/// Submits a training. Returns the job.
async fn train(member: &Client, images: &[String], steps: u32) -> String {
    let parameters = parameters(images, steps);
    let body = json!({ "application": "dreambooth", "method": "train", "parameters": parameters });
    member.post("/v1/jobs", body).await.expect(202).str("id").to_owned()
}

async fn file(member: &Client, model: &str) -> Vec<u8> {
    let redirect = member.get(&format!("/v1/models/{model}/content")).await.expect(307);
    reqwest::get(redirect.header("location").unwrap()).await.unwrap().bytes().await.unwrap().to_vec()
}

#[tokio::test]
async fn pictures_with_the_model_are_nearer_to_those_it_was_trained_from() {
    let mut studio = Studio::new().await;
    let files = [stripes(6), stripes(8), stripes(10), stripes(12)];
    let images = upload(&studio.member, &files).await;
    let job = train(&studio.member, &images, 300).await;
    let done = reaches(&studio.member, &job, "succeeded").await;
    let model = done.str("model_id").to_owned();
    assert!(file(&studio.member, &model).await.len() > 600, "some 150 numbers and their names");
    assert_eq!(studio.pictures(&job).await.len(), 3, "the model, a preview and the losses");

    let picture = async |prompt: &str, models: Value| {
        let parameters =
            json!({ "prompt": prompt, "width": 128, "height": 128, "seed": 9, "models": models });
        let job = submit(&studio.member, json!({ "parameters": parameters })).await.str("id").to_owned();
        reaches(&studio.member, &job, "succeeded").await;
        studio.pictures(&job).await.remove(0)
    };
    let make = async |models: Value| picture("sks dog on the moon", models).await;
    let (plain, adapted) = (make(json!([])).await, make(json!([model])).await);
    // the WebUI keeps the adapter for the next prompt
    let named = picture(&format!("sks dog on the moon <lora:{model}:1>"), json!([])).await;
    let none = make(json!([{ "id": model, "weight": 0 }])).await;
    let own: Vec<Picture> = files.iter().map(|file| Picture::from_png(file).unwrap()).collect();
    let far = |file: &[u8]| distance(&Picture::from_png(file).unwrap(), &own);
    assert!(far(&adapted) < far(&plain) / 2.0, "with {}, without {}", far(&adapted), far(&plain));
    assert_eq!(far(&none), far(&plain), "the weight 0 changes nothing");
    assert_eq!(far(&named), far(&plain), "a job has only the models that it asks for");
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn an_interrupted_training_goes_on_and_makes_the_same_model() {
    const STEPS: u32 = 4_000;
    let mut studio = Studio::new().await;
    let files = [stripes(6), stripes(8), stripes(10)];
    let images = upload(&studio.member, &files).await;
    let job = train(&studio.member, &images, STEPS).await;
    studio.is_working(&job).await;
    studio.stop().await;
    reaches(&studio.member, &job, "queued").await;
    studio.start();
    let done = reaches(&studio.member, &job, "succeeded").await;
    assert_eq!(done.body["attempts"], 2);
    let losses = studio.pictures(&job).await.remove(0);
    let losses = String::from_utf8(losses).unwrap();
    let first = losses.lines().nth(1).unwrap().split(',').next().unwrap().parse::<u32>().unwrap();
    assert!(first > 1, "it began again");

    let whole = tempfile::tempdir().unwrap();
    for (n, file) in files.iter().enumerate() {
        std::fs::write(whole.path().join(n.to_string()), file).unwrap();
    }
    let input = json!({ "parameters": parameters(&images, STEPS), "uploads": ["0", "1", "2"] });
    std::fs::write(whole.path().join("input.json"), input.to_string()).unwrap();
    trainer::run(whole.path(), &AtomicBool::new(false)).unwrap();
    let uninterrupted = std::fs::read(whole.path().join("outputs/model.safetensors")).unwrap();
    assert!(file(&studio.member, done.str("model_id")).await == uninterrupted);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_file_that_is_no_picture_fails_the_training_at_once() {
    let mut studio = Studio::new().await;
    let images = pictures(&studio.member, 3).await;
    let job = train(&studio.member, &images, 10).await;
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"], &failed.body["model_id"]),
        (&json!("invalid-parameters"), &json!(1), &Value::Null)
    );
    studio.stop().await;
    studio.service.stop().await;
}
