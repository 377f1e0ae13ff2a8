//! Stable Diffusion WebUI, by its API. It has one queue and one progress for all requests, so it gets one request at a time,
//! and a caller that hangs up does not stop it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use unicode_normalization::UnicodeNormalization as _;
use url::Url;

use crate::fault::{self, Fault};

/// Longest generation.
const LONGEST: Duration = Duration::from_secs(1_800);
/// Limit of other calls.
const SHORT: Duration = Duration::from_secs(10);
/// The checkpoint that the engine has when it starts, and returns to after each request.
const LOADED: &str = "default";
/// The engine's answer, with the status 500, to a file that is not a picture.
const UNREADABLE: [&str; 2] = ["Invalid encoded image", "image file is truncated"];
/// The engine's answer if the result of a checkpoint is not a number.
const NO_NUMBERS: &str = "NansException";
/// Codes of attempts: the engine or program has failed, its GPU does not work, there is too little memory.
pub(crate) const ENGINE_FAILED: &str = "engine-failed";
const GPU_FAILED: &str = "gpu-failed";
const OUT_OF_MEMORY: &str = "out-of-memory";

/// Why the engine has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Another try, perhaps elsewhere, may succeed.
    pub(crate) is_retryable: bool,
    /// The process fails with each request from now on.
    pub(crate) is_fatal: bool,
}

impl Failure {
    pub(crate) fn of_engine(message: impl Into<String>) -> Self {
        Self { code: ENGINE_FAILED, message: message.into(), is_retryable: true, is_fatal: false }
    }

    /// A failure with this message of an engine or program.
    pub(crate) fn of_fault(fault: Fault, text: &str) -> Self {
        let fatal = |code, message: String| Self { code, message, is_retryable: true, is_fatal: true };
        match fault {
            Fault::Memory => Self { code: OUT_OF_MEMORY, ..Self::of_engine("There is too little memory.") },
            Fault::Gpu => fatal(GPU_FAILED, format!("The GPU does not work: {text}")),
            Fault::Driver => fatal(GPU_FAILED, format!("The node's driver cannot be used: {text}")),
            Fault::Kernel => fatal(ENGINE_FAILED, format!("The GPU has stopped the program: {text}")),
            Fault::Assertion => Self {
                is_retryable: false,
                ..fatal(ENGINE_FAILED, format!("The program refuses its inputs while it computes: {text}"))
            },
        }
    }

    fn of_job(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), is_retryable: false, is_fatal: false }
    }
}

/// A checkpoint, as the engine lists it.
#[derive(Deserialize)]
struct Checkpoint {
    title: String,
    model_name: String,
}

/// The engine.
#[derive(Clone)]
pub(crate) struct WebUi {
    http: reqwest::Client,
    base: String,
    loaded: Loaded,
}

/// The checkpoint that the engine has loaded; none if that is not known.
#[derive(Clone)]
struct Loaded(Arc<Mutex<Option<String>>>);

impl Loaded {
    /// Forgets it until a generation with `name` has its answer, as that may not come. Returns whether it was another one.
    fn replace(&self, name: &str) -> bool {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        before.is_none_or(|before| before != name)
    }

    fn is(&self, name: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }
}

/// The picture that a generation begins with, and where it is repainted. Files.
pub(crate) struct Init {
    pub(crate) image: Bytes,
    pub(crate) mask: Option<Bytes>,
}

/// The current work of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) step: u32,
    pub(crate) steps: u32,
}

/// The engine's report of its work. `job_count` is -1 while it loads a checkpoint, and 0 when it is idle.
#[derive(Deserialize)]
struct State {
    job_count: i64,
    job_no: u32,
    sampling_step: u32,
    sampling_steps: u32,
}

impl State {
    fn steps(&self) -> Option<Steps> {
        let count = u32::try_from(self.job_count).ok().filter(|count| *count > 0)?;
        // before the first step, `sampling_steps` is that of the request before
        if (self.job_no, self.sampling_step) == (0, 0) {
            return None;
        }
        let steps = self.sampling_steps;
        Some(Steps { step: self.job_no * steps + self.sampling_step, steps: count * steps })
    }
}

