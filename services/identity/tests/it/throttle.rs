//! The throttle of failed sign-ins: who is locked, and who is not.

use serde_json::json;
use sqlx::PgConnection;
use testkit::{Client, Response};

use crate::platform::{ADMIN, PASSWORD, Platform};

const OWN: &str = "203.0.113.7";
const STRANGERS: &str = "198.51.100.1";
const ELSEWHERE: &str = "192.0.2.1";

async fn try_in(client: &Client, address: &str, email: &str, password: &str) -> Response {
    let body = json!({ "email": email, "password": password });
    client.header("x-forwarded-for", address).post("/v1/sessions", body).await
}

/// Tries wrong passwords and returns the statuses.
async fn guess(client: &Client, address: &str, email: &str, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(try_in(client, address, email, "whatever1").await.status);
    }
    statuses
}

/// Adds failures to the account's count for unknown networks.
async fn attack_from_everywhere(conn: &mut PgConnection, email: &str) {
    let many = "insert into identity.sign_in_throttles
                values (sha256(convert_to($1, 'UTF8')), '', 1000, now(), now())";
    sqlx::query(many).bind(email).execute(conn).await.unwrap();
}

/// Keeps the account's count for unknown networks high.
async fn attack_again(conn: &mut PgConnection) {
    let many =
        "update identity.sign_in_throttles set failures = 1000, last_failed_at = now() where network = ''";
    sqlx::query(many).execute(conn).await.unwrap();
}

/// Locks unknown networks for an hour, as failures from a thousand of them would.
async fn lock_new_networks(conn: &mut PgConnection, email: &str) {
    let lock = "insert into identity.sign_in_throttles
                values (sha256(convert_to($1, 'UTF8')), '*', 2000, now(), now() + interval '1 hour')
                on conflict (account, network) do update set locked_until = now() + interval '1 hour'";
    sqlx::query(lock).bind(email).execute(conn).await.unwrap();
}

/// Makes all recorded failures and locks older.
async fn wait(conn: &mut PgConnection, interval: &str) {
    let older = "update identity.sign_in_throttles
                 set last_failed_at = last_failed_at - $1::interval, locked_until = locked_until - $1::interval";
    sqlx::query(older).bind(interval).execute(conn).await.unwrap();
}

async fn failures_of_client(conn: &mut PgConnection, host: &str) -> Option<f64> {
    let one = "select failures from identity.sign_in_throttles where account = '' and network = $1";
    sqlx::query_scalar(one).bind(host).fetch_optional(conn).await.unwrap()
}

