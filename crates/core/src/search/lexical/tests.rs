//! What the default ranker promises.
