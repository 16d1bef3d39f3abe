//! The JSON API over real HTTP.
