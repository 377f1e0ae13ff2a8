//! The example programs (`images/examples`), called as in their documentation, on workers with the real runner. They run with
//! `cargo xtask test --long`, which installs what they need.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use testkit::within;

use crate::programs::Yard;

/// Longest time of a job: most of it Python imports modules.
const LIMIT: Duration = Duration::from_secs(300);

/// Python with the packages of an example, if it is installed.
fn python(variable: &str) -> Option<PathBuf> {
    let python = std::env::var_os(variable).map(PathBuf::from);
    if python.is_none() {
        eprintln!("skipped: only with `cargo xtask test --long`, which sets {variable}");
    }
    python
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../images/examples").join(name)
}

/// Runs a program to its end. Returns its job.
async fn run(yard: &Yard, command: &[&Path], arguments: Value, gang: Value) -> String {
    let words: Vec<String> = command.iter().map(|word| word.display().to_string()).collect();
    let body = json!({ "application": "command", "method": "run", "gang": gang, "group": "campaign-7",
                       "parameters": { "command": words, "arguments": arguments, "max_seconds": 280 } });
    let job = yard.member.post("/v1/jobs", body).await.expect(202).str("id").to_owned();
    let ended = within(LIMIT, "the job has ended", async || {
        let read = yard.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        ["succeeded", "failed"].contains(&read.str("state")).then_some(read)
    })
    .await;
    assert_eq!(ended.str("state"), "succeeded", "{:?}\n{}", ended.body, yard.log(&job).await);
    assert_eq!((&ended.body["attempts"], &ended.body["group"]), (&json!(1), &json!("campaign-7")));
    job
}

/// Programs that run and are below this folder.
fn running(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let commands = commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " "));
    commands.filter(|command| command.contains(folder.to_str().unwrap())).collect()
}

#[tokio::test]
async fn a_gang_trains_with_pytorch_and_so_does_a_worker_with_several_processes() {
    let Some(python) = python("TEST_PYTORCH") else { return };
    let yard = Yard::new(2).await;
    let (program, arguments) = (example("ddp.py"), json!({ "steps": 40, "checkpoint_every": 20 }));
    let torchrun = python.with_file_name("torchrun");
    let (gang, one) = (json!({ "size": 2 }), Value::Null);
    let several = [&*torchrun, Path::new("--standalone"), Path::new("--nproc-per-node=2"), &*program];
    for (command, gang) in [(&[&*python, &*program][..], gang), (&several[..], one)] {
        let job = run(&yard, command, arguments.clone(), gang).await;
        let artifacts = yard.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200).body;
        let items = artifacts["items"].as_array().unwrap();
        assert_eq!((items.len(), &items[0]["name"]), (1, &json!("model.pt")));
        assert!(items[0]["bytes"].as_i64() > Some(1_000), "{artifacts}");
        assert_eq!(running(&program), [] as [String; 0], "nothing of it outlives the job");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_strict_group_of_two_workers_is_a_ray_cluster() {
    let Some(python) = python("TEST_RAY") else { return };
    let yard = Yard::new(2).await;
    let command = [&*python, &*example("ray_pi.py")];
    let job = run(&yard, &command, json!({ "points": 50_000 }), json!({ "size": 2 })).await;
    let result: Value = serde_json::from_str(&yard.result(&job, "pi.json").await).unwrap();
    assert_eq!(result["nodes"], 2, "each worker is a node: {result}");
    assert!((result["pi"].as_f64().unwrap() - std::f64::consts::PI).abs() < 0.02, "{result}");
    assert!(yard.log(&job).await.contains("Ray runtime started"));
    // its daemons end with the attempt, those of the other worker when that is told to stop
    let environment = python.ancestors().nth(2).unwrap();
    within(LIMIT, "nothing of Ray outlives the job", async || running(environment).is_empty().then_some(()))
        .await;
    yard.stop().await;
}
