//! S3: isolation, objects, listings, multipart, conditions, presigned requests.

use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart, Delete, ObjectIdentifier};

use crate::harness::{Store, code};

#[tokio::test]
async fn a_user_sees_only_its_own_buckets() {
    let store = Store::open().await;
    let (mine, other) = (store.user().await, store.user().await);
    let bucket = mine.bucket().await;
    mine.put(&bucket, "k", "v").await;
    let names = |list: &aws_sdk_s3::operation::list_buckets::ListBucketsOutput| {
        list.buckets().iter().filter_map(|b| b.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mine.s3.list_buckets().send().await.unwrap()), std::slice::from_ref(&bucket));
    assert!(names(&other.s3.list_buckets().send().await.unwrap()).is_empty());
    // the owner may create it again, others may not
    mine.s3.create_bucket().bucket(&bucket).send().await.unwrap();
    let taken = other.s3.create_bucket().bucket(&bucket).send().await.unwrap_err();
    assert_eq!(code(&taken), "BucketAlreadyExists");

    assert_eq!(other.get(&bucket, "k").await.unwrap_err(), "AccessDenied");
    assert_eq!(other.put(&bucket, "k", "w").await, "AccessDenied");
    let listed = other.s3.list_objects_v2().bucket(&bucket).send().await.unwrap_err();
    assert_eq!(code(&listed), "AccessDenied");
    let removed = other.s3.delete_bucket().bucket(&bucket).send().await.unwrap_err();
    assert_eq!(code(&removed), "AccessDenied");
    let own = other.bucket().await;
    let copied = other
        .s3
        .copy_object()
        .bucket(&own)
        .key("stolen")
        .copy_source(format!("{bucket}/k"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&copied), "AccessDenied");
    assert_eq!(other.get("no-such-bucket-at-all", "k").await.unwrap_err(), "NoSuchBucket");
    assert_eq!(mine.get(&bucket, "k").await.unwrap(), b"v");
    let unsigned = reqwest::get(format!("{}/{bucket}/k", store.endpoint)).await.unwrap();
    assert_eq!(unsigned.status(), 403);
    store.forget(&mine).await;
    store.forget(&other).await;
}

#[tokio::test]
async fn an_object_that_another_user_may_read_can_be_copied_by_it() {
    let store = Store::open().await;
    let (owner, reader, third) = (store.user().await, store.user().await, store.user().await);
    let (from, to) = (owner.bucket().await, reader.bucket().await);
    let key = "a b/\u{fc}+%41.png";
    assert_eq!(owner.put(&from, key, "v").await, "ok");
    let copy = async |who: &crate::harness::User, to: &str| {
        let source =
            url::form_urlencoded::byte_serialize(key.as_bytes()).collect::<String>().replace('+', "%20");
        let copied = who.s3.copy_object().bucket(to).key("copy").copy_source(format!("{from}/{source}"));
        copied.send().await.map_or_else(|error| code(&error), |_| "ok".to_owned())
    };
    assert_eq!(copy(&reader, &to).await, "AccessDenied");
    let grant = owner.s3.put_object_acl().bucket(&from).key(key);
    let grant = grant.grant_full_control(format!("id=\"{}\"", owner.uid));
    grant.grant_read(format!("id=\"{}\"", reader.uid)).send().await.unwrap();
    assert_eq!(copy(&reader, &to).await, "ok");
    assert_eq!(reader.get(&to, "copy").await.unwrap(), b"v");
    assert_eq!(reader.get(&from, key).await.unwrap(), b"v");
    assert_eq!(owner.get(&from, key).await.unwrap(), b"v");
    // no other request
    assert_eq!(reader.put(&from, key, "w").await, "AccessDenied");
    let removed = reader.s3.delete_object().bucket(&from).key(key).send().await.unwrap_err();
    assert_eq!(code(&removed), "AccessDenied");
    assert_eq!(third.get(&from, key).await.unwrap_err(), "AccessDenied");
    // an object that is overwritten is private again
    assert_eq!(owner.put(&from, key, "w").await, "ok");
    assert_eq!(reader.get(&from, key).await.unwrap_err(), "AccessDenied");
    for user in [&owner, &reader, &third] {
        store.forget(user).await;
    }
}

