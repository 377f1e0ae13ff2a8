//! Watches: order of events, resumption, selectors.

use crate::support::*;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::json;

async fn names(api: &Api<ConfigMap>, params: &WatchParams, from: &str, count: usize) -> Vec<String> {
    let events: Vec<_> = api.watch(params, from).await.unwrap().take(count).try_collect().await.unwrap();
    events
        .iter()
        .map(|e| match e {
            WatchEvent::Added(o) => format!("+{}", o.name_any()),
            WatchEvent::Modified(o) => format!("~{}", o.name_any()),
            WatchEvent::Deleted(o) => format!("-{}", o.name_any()),
            other => format!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_watch_resumes_where_it_was() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
    let from = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let a = create(&api, json!({ "metadata": { "name": "a", "labels": { "x": "1" } } })).await;
    create(&api, json!({ "metadata": { "name": "b" } })).await;
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "labels": { "x": "2" } } })))
        .await
        .unwrap();
    api.delete("b", &DeleteParams::default()).await.unwrap();
    let all = WatchParams::default();
    assert_eq!(names(&api, &all, &from, 4).await, ["+a", "+b", "~a", "-b"]);
    assert_eq!(names(&api, &all, &rv(&a), 3).await, ["+b", "~a", "-b"]);
    // an object that is no longer selected is deleted for the watcher
    let some = WatchParams::default().labels("x=1");
    assert_eq!(names(&api, &some, &from, 2).await, ["+a", "-a"]);
    t.stop().await;
}

#[tokio::test]
async fn the_runtime_watcher_works_with_lists_and_streaming_lists() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
    create(&api, json!({ "metadata": { "name": "first" } })).await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let mut stream = watcher(api.clone(), config).applied_objects().boxed();
        let mut seen = Vec::new();
        while !seen.iter().any(|n| n == "first") {
            seen.push(stream.next().await.unwrap().unwrap().name_any());
        }
        create(&api, json!({ "metadata": { "generateName": "later-" } })).await;
        while !stream.next().await.unwrap().unwrap().name_any().starts_with("later-") {}
    }
    t.stop().await;
}
