//! The encoder of searches that a configuration names.

use std::{path::Path, sync::Arc, time::Duration};

use toolcrib_config::{
    Config,
    model::{EncoderConfig, EncoderKind},
};
use toolcrib_engine::encoder::{Encoder, EncoderError};

/// The encoder, or why there is none although one is named. `None` where none is.
pub(crate) fn of(config: &Config) -> Option<Result<Arc<dyn Encoder>, EncoderError>> {
    let encoder = config.search.encoder.as_ref()?;
    Some(match encoder.kind? {
        EncoderKind::Static => in_folder(Path::new(encoder.folder.as_deref().unwrap_or_default())),
        EncoderKind::Http => at_endpoint(encoder),
    })
}

/// A static model. Blocks while it is read.
#[cfg(feature = "encoder-static")]
pub(crate) fn in_folder(folder: &Path) -> Result<Arc<dyn Encoder>, EncoderError> {
    Ok(Arc::new(toolcrib_connect::encoders::StaticEncoder::open(folder)?))
}

#[cfg(not(feature = "encoder-static"))]
pub(crate) fn in_folder(_: &Path) -> Result<Arc<dyn Encoder>, EncoderError> {
    Err(lacking("encoder-static"))
}

#[cfg(feature = "encoder-http")]
fn at_endpoint(encoder: &EncoderConfig) -> Result<Arc<dyn Encoder>, EncoderError> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let settings = toolcrib_connect::encoders::HttpEncoderSettings {
        key: encoder.key.as_ref().map(|key| key.expose().to_owned()),
        dimensions: encoder.dimensions.map(size),
        query_wait: Duration::from_millis(encoder.query_wait_ms),
        batch: size(encoder.batch),
        document_prefix: encoder.document_prefix.clone(),
        query_prefix: encoder.query_prefix.clone(),
        ..toolcrib_connect::encoders::HttpEncoderSettings::new(text(&encoder.url), text(&encoder.model))
    };
    Ok(Arc::new(toolcrib_connect::encoders::HttpEncoder::new(settings)?))
}

#[cfg(not(feature = "encoder-http"))]
fn at_endpoint(_: &EncoderConfig) -> Result<Arc<dyn Encoder>, EncoderError> {
    Err(lacking("encoder-http"))
}

#[cfg(not(all(feature = "encoder-static", feature = "encoder-http")))]
fn lacking(feature: &str) -> EncoderError {
    EncoderError::new(format!("this build has no such encoder; build it with the feature {feature}"))
}
