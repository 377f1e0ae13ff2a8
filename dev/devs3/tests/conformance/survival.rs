//! The development store only: data survives a restart, incomplete files of a killed process are removed, unknown calls and
//! unknown configuration are refused.

use crate::harness::{Store, config};

#[tokio::test]
async fn users_buckets_objects_and_uploads_outlive_the_process() {
    let store = Store::embedded(tempfile::tempdir().unwrap()).await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    user.put(&bucket, "a/b", "kept").await;
    let begun = user.s3.create_multipart_upload().bucket(&bucket).key("film").send().await.unwrap();
    let id = begun.upload_id().unwrap();
    user.s3
        .upload_part()
        .bucket(&bucket)
        .key("film")
        .upload_id(id)
        .part_number(1)
        .body(vec![7; 10].into())
        .send()
        .await
        .unwrap();
    let folder = store.stop().await;

    // files that a killed process left incomplete
    let data = folder.path().join("data");
    std::fs::write(data.join("drafts/half"), "half").unwrap();
    std::fs::create_dir(data.join("objects/removed-bucket")).unwrap();
    std::fs::write(data.join("state.part"), "{").unwrap();

    let store = Store::embedded(folder).await;
    let s3 = store.s3(&user.access, &user.secret);
    let got = s3.get_object().bucket(&bucket).key("a/b").send().await.unwrap();
    assert_eq!(got.body.collect().await.unwrap().to_vec(), b"kept");
    let parts = s3.list_parts().bucket(&bucket).key("film").upload_id(id).send().await.unwrap();
    assert_eq!(parts.parts().len(), 1);
    assert!(!data.join("drafts/half").exists());
    assert!(!data.join("objects/removed-bucket").exists());
    let (_, shown) = store.admin("GET", "bucket", &[("bucket", &bucket)]).await;
    assert_eq!(shown["usage"]["rgw.main"]["num_objects"], 1);
}

#[tokio::test]
async fn unknown_calls_are_refused() {
    let store = Store::embedded(tempfile::tempdir().unwrap()).await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    for (method, path, query) in [
        ("GET", "usage", vec![]),
        ("GET", "info", vec![]),
        ("PUT", "user", vec![("caps", ""), ("uid", "x")]),
        ("PUT", "user", vec![("subuser", "x"), ("uid", "x")]),
        ("GET", "bucket", vec![("index", "")]),
        ("PUT", "bucket", vec![("bucket", "x"), ("uid", "y")]),
    ] {
        let (status, body) = store.admin(method, path, &query).await;
        assert_eq!((status, &body["Code"]), (501, &"NotImplemented".into()), "{method} {path}");
    }
    let policy = user.s3.put_bucket_policy().bucket(&bucket).policy("{}").send().await.unwrap_err();
    assert_eq!(crate::harness::code(&policy), "NotImplemented");
}

#[test]
fn unknown_configuration_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("devs3.toml");
    std::fs::write(
        &file,
        "listen='127.0.0.1:0'\ndata_dir='d'\nadmin_access_key='a'\nadmin_secret_key='b'\nport=1\n",
    )
    .unwrap();
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_atelier-devs3"))
        .arg("--config")
        .arg(&file)
        .output()
        .unwrap();
    assert!(!ran.status.success());
    assert!(String::from_utf8_lossy(&ran.stderr).contains("port"), "{ran:?}");
}

#[tokio::test]
async fn a_taken_port_is_a_clear_error() {
    let store = Store::embedded(tempfile::tempdir().unwrap()).await;
    let other = tempfile::tempdir().unwrap();
    let mut config = config(other.path());
    config.listen = store.endpoint.trim_start_matches("http://").parse().unwrap();
    let error = atelier_devs3::Server::start(config).await.err().unwrap();
    assert!(format!("{error:#}").contains("cannot listen on 127.0.0.1:"), "{error:#}");
}
