mod cases;
mod model;

use super::*;

/// Some day in 2023.
const START: u64 = 1_700_000_000_000;
