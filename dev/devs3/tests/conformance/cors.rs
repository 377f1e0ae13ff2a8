//! What pages of other origins may do.

use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::types::{CorsConfiguration, CorsRule};
use http::{HeaderMap, Method};

use crate::harness::{Store, User, code};

const PAGE: &str = "https://console.example";

async fn allow(user: &User, bucket: &str, origin: &str, method: &str) -> Result<(), String> {
    let rule = CorsRule::builder().allowed_origins(origin).allowed_methods(method).allowed_methods("PUT");
    let rule = rule.allowed_headers("Content-Type").expose_headers("ETag").max_age_seconds(600).build();
    let rules = CorsConfiguration::builder().cors_rules(rule.unwrap()).build().unwrap();
    let put = user.s3.put_bucket_cors().bucket(bucket).cors_configuration(rules).send().await;
    put.map(drop).map_err(|error| code(&error))
}

/// Status and headers of a request, with these headers.
async fn ask(method: Method, url: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap) {
    let mut request = reqwest::Client::new().request(method.clone(), url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if method == Method::PUT {
        request = request.body("v");
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.headers().clone())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_page_uploads_and_reads_if_its_origin_is_allowed() {
    let store = Store::open().await;
    let user = store.user().await;
    let bucket = user.bucket().await;
    let signing = PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();
    let put = user.s3.put_object().bucket(&bucket).key("a.png").content_type("image/png");
    let put = put.presigned(signing.clone()).await.unwrap();
    let get = user.s3.get_object().bucket(&bucket).key("a.png").presigned(signing).await.unwrap();
    let may = async |origin, method, names| {
        let headers = [
            ("origin", origin),
            ("access-control-request-method", method),
            ("access-control-request-headers", names),
        ];
        ask(Method::OPTIONS, put.uri(), &headers).await
    };
    assert_eq!(may(PAGE, "PUT", "content-type").await.0, 403);
    let none = user.s3.get_bucket_cors().bucket(&bucket).send().await.unwrap_err();
    assert_eq!(code(&none), "NoSuchCORSConfiguration");

    allow(&user, &bucket, PAGE, "GET").await.unwrap();
    let shown = user.s3.get_bucket_cors().bucket(&bucket).send().await.unwrap();
    let [rule] = shown.cors_rules() else { panic!("{shown:?}") };
    assert_eq!(rule.allowed_origins(), [PAGE]);
    assert_eq!(
        (rule.allowed_headers(), rule.expose_headers()),
        (&["Content-Type".into()][..], &["ETag".into()][..])
    );
    assert_eq!(rule.max_age_seconds(), Some(600));

    let (status, headers) = may(PAGE, "PUT", "content-type").await;
    assert_eq!(status, 200);
    assert_eq!(text(&headers, "access-control-allow-origin"), Some(PAGE));
    assert_eq!(text(&headers, "access-control-allow-methods"), Some("PUT"));
    assert_eq!(text(&headers, "access-control-allow-headers"), Some("content-type"));
    assert_eq!(text(&headers, "access-control-max-age"), Some("600"));
    assert_eq!(may("https://other.example", "PUT", "content-type").await.0, 403);
    assert_eq!(may(PAGE, "DELETE", "content-type").await.0, 403);
    assert_eq!(may(PAGE, "PUT", "x-other").await.0, 403);
    assert_eq!(ask(Method::OPTIONS, put.uri(), &[("origin", PAGE)]).await.0, 400);
    let elsewhere = put.uri().replace(&bucket, "no-such-bucket-at-all");
    let asked = [("origin", PAGE), ("access-control-request-method", "PUT")];
    assert_eq!(ask(Method::OPTIONS, &elsewhere, &asked).await.0, 404);

    for (origin, allowed) in [(PAGE, Some(PAGE)), ("https://other.example", None)] {
        let (status, headers) =
            ask(Method::PUT, put.uri(), &[("origin", origin), ("content-type", "image/png")]).await;
        assert_eq!((status, text(&headers, "access-control-allow-origin")), (200, allowed));
        let (status, headers) = ask(Method::GET, get.uri(), &[("origin", origin)]).await;
        assert_eq!((status, text(&headers, "access-control-allow-origin")), (200, allowed));
        assert_eq!(text(&headers, "access-control-expose-headers"), allowed.map(|_| "ETag"));
    }
    let missing = get.uri().replace("a.png", "b.png");
    let (status, headers) = ask(Method::GET, missing.split('?').next().unwrap(), &[("origin", PAGE)]).await;
    assert_eq!((status, text(&headers, "access-control-allow-origin")), (403, Some(PAGE)));

    user.s3.delete_bucket_cors().bucket(&bucket).send().await.unwrap();
    assert_eq!(may(PAGE, "PUT", "content-type").await.0, 403);
    store.forget(&user).await;
}

#[tokio::test]
async fn rules_belong_to_the_owner_and_are_checked() {
    let store = Store::open().await;
    let (user, other) = (store.user().await, store.user().await);
    let bucket = user.bucket().await;
    assert_eq!(allow(&other, &bucket, PAGE, "GET").await, Err("AccessDenied".into()));
    assert_eq!(allow(&user, &bucket, PAGE, "PATCH").await, Err("MalformedXML".into()));
    store.forget(&user).await;
    store.forget(&other).await;
}
