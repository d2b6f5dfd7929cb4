//! `GET /.well-known/jwks.json`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::App;
use super::error::Problem;

/// Get the server's public keys
///
/// A JSON Web Key Set (RFC 7517, RFC 8037) with the Ed25519 key that signs what jobs make, called by its thumbprint
/// (RFC 7638). Keep it where those who verify downloads can trust it: `anneal verify DIR --key jwks.json`.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "checkpoints", responses((status = 200, body = Object)))]
pub async fn signing_keys(State(app): State<App>) -> Result<Json<Value>, Problem> {
    let key = app.store.public_key()?;
    let mut shown = json!(key);
    shown["kid"] = json!(key.id());
    shown["use"] = json!("sig");
    shown["alg"] = json!("EdDSA");
    Ok(Json(json!({"keys": [shown]})))
}
