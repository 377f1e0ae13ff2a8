//! Holds: a stopped instance keeps its unit for a part of the price, until a time or until it is given up. Pure. `model/holds` begins and
//! ends them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::claim::Claim;

/// A unit that a stopped instance keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The unit.
    pub claim: Claim,
    /// Time since which it is billed as held, in whole seconds.
    pub since: Timestamp,
    /// When it ends, unless it is given up before. In whole seconds.
    pub until: Timestamp,
}
