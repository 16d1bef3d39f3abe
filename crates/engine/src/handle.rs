//! Handles of runs, requests, grants, results and pending work: names nobody can guess.

use toolcrib_core::ContentHash;

use crate::store::StoreError;

/// 26 characters of base 32 (digits and `a` to `v`) derived from 128 random bits of the operating system.
///
/// # Errors
/// If the operating system gives no random bytes.
pub fn fresh() -> Result<String, StoreError> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|error| StoreError::Failed {
        operation: "make a handle",
        cause: format!("the operating system gives no random bytes: {error}"),
    })?;
    Ok(ContentHash::of_bytes(&random).base32(26))
}
