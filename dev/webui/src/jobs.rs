//! The job queue: one picture at a time, as with the queue lock of the real WebUI, and its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::{Mutex, watch};

use crate::checkpoints::MODEL;
use crate::init::Init;
use crate::log::say;
use painter::{Painter, adapter::Adapter};

/// The validated parameters of one request.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) prompt: String,
    /// The prompt without the names of adapters.
    pub(crate) words: String,
    /// Adapters with their weights.
    pub(crate) adapters: Vec<(Arc<Adapter>, f32)>,
    pub(crate) negative_prompt: String,
    pub(crate) seed: u64,
    pub(crate) steps: u32,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) cfg_scale: f32,
    pub(crate) sampler_name: String,
    pub(crate) checkpoint: String,
    pub(crate) batch_size: u32,
    pub(crate) n_iter: u32,
    /// The input of img2img.
    pub(crate) init: Option<Arc<Init>>,
}

impl Recipe {
    /// The steps that are computed for one picture.
    fn sampling_steps(&self) -> u32 {
        self.init.as_ref().map_or(self.steps, |init| init.steps(self.steps))
    }

    /// The picture as it is now, with `left` of the noise.
    fn render(&self, painter: &Painter, every: usize, left: f32) -> (usize, usize, Vec<u8>) {
        let (width, height, mut rgb) = painter.render(every, left);
        if let Some(init) = &self.init {
            init.mix(&mut rgb, every);
        }
        (width, height, rgb)
    }
}

/// A finished picture: raw rows, and the seed that reproduces it.
pub(crate) struct Made {
    pub(crate) seed: u64,
    pub(crate) size: (usize, usize),
    pub(crate) rgb: Vec<u8>,
}

/// The progress that `/sdapi/v1/progress` returns and the WebSocket sends.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Progress {
    pub(crate) progress: f32,
    pub(crate) eta_relative: f32,
    pub(crate) state: State,
    /// A small preview as raw rows; encoded on request only.
    #[serde(skip)]
    pub(crate) preview: Option<Arc<(usize, usize, Vec<u8>)>>,
}

/// The `state` object of the real API.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct State {
    pub(crate) skipped: bool,
    pub(crate) interrupted: bool,
    pub(crate) stopping_generation: bool,
    pub(crate) job: String,
    pub(crate) job_count: u32,
    pub(crate) job_timestamp: String,
    pub(crate) job_no: u32,
    pub(crate) sampling_step: u32,
    pub(crate) sampling_steps: u32,
}

/// The queue and its state.
pub(crate) struct Jobs {
    turn: Mutex<()>,
    progress: watch::Sender<Progress>,
    interrupted: AtomicBool,
    shutting_down: AtomicBool,
}

impl Jobs {
    pub(crate) fn new() -> Self {
        Self {
            turn: Mutex::new(()),
            progress: watch::Sender::default(),
            interrupted: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
        }
    }

    /// Follows the progress.
    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Stops the current picture at its current step.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// Stops this and every later picture.
    pub(crate) fn shut_down(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.shutting_down.load(Ordering::Relaxed)
    }

    /// Waits in the queue, then computes the pictures on a blocking thread. An interrupted job returns the pictures so
    /// far, as the real WebUI does. A disconnected caller does not stop the job.
    pub(crate) async fn make(self: Arc<Self>, recipe: Recipe) -> anyhow::Result<Vec<Made>> {
        let work = tokio::spawn(async move {
            let _turn = self.turn.lock().await;
            let jobs = self.clone();
            tokio::task::spawn_blocking(move || jobs.paint(&recipe)).await
        });
        Ok(work.await??)
    }

    fn paint(&self, recipe: &Recipe) -> Vec<Made> {
        self.interrupted.store(false, Ordering::Relaxed);
        let (count, steps) = (recipe.batch_size * recipe.n_iter, recipe.sampling_steps());
        let total = (count * steps) as f32;
        let started = Instant::now();
        let stamp = jiff::Zoned::now().strftime("%Y%m%d%H%M%S").to_string();
        // another checkpoint makes other pictures
        let words = match recipe.checkpoint.as_str() {
            MODEL => recipe.words.clone(),
            other => format!("{} {other}", recipe.words),
        };
        // until the first step, `sampling_steps` is that of the request before, as in the real WebUI (seen with 1.10.1)
        let before = self.progress.borrow().state.sampling_steps;
        self.progress.send_replace(Progress {
            progress: 0.01,
            state: State {
                job: "scripts_txt2img".to_owned(),
                job_count: count,
                job_timestamp: stamp.clone(),
                sampling_steps: before,
                ..State::default()
            },
            ..Progress::default()
        });
        let mut made = Vec::new();
        for index in 0..count {
            let mut painter = Painter::new(
                &words,
                &recipe.negative_prompt,
                recipe.seed + u64::from(index),
                recipe.cfg_scale,
                (recipe.width, recipe.height),
                steps,
            );
            for (adapter, weight) in &recipe.adapters {
                painter.adapt(Arc::clone(adapter), *weight);
            }
            let shrink = (recipe.width.max(recipe.height) / 192).max(1);
            let mut left = 1.0;
            for step in 0..steps {
                if step > 0 && self.stopped() {
                    break;
                }
                painter.step(step);
                left = 1.0 - (step + 1) as f32 / steps as f32;
                let done = (index * steps + step + 1) as f32 / total;
                self.progress.send_replace(Progress {
                    progress: done,
                    eta_relative: started.elapsed().as_secs_f32() * (1.0 - done) / done,
                    state: State {
                        job: format!("Batch {} out of {count}", index + 1),
                        interrupted: self.stopped(),
                        job_count: count,
                        job_timestamp: stamp.clone(),
                        job_no: index,
                        sampling_step: step + 1,
                        sampling_steps: steps,
                        ..State::default()
                    },
                    preview: Some(Arc::new(recipe.render(&painter, shrink, left))),
                });
            }
            let (width, height, rgb) = recipe.render(&painter, 1, left);
            made.push(Made { seed: recipe.seed + u64::from(index), size: (width, height), rgb });
            if self.stopped() {
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f32();
        say(&format!(
            "100%|{}| {}/{} [{seconds:.2}s, {:.1}it/s]",
            "█".repeat(20),
            made.len() as u32 * steps,
            count * steps,
            total / seconds.max(0.001),
        ));
        let idle = State {
            interrupted: self.stopped(),
            job_timestamp: stamp,
            job_no: made.len() as u32,
            sampling_steps: steps,
            ..State::default()
        };
        self.progress.send_replace(Progress { state: idle, ..Progress::default() });
        made
    }
}
