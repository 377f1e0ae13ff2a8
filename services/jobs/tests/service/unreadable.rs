//! A row that a later release has written, or a hand: it hides no other, and is not hidden itself.

use ids::{JobId, TenantId};
use serde_json::json;

use crate::fixture::{Fixture, pool, submit};

#[tokio::test]
async fn a_row_that_cannot_be_read_hides_no_other() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(submit(&member, json!({})).await.str("id").to_owned());
    }
    let poison = &ids[1];
    let statement = format!(
        "alter table jobs.jobs drop constraint jobs_state_check;
         update jobs.jobs set state = 'frozen' where id = '{}'",
        poison.parse::<JobId>().unwrap().uuid()
    );
    let mut conn = fixture.db.admin().await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut conn).await.unwrap();
    let list = member.get("/v1/jobs").await.expect(200).body;
    let found: Vec<_> = list["items"].as_array().unwrap().iter().map(|job| job["id"].clone()).collect();
    assert_eq!((found, &list["unreadable"]), (vec![json!(ids[2]), json!(ids[0])], &json!([poison])));
    member.get(&format!("/v1/jobs/{poison}")).await.expect_problem(500, "unreadable");
    service.stop().await;
}