#[tokio::test]
async fn objects_are_returned_unchanged() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let long = "k".repeat(1000);
    for key in ["plain", "a", "a/b", "a/b/", "sp ace+plus%41", "ünïcode/é", "..dots/..x", &long] {
        assert_eq!(user.put(&bucket, key, key.as_bytes()).await, "ok", "{key}");
        assert_eq!(user.get(&bucket, key).await.unwrap(), key.as_bytes(), "{key}");
    }
    user.s3
        .put_object()
        .bucket(&bucket)
        .key("typed")
        .content_type("image/png")
        .cache_control("no-store")
        .metadata("prompt", "a cat")
        .body(b"0123456789".to_vec().into())
        .send()
        .await
        .unwrap();
    let head = user.s3.head_object().bucket(&bucket).key("typed").send().await.unwrap();
    assert_eq!(head.content_type(), Some("image/png"));
    assert_eq!(head.cache_control(), Some("no-store"));
    assert_eq!(head.metadata().unwrap()["prompt"], "a cat");
    assert_eq!(head.content_length(), Some(10));
    assert_eq!(head.e_tag(), Some("\"781e5e245d69b566979b86e28d23f2c7\""));

    let part = user.s3.get_object().bucket(&bucket).key("typed").range("bytes=2-4").send().await.unwrap();
    assert_eq!(part.content_range(), Some("bytes 2-4/10"));
    assert_eq!(part.body.collect().await.unwrap().to_vec(), b"234");
    let tail = user.s3.get_object().bucket(&bucket).key("typed").range("bytes=-3").send().await.unwrap();
    assert_eq!(tail.body.collect().await.unwrap().to_vec(), b"789");
    let beyond =
        user.s3.get_object().bucket(&bucket).key("typed").range("bytes=10-").send().await.unwrap_err();
    assert_eq!(code(&beyond), "InvalidRange");

    user.s3
        .copy_object()
        .bucket(&bucket)
        .key("copy")
        .copy_source(format!("{bucket}/typed"))
        .send()
        .await
        .unwrap();
    let copy = user.s3.head_object().bucket(&bucket).key("copy").send().await.unwrap();
    assert_eq!(copy.metadata().unwrap()["prompt"], "a cat");

    let none_match = user
        .s3
        .put_object()
        .bucket(&bucket)
        .key("typed")
        .if_none_match("*")
        .body(b"x".to_vec().into())
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&none_match), "PreconditionFailed");
    assert_eq!(user.get(&bucket, "missing").await.unwrap_err(), "NoSuchKey");
    let head = user.s3.head_object().bucket(&bucket).key("missing").send().await.unwrap_err();
    assert!(head.into_service_error().is_not_found());
    let full = user.s3.delete_bucket().bucket(&bucket).send().await.unwrap_err();
    assert_eq!(code(&full), "BucketNotEmpty");
    user.s3.delete_object().bucket(&bucket).key("typed").send().await.unwrap();
    user.s3.delete_object().bucket(&bucket).key("typed").send().await.unwrap();
    assert_eq!(user.get(&bucket, "typed").await.unwrap_err(), "NoSuchKey");
    store.forget(&user).await;
}

#[tokio::test]
async fn listings_page_fold_and_delete_in_bulk() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    for n in 0..7 {
        user.put(&bucket, &format!("dir/{n}"), "x").await;
        user.put(&bucket, &format!("e{n}/deep/file"), "x").await;
    }
    user.put(&bucket, "top", "x").await;

    let mut seen = Vec::new();
    let mut token = None;
    loop {
        let page = user
            .s3
            .list_objects_v2()
            .bucket(&bucket)
            .max_keys(4)
            .set_continuation_token(token)
            .send()
            .await
            .unwrap();
        assert!(page.contents().len() <= 4);
        seen.extend(page.contents().iter().filter_map(|o| o.key.clone()));
        token = page.next_continuation_token().map(str::to_owned);
        if page.is_truncated() != Some(true) {
            break;
        }
    }
    assert_eq!(seen.len(), 15);
    assert!(seen.is_sorted());

    let mut folded = Vec::new();
    let mut token = None;
    loop {
        let page = user
            .s3
            .list_objects_v2()
            .bucket(&bucket)
            .delimiter("/")
            .max_keys(3)
            .set_continuation_token(token)
            .send()
            .await
            .unwrap();
        folded.extend(page.common_prefixes().iter().filter_map(|p| p.prefix.clone()));
        folded.extend(page.contents().iter().filter_map(|o| o.key.clone()));
        token = page.next_continuation_token().map(str::to_owned);
        if page.is_truncated() != Some(true) {
            break;
        }
    }
    assert_eq!(folded, ["dir/", "e0/", "e1/", "e2/", "e3/", "e4/", "e5/", "e6/", "top"]);
    let inside =
        user.s3.list_objects_v2().bucket(&bucket).prefix("dir/").start_after("dir/4").send().await.unwrap();
    let inside: Vec<_> = inside.contents().iter().filter_map(|o| o.key()).collect();
    assert_eq!(inside, ["dir/5", "dir/6"]);
    let old_style = user.s3.list_objects().bucket(&bucket).marker("e5").max_keys(2).send().await.unwrap();
    let old_style: Vec<_> = old_style.contents().iter().filter_map(|o| o.key()).collect();
    assert_eq!(old_style, ["e5/deep/file", "e6/deep/file"]);

    let objects = seen.iter().map(|key| ObjectIdentifier::builder().key(key).build().unwrap());
    let delete = Delete::builder().set_objects(Some(objects.collect())).build().unwrap();
    let done = user.s3.delete_objects().bucket(&bucket).delete(delete).send().await.unwrap();
    assert_eq!(done.deleted().len(), 15);
    user.s3.delete_bucket().bucket(&bucket).send().await.unwrap();
    store.forget(&user).await;
}

