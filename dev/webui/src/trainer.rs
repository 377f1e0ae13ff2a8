//! The trainer: fits an adapter to pictures, by the contract of command engines (docs/JOBS.md). In the folder of a job:
//!
//! - `input.json`: `parameters`, and `uploads`: the paths of the pictures;
//! - `outputs/`: files that become results: the model, a preview, the losses;
//! - `checkpoint`: the state of the fit, replaced as a whole; if it exists, the fit continues from it;
//! - `progress`: a line of JSON for each report.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::json;

use painter::{
    Painter,
    fit::{Fit, Picture},
    picture,
};

/// Steps between checkpoints.
const CHECKPOINT: u32 = 50;
/// Steps between reports.
const REPORT: u32 = 5;
/// Edge and steps of the preview.
const PREVIEW: (usize, u32) = (256, 20);

/// How a training has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The results are there. Exit code 0.
    Done,
    /// Told to stop; the checkpoint is there. Exit code 75.
    Stopped,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The inputs are not valid: another try has the same end. Exit code 2.
    #[error("{0:#}")]
    Input(anyhow::Error),
    /// Anything else. Exit code 1.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

#[derive(Deserialize)]
struct Job {
    parameters: Parameters,
    uploads: Vec<PathBuf>,
}

/// The parameters of `dreambooth.train` that this trainer uses.
#[derive(Deserialize)]
struct Parameters {
    theme: String,
    token: String,
    steps: u32,
    rank: usize,
    seed: u64,
}

/// Trains in a folder until it is done, or `stop` is set.
///
/// # Errors
/// If the inputs are not valid, or a file cannot be read or written.
pub fn run(folder: &Path, stop: &AtomicBool) -> Result<Outcome, Error> {
    let text = fs::read(folder.join("input.json")).context("input.json")?;
    let Job { parameters, uploads } =
        serde_json::from_slice(&text).context("input.json").map_err(Error::Input)?;
    let mut pictures = Vec::new();
    for path in &uploads {
        let file = fs::read(folder.join(path)).with_context(|| path.display().to_string())?;
        let read = Picture::from_png(&file);
        let name = || format!("{} cannot be read; this stand-in reads PNG and JPEG", path.display());
        pictures.push(read.with_context(name).map_err(Error::Input)?);
    }
    let prompt = format!("{} {}", parameters.token, parameters.theme);
    let mut fit = Fit::new(&prompt, pictures, parameters.rank, parameters.seed).map_err(Error::Input)?;
    let progress = OpenOptions::new().create(true).append(true).open(folder.join("progress"));
    let mut progress = progress.context("progress")?;
    let checkpoint = folder.join("checkpoint");
    if let Ok(state) = fs::read(&checkpoint) {
        fit.resume(&state).context("the checkpoint")?;
    }
    let mut losses = vec!["step,loss".to_owned()];
    while fit.step() < parameters.steps {
        if stop.load(Ordering::Relaxed) {
            save(&fit, &checkpoint, &mut progress)?;
            return Ok(Outcome::Stopped);
        }
        let loss = fit.advance();
        losses.push(format!("{},{loss}", fit.step()));
        if fit.step().is_multiple_of(REPORT) || fit.step() == parameters.steps {
            report(&mut progress, &json!({ "step": fit.step(), "steps": parameters.steps, "loss": loss }))?;
        }
        if fit.step().is_multiple_of(CHECKPOINT) {
            save(&fit, &checkpoint, &mut progress)?;
        }
    }
    deliver(&fit, &parameters, &prompt, &losses, &folder.join("outputs"))?;
    Ok(Outcome::Done)
}

fn report(progress: &mut File, line: &serde_json::Value) -> anyhow::Result<()> {
    progress.write_all(format!("{line}\n").as_bytes()).context("progress")
}

fn save(fit: &Fit, path: &Path, progress: &mut File) -> anyhow::Result<()> {
    replace(path, &fit.checkpoint())?;
    report(progress, &json!({ "checkpoint": fit.step() }))
}

/// Writes a file as a whole: readers see the old content or the new one.
fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let aside = path.with_extension("part");
    fs::write(&aside, content)
        .and_then(|()| fs::rename(&aside, path))
        .with_context(|| path.display().to_string())
}

fn deliver(
    fit: &Fit,
    parameters: &Parameters,
    prompt: &str,
    losses: &[String],
    outputs: &Path,
) -> anyhow::Result<()> {
    fs::create_dir_all(outputs).context("outputs")?;
    let adapter = fit.adapter()?;
    let metadata = BTreeMap::from([
        ("theme".to_owned(), parameters.theme.clone()),
        ("token".to_owned(), parameters.token.clone()),
        ("steps".to_owned(), parameters.steps.to_string()),
    ]);
    replace(&outputs.join("model.safetensors"), &adapter.to_safetensors(&metadata)?)?;
    let (edge, steps) = PREVIEW;
    let mut painter = Painter::new(prompt, "", parameters.seed, 7.0, (edge, edge), steps);
    painter.adapt(Arc::new(adapter), 1.0);
    (0..steps).for_each(|step| painter.step(step));
    let (width, height, rgb) = painter.render(1, 0.0);
    replace(&outputs.join("preview.png"), &picture::png((width, height, &rgb), None)?)?;
    replace(&outputs.join("loss.csv"), (losses.join("\n") + "\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(folder: &Path, steps: u32) {
        let rgb: Vec<u8> = (0..64 * 64).flat_map(|at| [200, (at % 64 * 2) as u8, 30]).collect();
        fs::create_dir_all(folder.join("inputs")).unwrap();
        fs::write(folder.join("inputs/0.png"), picture::png((64, 64, &rgb), None).unwrap()).unwrap();
        let input = json!({
            "parameters": { "theme": "dog", "token": "sks", "steps": steps, "rank": 8, "seed": 7, "images": ["upl_x"] },
            "uploads": ["inputs/0.png"],
        });
        fs::write(folder.join("input.json"), input.to_string()).unwrap();
    }

    fn model(folder: &Path) -> Vec<u8> {
        fs::read(folder.join("outputs/model.safetensors")).unwrap()
    }

    #[test]
    fn a_stopped_training_goes_on_from_its_checkpoint_to_the_same_bytes() {
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        job(whole.path(), 120);
        let go = AtomicBool::new(false);
        assert_eq!(run(whole.path(), &go).unwrap(), Outcome::Done);
        // as by a kill after the second checkpoint: what a shorter training has left
        job(parts.path(), 100);
        assert_eq!(run(parts.path(), &go).unwrap(), Outcome::Done);
        job(parts.path(), 120);
        fs::remove_dir_all(parts.path().join("outputs")).unwrap();
        assert_eq!(run(parts.path(), &AtomicBool::new(true)).unwrap(), Outcome::Stopped);
        assert!(!parts.path().join("outputs").exists());
        assert_eq!(run(parts.path(), &go).unwrap(), Outcome::Done);
        assert_eq!(model(parts.path()), model(whole.path()));
        let lines = fs::read_to_string(whole.path().join("progress")).unwrap();
        assert!(lines.contains("{\"checkpoint\":100}\n"), "{lines}");
        assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
        for name in ["preview.png", "loss.csv"] {
            assert!(whole.path().join("outputs").join(name).exists());
        }
    }

    #[test]
    fn a_file_that_is_no_picture_is_the_users_mistake() {
        let folder = tempfile::tempdir().unwrap();
        job(folder.path(), 10);
        fs::write(folder.path().join("inputs/0.png"), "GIF89a").unwrap();
        let refused = run(folder.path(), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(refused, Error::Input(_)), "{refused}");
    }
}
