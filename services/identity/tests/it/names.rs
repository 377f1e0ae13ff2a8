//! Names, addresses and passwords as different keyboards and systems send them.

use serde_json::{Value, json};

use crate::platform::{PASSWORD, Platform};

#[tokio::test]
async fn addresses_that_look_alike_are_one_account() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "J\u{fc}rgen@b\u{fc}cher.test").await;
    for typed in [
        "J\u{fc}rgen@b\u{fc}cher.test",
        "Ju\u{308}rgen@bu\u{308}cher.test",
        "J\u{dc}RGEN@B\u{dc}CHER.TEST",
        "j\u{fc}rgen@xn--bcher-kva.test",
        "J\u{fc}rgen\u{ff20}b\u{fc}cher.test",
    ] {
        let body = json!({ "email": typed, "password": PASSWORD });
        let session = platform.client.post("/v1/sessions", body.clone()).await.expect(200);
        assert_eq!(session.body["user"]["id"], user, "{typed}");
        admin.post("/v1/users", body).await.expect_problem(409, "email-taken");
    }
    let body = json!({ "email": "jurgen@b\u{fc}cher.test", "password": PASSWORD });
    platform.client.post("/v1/sessions", body).await.expect_problem(401, "wrong-credentials");
    // failed attempts with one form count for all forms
    for typed in ["Ju\u{308}rgen@bu\u{308}cher.test", "j\u{fc}rgen@xn--bcher-kva.test"] {
        for _ in 0..3 {
            let body = json!({ "email": typed, "password": "whatever1" });
            platform.client.post("/v1/sessions", body).await.expect_problem(401, "wrong-credentials");
        }
    }
    let body = json!({ "email": "J\u{fc}rgen@b\u{fc}cher.test", "password": PASSWORD });
    platform.client.post("/v1/sessions", body).await.expect_problem(429, "too-many-attempts");
}

#[tokio::test]
async fn an_invitation_reaches_its_person_in_any_form() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    platform.user(&admin, "j\u{fc}rgen@b\u{fc}cher.test").await;
    let body = json!({ "email": "J\u{dc}rgen@XN--BCHER-KVA.test", "role": "member" });
    let path = format!("/v1/tenants/{tenant}/invitations");
    let invitation = admin.post(&path, body).await.expect(201);
    let client = platform.as_user("Ju\u{308}rgen@b\u{fc}cher.test").await;
    let accept = format!("/v1/me/invitations/{}/accept", invitation.str("id"));
    let _ = client.post(&accept, Value::Null).await.expect(200);
}

#[tokio::test]
async fn a_password_is_the_same_on_every_keyboard() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let body = json!({ "email": "ada@x.test", "password": "\u{fc}ber\u{3000}alle Berge" });
    let _ = admin.post("/v1/users", body).await.expect(201);
    for (password, status) in [
        ("\u{fc}ber\u{3000}alle Berge", 200),
        ("u\u{308}ber alle Berge", 200),
        ("\u{fc}ber\u{a0}alle\u{2003}Berge", 200),
        ("\u{dc}ber alle Berge", 401),
        ("uber alle Berge", 401),
    ] {
        let body = json!({ "email": "ada@x.test", "password": password });
        assert_eq!(platform.client.post("/v1/sessions", body).await.status, status, "{password}");
    }
    // a password change accepts the current password in any form
    let client = platform.client.token(
        platform
            .client
            .post("/v1/sessions", json!({ "email": "ada@x.test", "password": "\u{fc}ber alle Berge" }))
            .await
            .expect(200)
            .str("access_token"),
    );
    let change = json!({ "current_password": "u\u{308}ber alle Berge", "new_password": "A\u{30a}ngstro\u{308}m units" });
    let _ = client.put("/v1/me/password", change).await.expect(204);
    let body = json!({ "email": "ada@x.test", "password": "\u{212b}ngstr\u{f6}m units" });
    let _ = platform.client.post("/v1/sessions", body).await.expect(200);
    let bad = json!({ "email": "eve@x.test", "password": "tab\tand more" });
    admin.post("/v1/users", bad).await.expect_problem(422, "invalid-field");
}

#[tokio::test]
async fn names_that_look_alike_are_one_name() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let first = admin.post("/v1/tenants", json!({ "name": "Ko\u{308}hler Studio" })).await.expect(201);
    assert_eq!(first.str("name"), "K\u{f6}hler Studio");
    for taken in
        ["K\u{f6}hler Studio", "K\u{d6}HLER STUDIO", "KO\u{308}HLER\u{a0}STUDIO", "\u{ff2b}\u{f6}hler Studio"]
    {
        admin.post("/v1/tenants", json!({ "name": taken })).await.expect_problem(409, "name-taken");
    }
    let other = admin.post("/v1/tenants", json!({ "name": "Kohler Studio" })).await.expect(201);
    let path = format!("/v1/tenants/{}", other.str("id"));
    admin.patch(&path, "*", json!({ "name": "K\u{d6}hler Studio" })).await.expect_problem(409, "name-taken");
    // a tenant may change the case of its own name
    let path = format!("/v1/tenants/{}", first.str("id"));
    let _ = admin.patch(&path, "*", json!({ "name": "K\u{d6}hler Studio" })).await.expect(200);
    let found = admin.get("/v1/tenants?name_prefix=KO%CC%88").await.expect(200);
    assert_eq!(found.body["items"].as_array().unwrap().len(), 1);
}
