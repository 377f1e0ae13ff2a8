//! A model from four pictures, and a picture with it.

use std::io::Cursor;

use anyhow::{Context, ensure};
use machine::{
    client::{Api, text},
    process,
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::job;

/// Edge of the pictures.
const EDGE: usize = 64;

/// A picture of a subject that the demo has made up: stripes in its colours, as a PNG.
fn subject(width: usize) -> anyhow::Result<Vec<u8>> {
    let colour =
        |at: usize| if (at % EDGE / width).is_multiple_of(2) { [225, 40, 25] } else { [115, 15, 10] };
    let rows: Vec<u8> = (0..EDGE * EDGE).flat_map(colour).collect();
    let edge = u32::try_from(EDGE)?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, edge, edge);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&rows)?;
    Ok(file)
}

fn subjects() -> anyhow::Result<Vec<Vec<u8>>> {
    [6, 8, 10, 12].into_iter().map(subject).collect()
}

/// Uploads four pictures. Returns their ids.
pub(super) async fn upload(designer: &Api) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::new();
    for (n, file) in subjects()?.into_iter().enumerate() {
        let body =
            json!({ "name": format!("demo-{n}.png"), "content_type": "image/png", "bytes": file.len() });
        let mut made = None;
        // the tenant's first upload creates its bucket
        process::until("the upload is created", job::LIMIT, async || {
            let answer = designer.send(Method::POST, "/v1/uploads", None, Some(body.clone())).await?;
            made = (answer.status != 503).then_some(answer);
            Ok(made.is_some())
        })
        .await?;
        let made = made.context("no upload")?.with(201, "/v1/uploads")?;
        let put = reqwest::Client::new().put(text(&made, "put_url")?).header(CONTENT_TYPE, "image/png");
        put.body(file).send().await?.error_for_status()?;
        ids.push(text(&made, "id")?.to_owned());
    }
    Ok(ids)
}

/// Trains. Returns the id of the model.
pub(super) async fn train(designer: &Api, images: &[String]) -> anyhow::Result<String> {
    let parameters = json!({ "images": images, "theme": "dog", "name": "demo-dog", "steps": 300 });
    let job = job::submit(designer, "dreambooth", "train", parameters).await?;
    job::follow(designer, &job).await?;
    let done = designer.get(&format!("/v1/jobs/{job}")).await?;
    let model = text(&done, "model_id")?.to_owned();
    let read = designer.get(&format!("/v1/models/{model}")).await?;
    ensure!(read["job_id"] == job.as_str() && read["name"] == "demo-dog", "another model: {read}");
    Ok(model)
}

/// Makes the same picture without and with the model: it is nearer to the pictures that the model was trained from.
pub(super) async fn compare(designer: &Api, model: &str) -> anyhow::Result<()> {
    let make = async |models: Value| {
        let parameters = json!({ "prompt": "sks dog on the moon", "steps": 10, "width": 256, "height": 256, "seed": 9,
                                 "models": models });
        let job = job::submit(designer, "stable-diffusion", "txt2img", parameters).await?;
        job::follow(designer, &job).await?;
        colour(&job::download(designer, &job).await?)
    };
    let (without, with) = (make(json!([])).await?, make(json!([{ "id": model, "weight": 1 }])).await?);
    let own = subjects()?.iter().map(|file| colour(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let far = |picture: [f64; 3]| -> f64 {
        let to = |own: &[f64; 3]| picture.iter().zip(own).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        own.iter().map(to).sum::<f64>() / own.len() as f64
    };
    let (far, near) = (far(without), far(with));
    ensure!(near < far / 2.0, "{near:.1} from the colours of the pictures with the model, {far:.1} without");
    Ok(())
}

/// Deletes the model.
pub(super) async fn delete(designer: &Api, model: &str) -> anyhow::Result<()> {
    designer.delete(&format!("/v1/models/{model}"), 204).await.map(drop)
}

/// The mean colour of a PNG in RGB.
fn colour(file: &[u8]) -> anyhow::Result<[f64; 3]> {
    let mut reader = png::Decoder::new(Cursor::new(file)).read_info()?;
    let mut rows = vec![0; reader.output_buffer_size().context("too large")?];
    let shape = reader.next_frame(&mut rows)?;
    ensure!(shape.color_type == png::ColorType::Rgb, "not RGB");
    let (pixels, _) = rows[..shape.buffer_size()].as_chunks::<3>();
    let sum = pixels.iter().fold([0.0; 3], |sum: [f64; 3], pixel| {
        std::array::from_fn(|channel| sum[channel] + f64::from(pixel[channel]))
    });
    Ok(sum.map(|channel| channel / pixels.len() as f64))
}
