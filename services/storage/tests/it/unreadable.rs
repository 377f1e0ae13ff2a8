//! A row that a later release has written, or a hand: it hides no other, and is not hidden itself.

use ids::{StorageId, TenantId};
use serde_json::{Value, json};
use testkit::Client;

use crate::fixture::{Fixture, make, specs};

/// Names of the items and ids of the unreadable rows of all pages.
async fn walk(client: &Client, path: &str) -> (Vec<String>, Vec<String>) {
    let (mut names, mut unreadable, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}?limit=1{cursor}")).await.expect(200).body;
        let texts = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        names.extend(
            page["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()),
        );
        unreadable.extend(texts(&page["unreadable"]));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (names, unreadable),
        }
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_hides_no_other() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    specs(&admin).await;
    let (member, other) =
        (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    make(&member, "first", "archive", 1).await;
    let poison = make(&member, "poison", "archive", 1).await.str("id").to_owned();
    make(&member, "last", "archive", 1).await;
    make(&other, "of another", "archive", 1).await;
    let all = member.get("/v1/storages").await.expect(200).body;
    assert_eq!((all["items"].as_array().unwrap().len(), &all["unreadable"]), (3, &json!([])));

    let mut conn = fixture.db.admin().await;
    // a failure without a reason, as of the drill; a state that this release does not know
    for damage in ["state = 'failed', reason = null", "state = 'frozen'"] {
        let statement = format!(
            "alter table storage.storages disable trigger all; alter table storage.storages drop constraint if exists storages_state_check;
             update storage.storages set {damage} where id = '{}'",
            poison.parse::<StorageId>().unwrap().uuid()
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut conn).await.unwrap();

        let list = member.get("/v1/storages").await.expect(200).body;
        let names: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
        assert_eq!((names, &list["unreadable"]), (vec!["last", "first"], &json!([poison])));
        assert_eq!(
            walk(&member, "/v1/storages").await,
            (vec!["last".into(), "first".into()], vec![poison.clone()])
        );
        let of_all = walk(&admin, "/v1/platform-storages").await;
        assert_eq!(of_all.0, ["of another", "last", "first"]);
        assert_eq!(of_all.1, std::slice::from_ref(&poison));
        let others = other.get("/v1/storages").await.expect(200).body;
        assert_eq!((others["items"].as_array().unwrap().len(), &others["unreadable"]), (1, &json!([])));

        let path = format!("/v1/storages/{poison}");
        for answer in [
            member.get(&path).await,
            member.patch(&path, "*", json!({ "name": "other" })).await,
            member.delete(&path).await,
            admin.get(&format!("/v1/platform-storages/{poison}")).await,
        ] {
            let answer = answer.expect_problem(500, "unreadable");
            assert!(answer.str("next").contains("administrator"), "{}", answer.text);
            assert_eq!(
                (answer.str("detail"), answer.header("retry-after")),
                ("The stored record cannot be read.", None)
            );
        }
    }
    let metrics = service.client.get("/metrics").await.expect(200).text;
    let counted = metrics.lines().find_map(|line| line.strip_prefix("list_unreadable_rows_total "));
    assert!(counted.is_some_and(|count| count.parse::<u64>().unwrap() >= 6), "{metrics}");

    let repair = "update storage.storages set state = 'available', reason = null";
    sqlx::raw_sql(repair).execute(&mut conn).await.unwrap();
    assert_eq!(walk(&member, "/v1/storages").await.0.len(), 3);
}