#[tokio::test]
async fn a_large_object_is_uploaded_in_parts() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let begin = async |key: &str| {
        let begun = user
            .s3
            .create_multipart_upload()
            .bucket(&bucket)
            .key(key)
            .content_type("video/mp4")
            .send()
            .await
            .unwrap();
        begun.upload_id().unwrap().to_owned()
    };
    let part = async |key: &str, id: &str, number: i32, bytes: Vec<u8>| {
        let sent = user
            .s3
            .upload_part()
            .bucket(&bucket)
            .key(key)
            .upload_id(id)
            .part_number(number)
            .body(bytes.into())
            .send()
            .await
            .unwrap();
        CompletedPart::builder().part_number(number).e_tag(sent.e_tag().unwrap()).build()
    };
    let finish = async |key: &str, id: &str, parts: Vec<CompletedPart>| {
        let all = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let done = user
            .s3
            .complete_multipart_upload()
            .bucket(&bucket)
            .key(key)
            .upload_id(id)
            .multipart_upload(all)
            .send()
            .await;
        done.map_or_else(|e| code(&e), |_| "ok".to_owned())
    };
    let id = begin("film").await;
    let mib5 = 5 * 1024 * 1024;
    let wrong = part("film", &id, 1, vec![9; mib5]).await;
    let first = part("film", &id, 1, vec![1; mib5]).await;
    let second = part("film", &id, 2, vec![2; 1000]).await;
    let listed = user.s3.list_parts().bucket(&bucket).key("film").upload_id(&id).send().await.unwrap();
    assert_eq!(listed.parts().iter().map(|p| p.size().unwrap()).collect::<Vec<_>>(), [mib5 as i64, 1000]);
    let uploads = user.s3.list_multipart_uploads().bucket(&bucket).send().await.unwrap();
    assert_eq!(uploads.uploads()[0].key(), Some("film"));
    assert_eq!(user.get(&bucket, "film").await.unwrap_err(), "NoSuchKey");

    assert_eq!(finish("film", &id, vec![wrong, second.clone()]).await, "InvalidPart");
    assert_eq!(finish("film", &id, vec![first, second]).await, "ok");
    let bytes = user.get(&bucket, "film").await.unwrap();
    assert_eq!(bytes.len(), mib5 + 1000);
    assert_eq!((bytes[mib5 - 1], bytes[mib5]), (1, 2));
    let head = user.s3.head_object().bucket(&bucket).key("film").send().await.unwrap();
    assert_eq!(head.content_type(), Some("video/mp4"));
    assert!(head.e_tag().unwrap().ends_with("-2\""));

    let small = begin("small").await;
    let parts =
        vec![part("small", &small, 1, vec![1; 10]).await, part("small", &small, 2, vec![2; 10]).await];
    assert_eq!(finish("small", &small, parts).await, "EntityTooSmall");
    user.s3.abort_multipart_upload().bucket(&bucket).key("small").upload_id(&small).send().await.unwrap();
    let gone = user.s3.list_parts().bucket(&bucket).key("small").upload_id(&small).send().await.unwrap_err();
    // RGW 16 returns NoSuchKey
    assert!(["NoSuchUpload", "NoSuchKey"].contains(&code(&gone).as_str()), "{gone:?}");

    // an open upload does not prevent the deletion of its bucket
    begin("forgotten").await;
    user.s3.delete_object().bucket(&bucket).key("film").send().await.unwrap();
    user.s3.delete_bucket().bucket(&bucket).send().await.unwrap();
    store.forget(&user).await;
}

#[tokio::test]
async fn a_presigned_url_needs_no_key() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let minute = PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();
    let put = user.s3.put_object().bucket(&bucket).key("by/url").presigned(minute.clone()).await.unwrap();
    let http = reqwest::Client::new();
    assert_eq!(http.put(put.uri()).body("hello").send().await.unwrap().status(), 200);
    let get = user.s3.get_object().bucket(&bucket).key("by/url").presigned(minute).await.unwrap();
    assert_eq!(http.get(get.uri()).send().await.unwrap().text().await.unwrap(), "hello");
    assert_eq!(http.get(get.uri().replace("by/url", "by/other")).send().await.unwrap().status(), 403);
    // the hash of "hello", which was not signed
    let changed = http.put(put.uri()).header("content-md5", "XUFAKrxLKna5cZ2REBfFkg==").body("hallo");
    assert_eq!(changed.send().await.unwrap().status(), 400);
    assert_eq!(http.get(get.uri()).send().await.unwrap().text().await.unwrap(), "hello");
    store.forget(&user).await;
}
