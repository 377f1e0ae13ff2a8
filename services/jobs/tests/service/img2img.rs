//! Pictures from pictures: what a tenant may name, and what the runner makes of it.

use std::io::Cursor;

use ids::{TenantId, UploadId};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{Client, Response, eventually};

use crate::{
    fleet::reaches,
    runner::Studio,
    world::{World, pool},
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
    let world = World::new().await;
    let service = world.start().await;
    let _ = pool(&world.admin(&service)).await;
    let (member, stranger) =
        (world.member(&service, TenantId::new()), world.member(&service, TenantId::new()));
    let own = upload(&member, png(|_, _| [0; 3])).await;
    let foreign = upload(&stranger, png(|_, _| [0; 3])).await;
    let mut problems = Vec::new();
    for missing in [foreign, UploadId::new().to_string()] {
        for parameters in [json!({ "image": missing }), json!({ "image": own, "mask": missing })] {
            let refused = submit(&member, parameters).await.expect_problem(422, "input-missing");
            assert_eq!(refused.body["inputs"], json!([missing]));
            problems.push(refused.str("detail").replace(&missing, "…"));
        }
    }
    assert!(problems.iter().all(|problem| *problem == problems[0]), "{problems:?}");
    let _ = submit(&member, json!({ "image": own })).await.expect(202);
    service.stop().await;
}