#[tokio::test]
async fn strangers_do_not_lock_the_owner_out() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    let _ = try_in(client, OWN, ADMIN, PASSWORD).await.expect(200);
    let guesses = guess(client, STRANGERS, ADMIN, 50).await;
    assert_eq!(guesses[..6], [401; 6]);
    assert!(guesses.iter().filter(|status| **status == 429).count() > 30, "{guesses:?}");
    // another address in the owner's network
    let _ = try_in(client, "203.0.113.99", ADMIN, PASSWORD).await.expect(200);

    attack_from_everywhere(&mut db, "owner@x.test").await;
    let admin = platform.admin().await;
    platform.user(&admin, "owner@x.test").await;
    // the owner signs in for the first time, then the attack begins
    let _ = try_in(client, OWN, "owner@x.test", PASSWORD).await.expect(200);
    assert_eq!(guess(client, STRANGERS, "owner@x.test", 2).await, [401, 429]);
    for _ in 0..2 {
        let _ = try_in(client, OWN, "Owner@x.test", "whatever1").await.expect(401);
        let _ = try_in(client, OWN, "Owner@x.test", PASSWORD).await.expect(200);
    }
    // also in a network that the owner has never used
    let _ = try_in(client, ELSEWHERE, "owner@x.test", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn beside_guessers_the_owner_signs_in_from_new_networks() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    attack_from_everywhere(&mut db, ADMIN).await;
    for n in 0..12 {
        // each of these networks has one guess
        let (guesser, owner) = (format!("198.18.{n}.1"), format!("192.1.{n}.1"));
        assert_eq!(guess(client, &guesser, ADMIN, 2).await, [401, 429], "{guesser}");
        assert_eq!(try_in(client, &owner, ADMIN, PASSWORD).await.status, 200, "{owner}");
    }
    // a wrong password in a new network costs a minute there
    assert_eq!(guess(client, ELSEWHERE, ADMIN, 1).await, [401]);
    let locked = try_in(client, ELSEWHERE, ADMIN, PASSWORD).await.expect_problem(429, "too-many-attempts");
    let seconds: u64 = locked.header("retry-after").unwrap().parse().unwrap();
    assert!((30..=61).contains(&seconds), "{seconds}");
    wait(&mut db, "1 minute").await;
    let _ = try_in(client, ELSEWHERE, ADMIN, PASSWORD).await.expect(200);
    // attackers' networks are locked for increasing times
    for minutes in [1, 2, 4, 8] {
        attack_again(&mut db).await;
        assert_eq!(guess(client, STRANGERS, ADMIN, 1).await, [401], "before {minutes} min");
        let locked = try_in(client, STRANGERS, ADMIN, "whatever1").await.expect(429);
        let seconds: u64 = locked.header("retry-after").unwrap().parse().unwrap();
        assert!((30 * minutes..=60 * minutes + 1).contains(&seconds), "{minutes} min: {seconds} s");
        wait(&mut db, &format!("{minutes} minutes")).await;
    }
}

#[tokio::test]
async fn a_browser_of_the_owner_is_locked_by_its_own_failures_only() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    let admin = platform.as_user(ADMIN).await;
    platform.user(&admin, "ada@x.test").await;
    let body = json!({ "email": ADMIN, "password": PASSWORD, "cookie": true });
    let signed_in =
        client.header("x-forwarded-for", OWN).post("/v1/sessions", body.clone()).await.expect(200);
    let cookies: Vec<_> =
        signed_in.headers.get_all("set-cookie").iter().map(|one| one.to_str().unwrap()).collect();
    assert_eq!(cookies.len(), 2, "{cookies:?}");
    let device = cookies[1];
    assert!(
        device.starts_with("__Host-atelier_device=") && device.contains("; HttpOnly; SameSite=Lax; Secure"),
        "{device}"
    );
    assert!(device.contains("Max-Age=7776000"), "{device}");
    let device = device.split(';').next().unwrap();
    let browser = client.header("cookie", &format!("a=b; {device}"));

    // all locks for unknown networks are active
    attack_from_everywhere(&mut db, ADMIN).await;
    lock_new_networks(&mut db, ADMIN).await;
    assert!(guess(client, ELSEWHERE, ADMIN, 1).await == [429]);
    for n in 0..25 {
        guess(client, ELSEWHERE, &format!("nobody{n}@x.test"), 1).await;
    }
    let _ = try_in(&browser, ELSEWHERE, ADMIN, PASSWORD).await.expect(200);
    // failures of a known browser are counted for it in any network, and lock nobody else
    for (n, status) in [401; 6].into_iter().enumerate() {
        assert_eq!(try_in(&browser, &format!("192.0.{n}.1"), ADMIN, "whatever1").await.status, status);
    }
    try_in(&browser, "192.0.9.1", ADMIN, PASSWORD).await.expect_problem(429, "too-many-attempts");
    let _ = try_in(client, OWN, ADMIN, PASSWORD).await.expect(200);
    wait(&mut db, "1 minute").await;
    let again = browser.header("x-forwarded-for", ELSEWHERE).post("/v1/sessions", body).await.expect(200);
    let again = again.headers.get_all("set-cookie").iter().nth(1).unwrap().to_str().unwrap().to_owned();
    let browser = client.header("cookie", again.split(';').next().unwrap());
    let _ = try_in(&browser, ELSEWHERE, ADMIN, PASSWORD).await.expect(200);

    // the cookie is not valid for another account, and cannot be forged
    attack_from_everywhere(&mut db, "ada@x.test").await;
    lock_new_networks(&mut db, "ada@x.test").await;
    try_in(&browser, "192.0.20.1", "ada@x.test", PASSWORD).await.expect_problem(429, "too-many-attempts");
    lock_new_networks(&mut db, ADMIN).await;
    for forged in ["__Host-atelier_device=x.y", "__Host-atelier_device=", &format!("{device}x"), "other=1"] {
        let forger = client.header("cookie", forged);
        try_in(&forger, "192.0.21.1", ADMIN, PASSWORD).await.expect_problem(429, "too-many-attempts");
    }
    // sign-ins with tokens do not set it
    let tokens = try_in(client, OWN, ADMIN, PASSWORD).await.expect(200);
    assert_eq!(tokens.header("set-cookie"), None);
}

