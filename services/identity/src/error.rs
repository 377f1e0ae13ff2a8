//! Errors of the service, and their one mapping to problems.

use api::{FieldError, Problem, ProblemType};
use auth::{Role, Scope};
use ids::TenantId;

/// Why a request cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("not found")]
    NotFound,
    #[error("{pointer}: {detail}")]
    InvalidField { pointer: &'static str, detail: String },
    #[error("the role {required:?} is required, the caller is {actual:?}")]
    RoleTooLow { required: Role, actual: Role },
    /// Also for an unknown e-mail address: both look alike.
    #[error("wrong e-mail address or password")]
    WrongCredentials,
    #[error("a second factor is required")]
    SecondFactorMissing,
    #[error("wrong second factor")]
    SecondFactorWrong,
    #[error("the second factor is enabled")]
    TotpEnabled,
    #[error("passkeys are not configured")]
    PasskeysDisabled,
    /// Why is logged: all reasons look alike.
    #[error("the passkey is not accepted")]
    PasskeyRefused,
    #[error("the user has {most} passkeys")]
    TooManyPasskeys { most: i64 },
    #[error("the user could no longer sign in")]
    LastSignInMethod,
    #[error("the account of the provider belongs to another user")]
    AccountTaken,
    #[error("the sign-in is more than {within} s ago")]
    SignInTooOld { within: u32 },
    #[error("an API key makes and changes no owners")]
    OwnerByApiKey,
    #[error("a person has sent the invitation")]
    InvitedByPerson,
    #[error("the resource has changed since it was read")]
    ChangedMeanwhile,
    #[error("sign-in is locked for {seconds} s")]
    SignInLocked { seconds: i64 },
    /// Also for an unknown key: all reasons look alike.
    #[error("the API key is unknown or has ended")]
    ApiKeyInvalid,
    #[error("the scope {0} is missing")]
    ScopeMissing(Scope),
    #[error("the user has {most} API keys")]
    TooManyApiKeys { most: i64 },
    /// Why is logged: only the operator can change it.
    #[error("the sign-in with the provider failed")]
    SignInFailed,
    #[error("the person has no account")]
    NoAccount,
    #[error("the session has ended")]
    SessionEnded,
    #[error("the session of the token has ended")]
    SignedOut,
    #[error("the caller is not an administrator")]
    NotAnAdministrator,
    #[error("the user is disabled")]
    UserDisabled,
    #[error("the user of the token no longer exists")]
    UserDeleted,
    #[error("the user is not a member of the tenant")]
    NotAMember,
    #[error("the tenant is suspended")]
    TenantSuspended,
    #[error("the tenant is active")]
    TenantActive,
    #[error("the tenant has members besides its owners")]
    TenantHasMembers,
    #[error("the name is in use")]
    NameTaken,
    #[error("the e-mail address is in use")]
    EmailTaken,
    #[error("the platform would lose its last administrator")]
    LastAdministrator,
    #[error("{0} would lose its last owner")]
    LastOwner(TenantId),
    #[error("the user is already a member")]
    AlreadyAMember,
    #[error("an owner adds members by invitation")]
    InvitationRequired,
    #[error("the tenant has {most} open invitations")]
    TooManyInvitations { most: i64 },
    #[error("the next signing key is already requested or published")]
    RotationInProgress,
    #[error("no signing key is active")]
    NoSigningKey,
    #[error("too many passwords are being hashed")]
    HasherBusy,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl Error {
    /// A field of the request that is not valid.
    pub(crate) fn invalid(pointer: &'static str, detail: impl Into<String>) -> Self {
        Self::InvalidField { pointer, detail: detail.into() }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::InvalidField { pointer, detail } => {
                Self::invalid(vec![FieldError { pointer: pointer.to_owned(), detail }])
            }
            Error::RoleTooLow { required, actual } => Self::forbidden(format!(
                "This needs the role {required:?} in the tenant; yours is {actual:?}."
            )),
            Error::WrongCredentials => {
                Self::new(ProblemType::WrongCredentials, "No user has this e-mail address and password.")
            }
            Error::SecondFactorMissing => Self::new(
                ProblemType::SecondFactorRequired,
                "The password is right. A code of your authenticator app, or a passkey, is needed as well.",
            ),
            Error::SecondFactorWrong => Self::new(
                ProblemType::SecondFactorRequired,
                "The code is not one of now, or was used before; or the passkey is not yours, or has answered no new challenge.",
            ),
            Error::TotpEnabled => Self::new(ProblemType::TotpEnabled, "Your sign-in requires codes already."),
            Error::PasskeysDisabled => {
                Self::new(ProblemType::PasskeysDisabled, "This platform has no passkeys.")
            }
            Error::PasskeyRefused => Self::new(
                ProblemType::PasskeyRefused,
                "The passkey is unknown, or has not answered a challenge of the last minutes for this platform.",
            ),
            Error::TooManyPasskeys { most } => {
                Self::new(ProblemType::TooManyPasskeys, format!("A user has at most {most} passkeys."))
                    .with("limit", most)
            }
            Error::LastSignInMethod => {
                Self::new(ProblemType::LastSignInMethod, "Without it you could not sign in any more.")
            }
            Error::AccountTaken => Self::new(
                ProblemType::AccountTaken,
                "Another user signs in with this account of the provider.",
            ),
            Error::SignInTooOld { within } => Self::new(
                ProblemType::RecentSignInRequired,
                format!("You may change how you sign in for {within} s after you have signed in."),
            )
            .with("within_seconds", within),
            Error::OwnerByApiKey => Self::new(
                ProblemType::PersonRequired,
                "Only a person who has signed in makes, changes and removes owners: no API key does.",
            ),
            Error::InvitedByPerson => Self::new(
                ProblemType::PersonRequired,
                "A person has invited this address: an API key does not change the invitation. It may withdraw it first.",
            ),
            Error::ChangedMeanwhile => {
                Self::new(ProblemType::ChangedMeanwhile, "The resource has changed since you read it.")
            }
            Error::SignInLocked { seconds } => Self::new(
                ProblemType::TooManyAttempts,
                format!("Sign-in is locked for {seconds} s after several wrong passwords."),
            )
            .with("retry_after", seconds),
            Error::ApiKeyInvalid => Self::new(
                ProblemType::ApiKeyInvalid,
                "The API key is unknown or has expired, or its user has lost the rights.",
            ),
            Error::ScopeMissing(scope) => Self::new(
                ProblemType::InsufficientScope,
                format!("The scope `{scope}` cannot be granted by an API key that does not have it."),
            )
            .with("scope", scope),
            Error::TooManyApiKeys { most } => {
                Self::new(ProblemType::TooManyApiKeys, format!("A user has at most {most} API keys."))
                    .with("limit", most)
            }
            Error::SignInFailed => Self::new(
                ProblemType::SignInFailed,
                "The provider refused the sign-in, or it was begun in another browser or too long ago.",
            ),
            Error::NoAccount => {
                Self::new(ProblemType::NoAccount, "This account of the provider belongs to no user.")
            }
            Error::SessionEnded => Self::new(
                ProblemType::SessionEnded,
                "The refresh token or cookie is unknown, or its session has ended.",
            ),
            Error::SignedOut => Self::unauthenticated("The session of this token has ended; sign in again."),
            Error::NotAnAdministrator => Self::forbidden("Only platform administrators may do this."),
            Error::UserDisabled => {
                Self::new(ProblemType::UserDisabled, "An administrator has disabled this account.")
            }
            Error::UserDeleted => Self::unauthenticated("The user of this token no longer exists."),
            Error::NotAMember => {
                Self::new(ProblemType::NotAMember, "You are not a member of a tenant with this id.")
            }
            Error::TenantSuspended => Self::new(
                ProblemType::TenantSuspended,
                "Nobody can sign in to this tenant, or join it, while it is suspended.",
            ),
            Error::TenantActive => {
                Self::new(ProblemType::TenantActive, "Only a suspended tenant can be deleted.")
            }
            Error::TenantHasMembers => Self::new(
                ProblemType::TenantHasMembers,
                "Only a tenant without members other than owners can be deleted.",
            ),
            Error::NameTaken => Self::new(ProblemType::NameTaken, "Another tenant has this name."),
            Error::EmailTaken => Self::new(ProblemType::EmailTaken, "Another user has this e-mail address."),
            Error::LastAdministrator => {
                Self::new(ProblemType::LastAdministrator, "This is the only administrator who can sign in.")
            }
            Error::LastOwner(tenant) => {
                Self::new(ProblemType::LastOwner, "This is the only owner of the tenant.")
                    .with("tenant_id", tenant)
            }
            Error::AlreadyAMember => {
                Self::new(ProblemType::AlreadyAMember, "The user is a member of this tenant.")
            }
            Error::InvitationRequired => {
                Self::forbidden("Only platform administrators add members without an invitation.")
                    .next("Invite the person with POST /v1/tenants/{id}/invitations.")
            }
            Error::TooManyInvitations { most } => Self::new(
                ProblemType::TooManyInvitations,
                format!("A tenant has at most {most} open invitations."),
            ),
            Error::RotationInProgress => Self::new(
                ProblemType::RotationUnderWay,
                "The next signing key is already requested or published, and signs soon.",
            ),
            Error::NoSigningKey => Self::unavailable("The signing key", error),
            Error::HasherBusy => Self::unavailable("The sign-in service", error),
            Error::Database(error) => error.into(),
            Error::Internal(error) => Self::internal(error),
        }
    }
}
