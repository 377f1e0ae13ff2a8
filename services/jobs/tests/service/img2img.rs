//! Pictures from pictures: what a tenant may name, and what the runner makes of it.

use std::io::Cursor;

use ids::{ArtifactId, TenantId, UploadId};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, fox, pool},
    fleet::{Worker, put_as, reaches},
    runner::Studio,
};

/// Edge of the pictures.
const EDGE: usize = 64;

/// Submits a job with these parameters changed.
async fn submit(member: &Client, parameters: Value) -> Response {
    let mut all = json!({ "prompt": "a fox", "steps": 4, "width": EDGE, "height": EDGE, "seed": 7 });
    all.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
    let body = json!({ "application": "stable-diffusion", "method": "img2img", "parameters": all });
    member.post("/v1/jobs", body).await
}

/// A PNG whose pixels have these colours, by row and column.
fn png(colour: impl Fn(usize, usize) -> [u8; 3]) -> Vec<u8> {
    let pixels: Vec<u8> = (0..EDGE * EDGE).flat_map(|n| colour(n / EDGE, n % EDGE)).collect();
    let mut file = Vec::new();
    let edge = u32::try_from(EDGE).unwrap();
    let mut encoder = png::Encoder::new(&mut file, edge, edge);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    file
}

/// The RGB rows of a PNG.
fn pixels(file: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    pixels
}

/// Uploads a picture that is announced with this hash. Returns its id.
async fn upload_as(member: &Client, file: Vec<u8>, sha256: String) -> String {
    let body =
        json!({ "name": "init.png", "content_type": "image/png", "bytes": file.len(), "sha256": sha256 });
    let made = eventually("the upload is created", async || {
        let answer = member.post("/v1/uploads", body.clone()).await;
        (answer.status < 500).then_some(answer)
    })
    .await
    .expect(201);
    let put = reqwest::Client::new().put(made.str("put_url")).header("content-type", "image/png").body(file);
    assert_eq!(put.send().await.unwrap().status(), 200);
    made.str("id").to_owned()
}

async fn upload(member: &Client, file: Vec<u8>) -> String {
    let sha256 = hex::encode(Sha256::digest(&file));
    upload_as(member, file, sha256).await
}

/// Runs a job. Returns the pixels of its only result.
async fn run(studio: &Studio, parameters: Value) -> Vec<u8> {
    let job = submit(&studio.member, parameters).await.expect(202).str("id").to_owned();
    reaches(&studio.member, &job, "succeeded").await;
    let pictures = studio.pictures(&job).await;
    assert_eq!(pictures.len(), 1);
    pixels(&pictures[0])
}

/// The only result of a job.
async fn artifact(member: &Client, job: &str) -> String {
    let page = member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
    let [artifact] = &page.body["items"].as_array().unwrap()[..] else { panic!("not one: {}", page.text) };
    artifact["id"].as_str().unwrap().to_owned()
}

/// Has a job of the tenant done, with a result of 3 bytes. Returns the result.
async fn result_of(worker: &Worker, member: &Client, content_type: &str) -> String {
    let _ = member.post("/v1/jobs", fox()).await.expect(202);
    let work = worker.work().await;
    let mut file = json!({ "name": "0", "content_type": content_type, "bytes": 3 });
    let url = eventually("the upload has an address", async || {
        let answer = worker.call(&work, "uploads", file.clone()).await;
        (answer.status < 500).then_some(answer)
    })
    .await
    .expect(200);
    assert_eq!(put_as(url.str("url"), content_type, "abc").await, 200);
    file["sha256"] = json!("00".repeat(32));
    let _ = worker.call(&work, "complete", json!({ "artifacts": [file] })).await.expect(200);
    artifact(member, &work.job).await
}

/// The mean difference of two pictures.
fn difference(one: &[u8], other: &[u8]) -> f64 {
    assert_eq!(one.len(), other.len());
    let sum: u32 = one.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
    f64::from(sum) / f64::from(u32::try_from(one.len()).unwrap())
}

