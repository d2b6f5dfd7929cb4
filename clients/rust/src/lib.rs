//! An asynchronous client of Anneal.
//!
//! [`Client`] has a function for every operation and [`types`] a type for every schema, both made of the OpenAPI
//! document when this crate is built. Beside them is what a generator cannot write: [`connect`] with a key, [`follow`]
//! for a job's events, [`download_checkpoint`] and [`dry_run`].

mod download;
mod error;
mod events;
#[allow(clippy::all, missing_docs, mismatched_lifetime_syntaxes, rustdoc::all, unused)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/generated.rs"));
}

pub use download::download_checkpoint;
pub use error::ClientError;
pub use events::{final_status, follow};
pub use generated::{Client, ClientInfo, Error, ResponseValue, types};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

/// A client for the server at `base_url`, such as `http://127.0.0.1:8080`. Servers that listen on a loopback address
/// only may do without a key.
pub fn connect(base_url: &str, api_key: Option<&str>) -> Result<Client, ClientError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = api_key {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ClientError::InvalidKey)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    // An application that has chosen another provider keeps it.
    drop(rustls::crypto::ring::default_provider().install_default());
    let limit = std::time::Duration::from_secs(30);
    let http = reqwest::Client::builder().default_headers(headers).connect_timeout(limit).build()?;
    Ok(Client::new_with_client(base_url.trim_end_matches('/'), http))
}

/// Says what a submission would do, without doing it.
pub async fn dry_run(
    client: &Client,
    spec: &types::JobSpec,
    how: types::DryRun,
) -> Result<types::Preflight, ClientError> {
    let url = format!("{}/v1/jobs", client.baseurl());
    let response = client.client().post(url).query(&[("dry_run", how.to_string())]).json(spec).send().await?;
    if !response.status().is_success() {
        return Err(error::refused(response).await);
    }
    Ok(response.json().await?)
}