impl WebUi {
    pub(crate) fn new(http: reqwest::Client, base: &Url) -> Self {
        let loaded = Loaded(Arc::new(Mutex::new(Some(LOADED.to_owned()))));
        Self { http, base: base.as_str().trim_end_matches('/').to_owned(), loaded }
    }

    /// Whether it answers.
    pub(crate) async fn is_ready(&self) -> bool {
        self.get::<Value>("options").await.is_ok()
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> reqwest::Result<T> {
        let url = format!("{}/sdapi/v1/{path}", self.base);
        self.http.get(url).timeout(SHORT).send().await?.error_for_status()?.json().await
    }

    /// Makes pictures, as files of the format that the engine is set to: from `init`, if there is one.
    pub(crate) async fn generate(
        &self,
        parameters: &Map<String, Value>,
        init: Option<&Init>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            images: Vec<String>,
        }
        let (method, mut body) = match init {
            None => ("txt2img", txt2img(parameters)),
            Some(init) => ("img2img", img2img(parameters, init)),
        };
        let model = parameters.get("model").and_then(Value::as_str).unwrap_or(LOADED);
        if model != LOADED {
            body["override_settings"] = json!({ "sd_model_checkpoint": self.checkpoint(model).await? });
        }
        let loads = self.loaded.replace(model);
        let url = format!("{}/sdapi/v1/{method}", self.base);
        let lost = |error: reqwest::Error| Failure::of_engine(format!("The engine does not answer: {error}"));
        let response = self.http.post(url).timeout(LONGEST).json(&body).send().await.map_err(lost)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(lost)?;
        if !status.is_success() {
            let text = without(&String::from_utf8_lossy(&bytes), parameters);
            let failure = failed(status.as_u16(), &text, loads);
            if failure.is_fatal {
                // it is started again
                self.loaded.is(LOADED);
            } else if !loads {
                self.loaded.is(model);
            }
            return Err(failure);
        }
        self.loaded.is(model);
        let answer: Answer = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::of_engine(format!("The engine's answer cannot be read: {error}")))?;
        let picture = |text: &String| BASE64.decode(text);
        let pictures: Result<Vec<_>, _> = answer.images.iter().map(picture).collect();
        match pictures {
            Ok(pictures) if !pictures.is_empty() => Ok(pictures),
            _ => Err(Failure::of_engine("The engine's answer has no pictures.")),
        }
    }

    /// Names of the checkpoints.
    pub(crate) async fn checkpoint_names(&self) -> reqwest::Result<Vec<String>> {
        let all: Vec<Checkpoint> = self.get("sd-models").await?;
        Ok(all.into_iter().map(|one| one.model_name).collect())
    }

    /// The title of a checkpoint.
    async fn checkpoint(&self, name: &str) -> Result<String, Failure> {
        let all: Vec<Checkpoint> = self
            .get("sd-models")
            .await
            .map_err(|error| Failure::of_engine(format!("The engine does not list its models: {error}")))?;
        // a file of macOS has the same name in another form
        let found = all.into_iter().find(|one| one.model_name.nfc().eq(name.nfc())).map(|one| one.title);
        found.ok_or_else(|| Failure::of_job("model-missing", format!("The worker has no model {name}.")))
    }

    /// Its progress; none before its first step, or if it is idle.
    pub(crate) async fn steps(&self) -> Option<Steps> {
        self.state().await?.steps()
    }

    /// Whether it works on something.
    pub(crate) async fn is_busy(&self) -> bool {
        self.state().await.is_some_and(|state| state.job_count > 0)
    }

    async fn state(&self) -> Option<State> {
        #[derive(Deserialize)]
        struct Answer {
            state: State,
        }
        let Answer { state } = self.get("progress?skip_current_image=true").await.ok()?;
        Some(state)
    }

    /// Has it read its folder of adapters again.
    pub(crate) async fn refresh_loras(&self) -> reqwest::Result<()> {
        let url = format!("{}/sdapi/v1/refresh-loras", self.base);
        self.http.post(url).timeout(LONGEST).send().await?.error_for_status().map(drop)
    }

    /// Interrupts its work. It answers the open request with its partial result.
    pub(crate) async fn interrupt(&self) {
        let url = format!("{}/sdapi/v1/interrupt", self.base);
        if let Err(error) = self.http.post(url).timeout(SHORT).send().await {
            tracing::warn!(%error, "cannot interrupt the engine");
        }
    }
}

