//! The first administrator, and one who is locked out.

use atelier_admin::administrator;
use atelier_identity::PutAdministrator;

use crate::world::World;

#[tokio::test]
async fn an_administrator_is_created_and_later_let_in_again() {
    let world = World::new().await;
    let put = async |email: &str, password: &str| {
        administrator::put(&world.config, email, password.to_owned().into()).await
    };
    assert!(put("ann@example.com", "short").await.unwrap_err().to_string().contains("password"));
    assert_eq!(put("ann@example.com", "correct horse").await.unwrap(), PutAdministrator::Created);
    let admins = "select count(*) from identity.users where admin and not disabled and lower(email) = 'ann@example.com'";
    assert_eq!(world.count(admins).await, 1);
    world
        .execute(
            "update identity.users set admin = false, disabled = true;
             insert into identity.totp_factors (user_id, wrapped_by, secret) select id, '1', '' from identity.users;
             insert into identity.sessions (id, user_id, expires_at)
             select gen_random_uuid(), id, now() + interval '1 day' from identity.users",
        )
        .await;
    let before = world.count("select hashtext(password_hash)::bigint from identity.users").await;
    assert_eq!(put("Ann@example.com", "battery staple").await.unwrap(), PutAdministrator::Reset);
    assert_eq!(world.count(admins).await, 1);
    assert_ne!(world.count("select hashtext(password_hash)::bigint from identity.users").await, before);
    assert_eq!(world.count("select count(*) from identity.totp_factors").await, 0);
    assert_eq!(world.count("select count(*) from identity.sessions where ended_at is null").await, 0);
}
