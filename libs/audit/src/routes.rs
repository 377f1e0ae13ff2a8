//! The operations that show a service's audit log.

/// Defines `routes()` for the audit log of a service: the list of a tenant's entries for its owners, if
/// the service has any; the list of any tenant's or the platform's for administrators; the verification.
///
/// The names of the functions are the operation ids.
#[macro_export]
macro_rules! log_routes {
    (
        @platform
        $(#[$platform_doc:meta])+ $platform:ident = $platform_path:tt;
        $(#[$verification_doc:meta])+ $verification:ident = $verification_path:tt;
    ) => {
        $(#[$platform_doc])+
        #[utoipa::path(
            get, path = $platform_path, tag = "audit", params($crate::PlatformAuditQuery),
            responses((status = 200, description = "A page of entries", body = api::Page<$crate::AuditEntry>)),
        )]
        async fn $platform(
            axum::extract::State(db): axum::extract::State<db::Db>,
            _admin: auth::Admin,
            api::Query(query): api::Query<$crate::PlatformAuditQuery>,
        ) -> Result<api::Json<api::Page<$crate::AuditEntry>>, api::Problem> {
            let mut tx = db.admin().await?;
            Ok(api::Json($crate::entries(&mut tx, query.tenant_id, query.into_parts()).await?))
        }

        $(#[$verification_doc])+
        #[utoipa::path(
            get, path = $verification_path, tag = "audit",
            responses((status = 200, description = "The result", body = $crate::AuditVerification)),
        )]
        async fn $verification(
            axum::extract::State(db): axum::extract::State<db::Db>,
            _admin: auth::Admin,
        ) -> Result<api::Json<$crate::AuditVerification>, api::Problem> {
            let mut tx = db.admin().await?;
            Ok(api::Json($crate::verify(&mut tx).await?))
        }
    };
    (
        $(#[$tenant_doc:meta])+ tenant $tenant:ident = $tenant_path:tt;
        $(#[$platform_doc:meta])+ platform $platform:ident = $platform_path:tt;
        $(#[$verification_doc:meta])+ verification $verification:ident = $verification_path:tt;
    ) => {
        pub(crate) fn routes<S: auth::HasAuth>() -> api::openapi::OpenApiRouter<S>
        where
            db::Db: axum::extract::FromRef<S>,
        {
            api::openapi::OpenApiRouter::new()
                .routes(utoipa_axum::routes!($tenant))
                .routes(utoipa_axum::routes!($platform))
                .routes(utoipa_axum::routes!($verification))
        }

        $(#[$tenant_doc])+
        #[utoipa::path(
            get, path = $tenant_path, tag = "audit", params($crate::AuditQuery),
            responses((status = 200, description = "A page of entries", body = api::Page<$crate::AuditEntry>)),
        )]
        async fn $tenant(
            axum::extract::State(db): axum::extract::State<db::Db>,
            member: auth::Member,
            api::Query(query): api::Query<$crate::AuditQuery>,
        ) -> Result<api::Json<api::Page<$crate::AuditEntry>>, api::Problem> {
            member.owner()?;
            let mut tx = db.tenant(member.tenant).await?;
            Ok(api::Json($crate::entries(&mut tx, Some(member.tenant), query.into_parts()).await?))
        }

        $crate::log_routes! {
            @platform
            $(#[$platform_doc])+ $platform = $platform_path;
            $(#[$verification_doc])+ $verification = $verification_path;
        }
    };
    (
        $(#[$platform_doc:meta])+ platform $platform:ident = $platform_path:tt;
        $(#[$verification_doc:meta])+ verification $verification:ident = $verification_path:tt;
    ) => {
        pub(crate) fn routes<S: auth::HasAuth>() -> api::openapi::OpenApiRouter<S>
        where
            db::Db: axum::extract::FromRef<S>,
        {
            api::openapi::OpenApiRouter::new()
                .routes(utoipa_axum::routes!($platform))
                .routes(utoipa_axum::routes!($verification))
        }

        $crate::log_routes! {
            @platform
            $(#[$platform_doc])+ $platform = $platform_path;
            $(#[$verification_doc])+ $verification = $verification_path;
        }
    };
}
