//! Messages as clients of all kinds send them: each means what it means over HTTP.

use serde_json::json;
use uuid::Uuid;

use crate::{
    fixture::pool,
    mq_tenant::{Line, Studio, fox, named},
};

/// Expects that no event waits for the tenant.
async fn expect_silence(line: &mut Line) {
    let last = Uuid::new_v4();
    line.send(&fox(last, "the last")).await;
    assert_eq!(named(&line.event().await), ("accepted", last));
}

#[tokio::test]
async fn mq_bodies_mean_what_they_mean_over_http() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let tenant = studio.tenant(&service).await;
    let mut line = tenant.open().await;
    let token = studio.fixture.issuer.user(tenant.id, auth::Role::Member);
    let deep = format!("\"a\",\"seed\":{}1{}", "[".repeat(3_000), "]".repeat(3_000));
    // the value of the prompt, and what follows it
    let prompts = [
        r#""a","seed":-0"#,
        r#""a","seed":1.0"#,
        r#""a","seed":1e2"#,
        r#""a","seed":7"#,
        r#""a","seed":9007199254740993"#,
        r#""a","seed":18446744073709551616"#,
        r#""a","seed":1e400"#,
        r#""a","seed":"7""#,
        r#""a","seed":null"#,
        r#""a","seed":1,"seed":2"#,
        r#""a","prompt":"b""#,
        r#""a","width":512.0"#,
        r#""a","cfg_scale":7.000000000000000000001"#,
        r#""a\u0000b""#,
        r#""\ud800""#,
        r#""\ud83e\udd8a""#,
        r#""a\u202eb""#,
        r#""e\u0301""#,
        r#""""#,
        r#"" ""#,
        r"null",
        r#"["a"]"#,
        r#""a","more":1"#,
        deep.as_str(),
    ];
    for prompt in prompts {
        let parameters = format!("{{\"prompt\":{prompt}}}");
        let over_http = reqwest::Client::new()
            .post(format!("{}/v1/jobs", tenant.member.base()))
            .bearer_auth(&token)
            .header("content-type", "application/json")
            .header("idempotency-key", Uuid::new_v4().to_string())
            .body(format!(
                "{{\"application\":\"stable-diffusion\",\"method\":\"txt2img\",\"parameters\":{parameters}}}"
            ));
        let status = over_http.send().await.unwrap().status().as_u16();
        assert!([202, 400, 422].contains(&status), "{prompt:.80}: {status}");
        if status == 202 {
            // of the job over HTTP
            assert_eq!(line.event().await["event"], "accepted");
        }
        let mut post = fox(Uuid::new_v4(), "");
        post.body =
            format!("{{\"method\":\"stable-diffusion.txt2img\",\"parameters\":{parameters}}}").into_bytes();
        line.send(&post).await;
        let event = line.event().await;
        let expected = if status == 202 { "accepted" } else { "rejected" };
        assert_eq!(event["event"], expected, "{prompt:.80}: {status} {event}");
    }
    let plain = String::from_utf8(fox(Uuid::nil(), "a fox").body).unwrap();
    let wide = |bytes: fn(u16) -> [u8; 2]| plain.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    for body in [
        Vec::new(),
        b"\0".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        [b"\xef\xbb\xbf", plain.as_bytes()].concat(),
        wide(u16::to_le_bytes),
        wide(u16::to_be_bytes),
        format!("{plain}{plain}").into_bytes(),
        plain.replace("a fox", "a f\u{f6}x").chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
        // the beginning of what gzip writes
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec(),
        vec![b'['; 400_000],
    ] {
        let (number, start) = (Uuid::new_v4(), body[..body.len().min(8)].to_vec());
        let mut post = fox(number, "");
        post.body = body;
        line.send(&post).await;
        let event = line.event().await;
        let code = &event["problem"]["code"];
        assert_eq!((named(&event), code), (("rejected", number), &json!("malformed")), "{start:?}");
    }
    expect_silence(&mut line).await;
    service.stop().await;
}