/// Names that parameters and requests have in common.
const COMMON: [&str; 7] = ["prompt", "negative_prompt", "width", "height", "steps", "cfg_scale", "seed"];

/// The engine's request. A batch is made one picture after another, which needs the memory of one.
fn txt2img(parameters: &Map<String, Value>) -> Value {
    let common = COMMON.iter().filter_map(|name| Some(((*name).to_owned(), parameters.get(*name)?.clone())));
    let mut body: Map<String, Value> = common.collect();
    body.insert("n_iter".to_owned(), parameters.get("images").cloned().unwrap_or_else(|| json!(1)));
    body.insert("batch_size".to_owned(), json!(1));
    body.insert("send_images".to_owned(), json!(true));
    body.insert("save_images".to_owned(), json!(false));
    Value::Object(body)
}

/// As [`txt2img`], from a picture, which is stretched to the size. The mask is used like on the page of the
/// WebUI by default: repainted parts begin with the picture's own content, and the whole picture is computed.
fn img2img(parameters: &Map<String, Value>, init: &Init) -> Value {
    let mut body = txt2img(parameters);
    body["init_images"] = json!([BASE64.encode(&init.image)]);
    body["denoising_strength"] = parameters.get("denoising_strength").cloned().unwrap_or_else(|| json!(0.75));
    body["resize_mode"] = json!(0);
    if let Some(mask) = &init.mask {
        body["mask"] = json!(BASE64.encode(mask));
        body["inpainting_fill"] = json!(1);
        body["inpaint_full_res"] = json!(false);
    }
    body
}

/// Removes the user's text from an answer, because it could look like an error of the GPU.
fn without(text: &str, parameters: &Map<String, Value>) -> String {
    let words = parameters.values().filter_map(Value::as_str).filter(|word| word.len() > 3);
    words.fold(text.to_owned(), |text, word| {
        let quoted = Value::from(word).to_string();
        text.replace(word, "…").replace(quoted.trim_matches('"'), "…")
    })
}

/// The meaning of a response to a request that needs another checkpoint than the previous one (`loads`), or
/// the same. A checkpoint that cannot be loaded leaves the WebUI with parts of the previous one: it answers,
/// but its next requests for that one fail or make other pictures (seen with 1.10.1). A checkpoint that
/// computes no numbers is loaded.
fn failed(status: u16, text: &str, loads: bool) -> Failure {
    let failure = refused(status, text);
    let may_lack = loads && failure.is_retryable && !text.contains(NO_NUMBERS);
    let is_fatal = failure.is_fatal || may_lack;
    Failure { is_fatal, ..failure }
}

