//! New secrets and recovery codes, of random numbers.

use api::Problem;

use super::model::recovery_code;

/// Recovery codes of one user.
const RECOVERY_CODES: usize = 10;

/// Returns a new secret: 160 bits, the length of the hash.
///
/// # Errors
/// If no random numbers are to be had.
pub(super) fn secret() -> Result<[u8; 20], Problem> {
    random()
}

/// Returns new recovery codes.
///
/// # Errors
/// If no random numbers are to be had.
pub(super) fn recovery_codes() -> Result<Vec<String>, Problem> {
    (0..RECOVERY_CODES).map(|_| random().map(recovery_code)).collect()
}

fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(Problem::internal)?;
    Ok(bytes)
}
