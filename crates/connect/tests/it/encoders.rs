//! Searches with encoders: an endpoint that answers as it is told, and a static model.

mod endpoint;
mod faults;
mod searches;
mod settings;