fn refused(status: u16, text: &str) -> Failure {
    let is_unreadable = UNREADABLE.iter().any(|part| text.contains(part));
    let fault = fault::of(text);
    let text: String = text.chars().take(500).collect();
    match (status, fault) {
        (400..500, _) => {
            Failure::of_job("invalid-parameters", format!("The engine refuses the parameters: {text}"))
        }
        _ if is_unreadable => {
            Failure::of_job("invalid-parameters", "The engine cannot read the picture or the mask.")
        }
        (_, Some(fault)) => Failure::of_fault(fault, &text),
        (_, None) => Failure::of_engine(format!("The engine failed ({status}): {text}")),
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, task::Poll};

    use tokio::{
        io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn a_refusal_is_the_jobs_fault_and_a_failure_the_engines() {
        assert_eq!(refused(422, "steps").code, "invalid-parameters");
        assert!(!refused(404, "Sampler not found").is_retryable);
        assert_eq!(refused(500, r#"{"error":"OutOfMemoryError"}"#).code, "out-of-memory");
        let memory = refused(500, r#"{"error":"RuntimeError","errors":"CUDA error: out of memory"}"#);
        assert_eq!(memory.code, "out-of-memory");
        let allocation = refused(
            500,
            r#"{"errors":"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"}"#,
        );
        assert_eq!(
            (allocation.code, allocation.is_retryable, allocation.is_fatal),
            ("out-of-memory", true, false)
        );
        for (text, code, is_retryable) in [
            ("CUDA error: uncorrectable ECC error encountered", "gpu-failed", true),
            ("CUDA driver version is insufficient for CUDA runtime version", "gpu-failed", true),
            ("CUDA error: an illegal memory access was encountered", "engine-failed", true),
            ("CUDA error: device-side assert triggered", "engine-failed", false),
        ] {
            let failure = refused(500, text);
            assert_eq!(
                (failure.code, failure.is_retryable, failure.is_fatal),
                (code, is_retryable, true),
                "{text}"
            );
        }
        let failed = refused(500, "x");
        assert_eq!((failed.code, failed.is_retryable), ("engine-failed", true));
        let unreadable = refused(500, r#"{"error":"HTTPException","detail":"Invalid encoded image"}"#);
        assert_eq!((unreadable.code, unreadable.is_retryable), ("invalid-parameters", false));
    }

    #[test]
    fn a_checkpoint_that_cannot_be_loaded_ends_the_process() {
        // as the WebUI 1.10.1 answers for half a file
        let text = r#"{"error":"SafetensorError","detail":"","body":"","errors":"Error while deserializing header: incomplete metadata, file not fully covered"}"#;
        let failure = failed(500, text, true);
        assert_eq!((failure.code, failure.is_retryable, failure.is_fatal), ("engine-failed", true, true));
        assert!(failed(500, r#"{"error":"OutOfMemoryError"}"#, true).is_fatal);
        assert!(!failed(500, text, false).is_fatal);
        let nan = r#"{"error":"NansException","detail":"","body":"","errors":"A tensor with NaNs was produced in Unet. Use --disable-nan-check commandline argument to disable this check."}"#;
        assert!(!failed(500, nan, true).is_fatal);
        assert!(!failed(422, "steps", true).is_fatal);
        assert!(!failed(500, r#"{"detail":"Invalid encoded image"}"#, true).is_fatal);
    }

    /// A WebUI with a checkpoint `other`, which answers generations with these, in their order.
    async fn engine(answers: Vec<(u16, &'static str)>) -> WebUi {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move {
            let mut answers = answers.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let (mut head, mut length) = (String::new(), 0);
                while !head.ends_with("\r\n\r\n")
                    && stream.read_line(&mut head).await.is_ok_and(|read| read > 0)
                {
                    let line = head.trim_end().lines().last().unwrap_or_default().to_lowercase();
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.parse().unwrap();
                    }
                }
                if head.is_empty() {
                    continue;
                }
                if stream.read_exact(&mut vec![0; length]).await.is_err() {
                    continue;
                }
                let models = r#"[{"title":"other.safetensors","model_name":"other"},
                                 {"title":"modele.safetensors","model_name":"mode\u0300le"}]"#;
                let models = (200, models);
                let (status, body) = if head.starts_with("GET") { models } else { answers.next().unwrap() };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).await.ok();
            }
        });
        WebUi::new(reqwest::Client::new(), &base)
    }

    /// Whether the WebUI is killed after a generation with this checkpoint.
    async fn is_killed(engine: &WebUi, model: &str) -> bool {
        let parameters = json!({ "prompt": "a fox", "model": model });
        let made = engine.generate(parameters.as_object().unwrap(), None).await;
        made.is_err_and(|failure| failure.is_fatal)
    }

    const MADE: (u16, &str) = (200, r#"{"images":["YWJj"]}"#);
    /// As the WebUI 1.10.1 answers on a machine that has too little memory for the checkpoint.
    const NO_MEMORY: (u16, &str) = (
        500,
        r#"{"error":"MemoryError","detail":"","body":"","errors":"Cannot allocate memory (os error 12)"}"#,
    );

    #[tokio::test]
    async fn a_default_checkpoint_that_cannot_be_loaded_again_ends_the_process() {
        let engine = engine(vec![MADE, MADE, NO_MEMORY]).await;
        assert!(!is_killed(&engine, "default").await);
        assert!(!is_killed(&engine, "other").await);
        assert!(is_killed(&engine, "default").await, "the WebUI goes back to its default");
    }

    #[tokio::test]
    async fn a_checkpoint_has_the_same_name_in_each_form() {
        let engine = engine(vec![MADE, MADE]).await;
        for model in ["mod\u{e8}le", "mode\u{300}le"] {
            let parameters = json!({ "prompt": "a fox", "model": model });
            assert!(engine.generate(parameters.as_object().unwrap(), None).await.is_ok(), "{model:?}");
        }
        let parameters = json!({ "prompt": "a fox", "model": "modele" });
        let failure = engine.generate(parameters.as_object().unwrap(), None).await.unwrap_err();
        assert_eq!(failure.code, "model-missing");
    }

    #[tokio::test]
    async fn a_fault_without_loading_a_checkpoint_does_not_end_the_process() {
        let engine = engine(vec![NO_MEMORY, MADE, NO_MEMORY, NO_MEMORY, NO_MEMORY]).await;
        assert!(!is_killed(&engine, "default").await);
        assert!(!is_killed(&engine, "other").await);
        assert!(!is_killed(&engine, "other").await, "the WebUI has the checkpoint");
        assert!(is_killed(&engine, "default").await);
        assert!(!is_killed(&engine, "default").await, "the WebUI has been started again");
    }

    #[tokio::test]
    async fn a_generation_that_is_left_may_have_loaded_a_checkpoint() {
        let engine = engine(vec![NO_MEMORY, NO_MEMORY]).await;
        let parameters = json!({ "prompt": "a fox" });
        {
            let mut left = pin!(engine.generate(parameters.as_object().unwrap(), None));
            assert!(poll_fn(|context| Poll::Ready(left.as_mut().poll(context).is_pending())).await);
        }
        assert!(is_killed(&engine, "default").await);
    }

    #[test]
    fn steps_are_known_from_the_first_one_on() {
        let steps = |job_count, job_no, sampling_step, sampling_steps| {
            State { job_count, job_no, sampling_step, sampling_steps }.steps()
        };
        let at = |step, steps| Some(Steps { step, steps });
        // what the WebUI 1.10.1 tells of two pictures of 6 steps, after a request of 4 steps
        let told = [
            (0, 1, 0, 4),
            (-1, 0, 0, 4),
            (2, 0, 0, 4),
            (2, 0, 0, 6),
            (2, 0, 1, 6),
            (2, 1, 0, 6),
            (2, 1, 5, 6),
            (0, 2, 0, 6),
        ];
        let known = told.map(|(count, no, step, total)| steps(count, no, step, total));
        assert_eq!(known, [None, None, None, None, at(1, 12), at(6, 12), at(11, 12), None]);
    }

    #[test]
    fn what_the_user_has_written_is_no_error_of_the_gpu() {
        let prompt = "a fox, \"uncorrectable ECC error\"";
        let parameters = json!({ "prompt": prompt, "seed": 1 });
        let answer = json!({ "error": "KeyError", "errors": format!("no token in {prompt}") }).to_string();
        let failure = refused(500, &without(&answer, parameters.as_object().unwrap()));
        assert_eq!(failure.code, "engine-failed", "{}", failure.message);
    }

    #[test]
    fn pictures_are_made_one_after_another_and_not_kept() {
        let parameters = json!({ "prompt": "a fox", "images": 3, "model": "default", "seed": 7 });
        let body = txt2img(parameters.as_object().unwrap());
        assert_eq!(
            body,
            json!({ "prompt": "a fox", "seed": 7, "n_iter": 3, "batch_size": 1, "send_images": true, "save_images": false })
        );
    }

    #[test]
    fn a_picture_and_its_mask_are_sent_as_base64() {
        let parameters = json!({ "prompt": "a fox", "image": "upl_1", "denoising_strength": 0.3 });
        let mut init = Init { image: Bytes::from_static(b"abc"), mask: None };
        let body = img2img(parameters.as_object().unwrap(), &init);
        assert_eq!(
            body,
            json!({ "prompt": "a fox", "n_iter": 1, "batch_size": 1, "send_images": true, "save_images": false,
                    "init_images": ["YWJj"], "denoising_strength": 0.3, "resize_mode": 0 })
        );
        init.mask = Some(Bytes::from_static(b"abcd"));
        let masked = img2img(parameters.as_object().unwrap(), &init);
        assert_eq!((&masked["mask"], &masked["inpaint_full_res"]), (&json!("YWJjZA=="), &json!(false)));
    }
}
