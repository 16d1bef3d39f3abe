//! Encoders to bring along for searches (`toolcrib_engine::encoder`): a static model in a folder, and an HTTP endpoint of
//! embeddings. Each is behind a feature of its own, `encoder-static` and `encoder-http`.

#[cfg(feature = "encoder-static")]
mod folder;
#[cfg(feature = "encoder-http")]
mod http;

#[cfg(feature = "encoder-static")]
pub use folder::StaticEncoder;
#[cfg(feature = "encoder-http")]
pub use http::{HttpEncoder, HttpEncoderSettings};
