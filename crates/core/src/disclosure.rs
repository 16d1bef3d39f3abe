//! disclosure