#[tokio::test]
async fn img2img_repaints_an_upload_by_strength_and_mask() {
    let mut studio = Studio::new().await;
    let init = png(|row, column| [row.to_le_bytes()[0] * 3, column.to_le_bytes()[0] * 2, 90]);
    let image = upload(&studio.member, init.clone()).await;
    // white on the left
    let mask = png(|_, column| if column < EDGE / 2 { [255; 3] } else { [0; 3] });
    let mask = upload(&studio.member, mask).await;
    let init = pixels(&init);
    assert_eq!(run(&studio, json!({ "image": image, "denoising_strength": 0 })).await, init);
    let weak = run(&studio, json!({ "image": image, "denoising_strength": 0.2 })).await;
    let strong = run(&studio, json!({ "image": image, "denoising_strength": 0.9 })).await;
    let (weak, distance) = (difference(&weak, &init), difference(&strong, &init));
    assert!(weak > 1.0 && distance > 2.0 * weak, "{weak} {distance}");

    let parameters = json!({ "image": image, "mask": mask, "denoising_strength": 0.9 });
    let masked = run(&studio, parameters).await;
    let half = |rows: &[u8], from: usize| -> Vec<u8> {
        rows.chunks(EDGE * 3).flat_map(|row| row[from * 3..(from + EDGE / 2) * 3].to_vec()).collect()
    };
    assert_eq!(half(&masked, EDGE / 2), half(&init, EDGE / 2), "it is kept where the mask is black");
    assert_eq!(half(&masked, 0), half(&strong, 0), "and repainted where it is white");
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn img2img_fails_without_another_try_if_its_picture_is_none() {
    let mut studio = Studio::new().await;
    let other = upload_as(&studio.member, png(|_, _| [0; 3]), "00".repeat(32)).await;
    let text = upload(&studio.member, b"not a picture".to_vec()).await;
    let picture = upload(&studio.member, png(|_, _| [0; 3])).await;
    for (parameters, code) in [
        (json!({ "image": other }), "input-missing"),
        (json!({ "image": text }), "invalid-parameters"),
        (json!({ "image": picture, "mask": text }), "invalid-parameters"),
    ] {
        let job = submit(&studio.member, parameters).await.expect(202).str("id").to_owned();
        let failed = reaches(&studio.member, &job, "failed").await;
        assert_eq!(
            (&failed.body["problem"]["code"], &failed.body["attempts"]),
            (&json!(code), &json!(1)),
            "{}",
            failed.text
        );
    }
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn img2img_needs_pictures_of_its_tenant() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let (member, stranger) =
        (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    let own = upload(&member, png(|_, _| [0; 3])).await;
    let foreign = upload(&stranger, png(|_, _| [0; 3])).await;
    let mut problems = Vec::new();
    let result = result_of(&worker, &stranger, "image/png").await;
    for missing in [foreign, result, UploadId::new().to_string(), ArtifactId::new().to_string()] {
        for parameters in [json!({ "image": missing }), json!({ "image": own, "mask": missing })] {
            let refused = submit(&member, parameters).await.expect_problem(422, "input-missing");
            assert_eq!(refused.body["inputs"], json!([missing]));
            problems.push(refused.str("detail").replace(&missing, "…"));
        }
    }
    assert!(problems.iter().all(|problem| *problem == problems[0]), "{problems:?}");
    let text = result_of(&worker, &member, "text/plain").await;
    submit(&member, json!({ "image": text })).await.expect_problem(422, "invalid-field");

    let result = result_of(&worker, &member, "image/png").await;
    let _ = submit(&member, json!({ "image": result, "mask": own })).await.expect(202);
    let (work, instruction) = worker.instruction().await;
    assert_eq!(
        (&instruction["parameters"]["image"], &instruction["parameters"]["mask"]),
        (&json!(result), &json!(own))
    );
    let inputs = worker.inputs(&work).await.expect(200);
    let ids = |kind: &str| -> Vec<Value> {
        inputs.body[kind].as_array().unwrap().iter().map(|input| input["id"].clone()).collect()
    };
    assert_eq!((ids("artifacts"), ids("uploads")), (vec![json!(result)], vec![json!(own)]));
    let content = reqwest::get(inputs.body["artifacts"][0]["url"].as_str().unwrap()).await.unwrap();
    assert_eq!(content.text().await.unwrap(), "abc");
    service.stop().await;
}

#[tokio::test]
async fn img2img_repaints_a_result_of_another_job() {
    let mut studio = Studio::new().await;
    let mut first = fox();
    first["parameters"] = json!({ "prompt": "a boat", "steps": 4, "width": EDGE, "height": EDGE });
    let first = studio.member.post("/v1/jobs", first).await.expect(202).str("id").to_owned();
    reaches(&studio.member, &first, "succeeded").await;
    let picture = pixels(&studio.pictures(&first).await[0]);
    let image = artifact(&studio.member, &first).await;
    assert_eq!(run(&studio, json!({ "image": image, "denoising_strength": 0 })).await, picture);
    assert_ne!(run(&studio, json!({ "image": image })).await, picture);

    // its job is deleted before the worker begins
    studio.stop().await;
    let job = submit(&studio.member, json!({ "image": image })).await.expect(202).str("id").to_owned();
    let mut conn = studio.fixture.db.admin().await;
    let old =
        sqlx::query("update jobs.jobs set ended_at = now() - interval '91 days' where ended_at is not null");
    old.execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    studio.service.process.workers.inject_panic("jobs.jobs.retention");
    eventually("the first job is deleted", async || {
        (studio.member.get(&format!("/v1/jobs/{first}")).await.status == 404).then_some(())
    })
    .await;
    studio.start();
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"]),
        (&json!("input-missing"), &json!(1))
    );
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn img2img_is_interrupted_when_it_is_cancelled() {
    let mut studio = Studio::new().await;
    let image = upload(&studio.member, png(|_, _| [90; 3])).await;
    let long = json!({ "image": image, "steps": 150, "width": 1024, "height": 1024, "images": 8 });
    let job = submit(&studio.member, long).await.expect(202).str("id").to_owned();
    studio.is_working(&job).await;
    let progress = studio.member.get(&format!("/v1/jobs/{job}")).await.expect(200).body["progress"].clone();
    assert_eq!(progress["steps"], json!(8 * 113), "three quarters of the steps are computed");
    let _ = studio.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    reaches(&studio.member, &job, "cancelled").await;
    assert_eq!(studio.pictures(&job).await.len(), 0);
    assert_eq!(
        run(&studio, json!({ "image": image, "denoising_strength": 0 })).await,
        vec![90; EDGE * EDGE * 3]
    );
    studio.stop().await;
    studio.service.stop().await;
}
