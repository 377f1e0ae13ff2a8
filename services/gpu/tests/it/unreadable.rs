//! A row that a later release has written, or a hand: it hides no other, and is not hidden itself.

use serde_json::json;

use crate::harness::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_cannot_be_read_hides_no_other() {
    let fixture = Fixture::start().await;
    let (admin, member) = (fixture.admin(), fixture.member());
    let mut ids = Vec::new();
    for name in ["first", "poison", "last"] {
        let mut order = Fixture::order();
        (order["name"], order["start"]) = (json!(name), json!(false));
        ids.push(member.post("/v1/instances", order).await.expect(202).str("id").to_owned());
    }
    assert_eq!(member.get("/v1/instances").await.expect(200).body["unreadable"], json!([]));
    assert_eq!(fixture.execute("update gpu.instances set meter = '\"x\"' where name = 'poison'").await, 1);
    for (client, path) in [(&member, "/v1/instances"), (&admin, "/v1/platform-instances")] {
        let list = client.get(path).await.expect(200).body;
        let listed: Vec<_> =
            list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!((listed, &list["unreadable"]), (vec![&*ids[2], &*ids[0]], &json!([ids[1]])), "{path}");
        let one = client.get(&format!("{path}/{}", ids[1])).await.expect_problem(500, "unreadable");
        assert!(one.str("next").contains("administrator"), "{}", one.text);
        // pages end where they would with all rows
        let first = client.get(&format!("{path}?limit=2")).await.expect(200).body;
        assert_eq!((first["items"].as_array().unwrap().len(), &first["unreadable"]), (1, &json!([ids[1]])));
        let cursor = first["next_cursor"].as_str().unwrap();
        let second = client.get(&format!("{path}?limit=2&cursor={cursor}")).await.expect(200).body;
        assert_eq!((&second["items"][0]["id"], &second["unreadable"]), (&json!(ids[0]), &json!([])));
    }
    let named = member.get("/v1/instances?name=last").await.expect(200).body;
    assert_eq!((named["items"].as_array().unwrap().len(), &named["unreadable"]), (1, &json!([])));
}
