//! A request that does not conform to the document gets an error that says what the document does not have.

use atelier_testkit::Documented;
use serde_json::{Value, json};

const THING: &str = "PUT /v1/things/a";

#[tokio::test]
async fn the_detail_of_the_answer_says_what_the_document_does_not_have() {
    let schema = json!({ "required": ["name"], "properties": { "name": {} } });
    let put = json!({
        "parameters": [{ "name": "force", "in": "query" }],
        "requestBody": { "content": { "application/json": { "schema": schema } } },
        "responses": { "204": {} },
    });
    let document = json!({ "paths": { "/v1/things/{id}": { "put": put } } });
    let service = Documented::start(&document.to_string()).await;
    let http = reqwest::Client::new();
    let put = async |path: &str, body: Value| {
        let answer = http.put(format!("{}{path}", service.url)).json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let named = || json!({ "name": "a" });

    assert_eq!(put("/v1/things/a?force=true", named()).await, (204, String::new()));
    service.check();
    for (path, body, why) in [
        ("/v1/other", named(), "PUT /v1/other: no such operation".to_owned()),
        ("/v1/things/a?forec=true", named(), format!("{THING}?forec=true: no parameter forec")),
        ("/v1/things/a", json!({ "name": "a", "nmae": "b" }), format!("{THING}: no member nmae")),
        ("/v1/things/a", json!({}), format!("{THING}: without [\"name\"]")),
    ] {
        let (status, text) = put(path, body).await;
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (status, problem["detail"].as_str().unwrap()),
            (501, &*format!("not as documented: {why}"))
        );
    }
}
