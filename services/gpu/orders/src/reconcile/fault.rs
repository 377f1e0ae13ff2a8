//! Points of a reconcile at which tests inject faults.

use std::sync::Arc;

use gpu_core::instance::Action;

/// Declares the kinds of actions, all of which have fault cases (tests/it/faults.rs).
macro_rules! action_kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// The kind of an [`Action`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ActionKind {
            $($(#[$doc])* $kind,)*
        }

        impl ActionKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];
        }
    };
}

action_kinds! {
    /// [`Action::Attach`].
    Attach,
    /// [`Action::DetachRemoved`].
    DetachRemoved,
    /// [`Action::Claim`].
    Claim,
    /// [`Action::WriteSecret`].
    WriteSecret,
    /// [`Action::Apply`].
    Apply,
    /// [`Action::Vacate`].
    Vacate,
    /// [`Action::DeleteSecret`].
    DeleteSecret,
    /// [`Action::Release`].
    Release,
    /// [`Action::Detach`].
    Detach,
    /// [`Action::ReleaseLeftovers`].
    ReleaseLeftovers,
}

impl From<&Action> for ActionKind {
    fn from(action: &Action) -> Self {
        match action {
            Action::Attach(_) => Self::Attach,
            Action::DetachRemoved(_) => Self::DetachRemoved,
            Action::Claim => Self::Claim,
            Action::WriteSecret(_) => Self::WriteSecret,
            Action::Apply => Self::Apply,
            Action::Vacate(_) => Self::Vacate,
            Action::DeleteSecret(_) => Self::DeleteSecret,
            Action::Release => Self::Release,
            Action::Detach => Self::Detach,
            Action::ReleaseLeftovers => Self::ReleaseLeftovers,
        }
    }
}

/// A point of a reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Before a call of another service or a cluster.
    Before(ActionKind),
    /// After the call took effect; nothing of it is stored yet.
    After(ActionKind),
    /// A transaction was committed.
    Committed,
}

/// The fault at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The call fails. Has no effect after a commit.
    Error,
    /// The reconcile stops, as if the process had been killed.
    Hang,
}

/// Decides what happens at a point.
pub type Faults = Arc<dyn Fn(Point) -> Fault + Send + Sync>;

/// Injects a fault, if there is one. Returns an error if the call fails.
pub(super) async fn inject(faults: Option<&Faults>, point: Point) -> anyhow::Result<()> {
    match faults.map_or(Fault::None, |faults| faults(point)) {
        Fault::None => Ok(()),
        Fault::Error => Err(anyhow::anyhow!("injected: {point:?}")),
        Fault::Hang => std::future::pending().await,
    }
}