#[tokio::test]
async fn a_thousand_new_networks_lock_the_others() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    attack_from_everywhere(&mut db, ADMIN).await;
    let almost = "insert into identity.sign_in_throttles
                  values (sha256(convert_to($1, 'UTF8')), '*', 1010, now(), now())";
    sqlx::query(almost).bind(ADMIN).execute(&mut db).await.unwrap();
    let _ = try_in(client, ELSEWHERE, ADMIN, PASSWORD).await.expect(200);
    assert_eq!(guess(client, STRANGERS, ADMIN, 1).await, [401]);
    let locked = try_in(client, "192.0.30.1", ADMIN, PASSWORD).await;
    locked.expect_problem(429, "too-many-attempts");
    // known networks are not locked
    let _ = try_in(client, ELSEWHERE, ADMIN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn a_network_is_known_for_ninety_days() {
    let platform = Platform::start().await;
    let mut db = platform.db.admin().await;
    let _ = try_in(&platform.client, OWN, ADMIN, PASSWORD).await.expect(200);
    attack_from_everywhere(&mut db, ADMIN).await;
    assert_eq!(guess(&platform.client, STRANGERS, ADMIN, 1).await, [401]);
    let age = "update identity.known_networks set last_signed_in_at = now() - $1::interval";
    for (days, statuses) in [("89 days", [401, 401]), ("91 days", [401, 429])] {
        sqlx::query(age).bind(days).execute(&mut db).await.unwrap();
        assert_eq!(guess(&platform.client, OWN, ADMIN, 2).await, statuses, "after {days}");
        wait(&mut db, "3 hours").await;
        attack_again(&mut db).await;
    }
    let _replica = platform.replica().await;
    testkit::eventually("old networks are deleted", async || {
        let left = "select count(*) from identity.known_networks where network = '203.0.113.0/24'";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut db).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_network_is_locked_for_one_account_at_a_time() {
    let platform = Platform::start().await;
    let client = &platform.client;
    assert_eq!(guess(client, STRANGERS, ADMIN, 6).await, [401; 6]);
    for address in [STRANGERS, "198.51.100.200"] {
        try_in(client, address, ADMIN, PASSWORD).await.expect_problem(429, "too-many-attempts");
    }
    let _ = try_in(client, STRANGERS, "nobody@x.test", PASSWORD).await.expect(401);
    let _ = try_in(client, ELSEWHERE, ADMIN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn a_client_that_tries_many_accounts_is_locked() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    for i in 0..21 {
        let answer = try_in(client, STRANGERS, &format!("nobody{i}@x.test"), "whatever1").await;
        assert_eq!(answer.status, 401, "account {i}");
        if i == 10 {
            // a successful sign-in to the attacker's own account does not clear the count
            let _ = try_in(client, STRANGERS, ADMIN, PASSWORD).await.expect(200);
        }
    }
    for email in ["another@x.test", ADMIN] {
        let answer =
            try_in(client, STRANGERS, email, PASSWORD).await.expect_problem(429, "too-many-attempts");
        assert!(answer.header("retry-after").is_some());
    }
    let _ = try_in(client, "198.51.100.2", ADMIN, PASSWORD).await.expect(200);
    let count = failures_of_client(&mut db, "198.51.100.1/32").await.unwrap();
    assert!(count > 20.0 && count <= 21.0, "{count}");
}

#[tokio::test]
async fn accounts_that_do_not_exist_are_counted_and_locked_alike() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    let counts = "select case network when '' then '' else split_part(network, '/', 2) end as kind,
                         ceil(failures)::int, ceil(extract(epoch from locked_until - last_failed_at))::int
                  from identity.sign_in_throttles order by kind";
    let mut seen = Vec::new();
    for (email, address) in [(ADMIN, OWN), ("nobody@x.test", ELSEWHERE)] {
        sqlx::query("delete from identity.sign_in_throttles").execute(&mut db).await.unwrap();
        let mut answers = Vec::new();
        for _ in 0..7 {
            let answer = try_in(client, address, email, "whatever1").await;
            answers.push((answer.status, answer.header("retry-after").map(str::to_owned), answer.text));
        }
        let counted: Vec<(String, i32, i32)> = sqlx::query_as(counts).fetch_all(&mut db).await.unwrap();
        seen.push((answers, counted));
    }
    assert_eq!(seen[0], seen[1]);
    let counted: Vec<_> = seen[0].1.iter().map(|(kind, failures, _)| (kind.as_str(), *failures)).collect();
    assert_eq!(counted, [("", 6), ("24", 6), ("32", 6)]);
}

#[tokio::test]
async fn locks_end_and_failures_are_forgotten() {
    let platform = Platform::start().await;
    let client = &platform.client;
    let mut db = platform.db.admin().await;
    assert_eq!(guess(client, STRANGERS, ADMIN, 6).await, [401; 6]);
    try_in(client, STRANGERS, ADMIN, PASSWORD).await.expect_problem(429, "too-many-attempts");
    // one failure is forgotten per minute: the next one is the sixth again
    wait(&mut db, "1 minute").await;
    assert_eq!(guess(client, STRANGERS, ADMIN, 2).await, [401, 429]);
    wait(&mut db, "10 minutes").await;
    assert_eq!(guess(client, STRANGERS, ADMIN, 5).await, [401; 5]);
    let _ = try_in(client, STRANGERS, ADMIN, PASSWORD).await.expect(200);
    // a correct password clears the failures of the account in the network
    assert_eq!(guess(client, STRANGERS, ADMIN, 5).await, [401; 5]);
    let _ = try_in(client, STRANGERS, ADMIN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn without_the_header_the_peer_is_the_client() {
    let platform = Platform::start().await;
    let body = json!({ "email": "nobody@x.test", "password": "whatever1" });
    let _ = platform.client.post("/v1/sessions", body).await.expect(401);
    let mut db = platform.db.admin().await;
    assert_eq!(failures_of_client(&mut db, "127.0.0.1/32").await, Some(1.0));
}

#[tokio::test]
async fn attempts_to_change_a_password_are_counted_too() {
    let platform = Platform::start().await;
    let client = platform.admin().await.header("x-forwarded-for", STRANGERS);
    let wrong = json!({ "current_password": "not this one", "new_password": "a new password" });
    for _ in 0..6 {
        client.put("/v1/me/password", wrong.clone()).await.expect_problem(422, "invalid-field");
    }
    let locked = client.put("/v1/me/password", wrong).await.expect_problem(429, "too-many-attempts");
    assert!(locked.header("retry-after").is_some());
    assert_eq!(guess(&platform.client, STRANGERS, ADMIN, 1).await, [429]);
    let _ = try_in(&platform.client, OWN, ADMIN, PASSWORD).await.expect(200);
}
