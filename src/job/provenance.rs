//! Where an artifact comes from, signed: an in-toto statement (in-toto attestation framework, Statement v1) with the
//! predicate of SLSA provenance v1, in an envelope of DSSE v1. Signatures are Ed25519 (RFC 8032), and public keys JSON Web
//! Keys (RFC 8037), called by their thumbprints (RFC 7638).

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Manifest;

/// What the envelope is called beside an artifact's files.
pub const FILE: &str = "provenance.json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "https://slsa.dev/provenance/v1";
const PAYLOAD: &str = "application/vnd.in-toto+json";
/// Bytes of an envelope that is read.
pub const MOST_BYTES: u64 = 16 << 20;

/// Something that an artifact was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// What it was for: `model`, `train`, ...
    pub role: String,
    /// As the resolved spec names it.
    pub id: String,
    /// `sha256:...`.
    pub digest: Option<String>,
}

/// What a statement says of an artifact besides its files.
#[derive(Clone, Debug)]
pub struct Made<'a> {
    pub manifest: &'a Manifest,
    /// The resolved spec.
    pub spec: Value,
    pub dependencies: Vec<Dependency>,
    /// Of this program.
    pub version: &'a str,
    /// RFC 3339.
    pub finished_on: String,
}

impl Made<'_> {
    /// The statement.
    pub fn statement(&self) -> Value {
        let Self { manifest, spec, dependencies, version, finished_on } = self;
        let sha256 = |digest: &str| json!({"sha256": digest.strip_prefix("sha256:").unwrap_or(digest)});
        let subject: Vec<Value> =
            manifest.files.iter().map(|file| json!({"name": file.path, "digest": sha256(&file.sha256)})).collect();
        let dependency = |of: &Dependency| {
            let mut resolved = json!({"name": of.role, "uri": format!("urn:anneal:{}", of.id)});
            if let Some(digest) = &of.digest {
                resolved["digest"] = sha256(digest);
            }
            resolved
        };
        json!({
            "_type": STATEMENT,
            "subject": subject,
            "predicateType": PREDICATE,
            "predicate": {
                "buildDefinition": {
                    "buildType": format!("urn:anneal:{}:v1", manifest.kind),
                    "externalParameters": {"spec": spec, "spec_digest": manifest.spec_digest},
                    "internalParameters": {"step": manifest.step, "attempt": manifest.attempt},
                    "resolvedDependencies": dependencies.iter().map(dependency).collect::<Vec<_>>(),
                },
                "runDetails": {
                    "builder": {"id": "urn:anneal", "version": {"anneal": version}},
                    "metadata": {"invocationId": manifest.job, "finishedOn": finished_on},
                },
            },
        })
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    kty: String,
    crv: String,
    /// Its 32 bytes, base64 as in URLs.
    x: String,
}

/// Public keys as servers show them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKeys {
    pub keys: Vec<PublicKey>,
}

impl PublicKey {
    fn of(pair: &Ed25519KeyPair) -> Self {
        let x = URL_SAFE_NO_PAD.encode(pair.public_key());
        Self { kty: String::from("OKP"), crv: String::from("Ed25519"), x }
    }

    /// Its thumbprint.
    pub fn id(&self) -> String {
        // The members in the order of their names.
        let members = format!(r#"{{"crv":"{}","kty":"{}","x":"{}"}}"#, self.crv, self.kty, self.x);
        URL_SAFE_NO_PAD.encode(Sha256::digest(members))
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let is_known = self.kty == "OKP" && self.crv == "Ed25519";
        let key = URL_SAFE_NO_PAD.decode(&self.x).ok().filter(|_| is_known);
        key.is_some_and(|key| UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok())
    }
}

/// A key that signs.
#[derive(Debug)]
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// From 32 secret bytes.
    pub fn of(seed: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey::of(&self.0)
    }

    /// A statement in an envelope.
    pub fn sign(&self, statement: &Value) -> Envelope {
        let payload = statement.to_string();
        let sig = STANDARD.encode(self.0.sign(&signed(PAYLOAD, payload.as_bytes())));
        let signatures = vec![Signature { keyid: self.public().id(), sig }];
        Envelope { payload_type: String::from(PAYLOAD), payload: STANDARD.encode(payload), signatures }
    }
}

/// A signed statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    #[serde(rename = "payloadType")]
    payload_type: String,
    /// Base64.
    payload: String,
    signatures: Vec<Signature>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Signature {
    keyid: String,
    /// Base64.
    sig: String,
}

/// Why an envelope proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    #[error("the statement was changed, or was signed with another key than those that are trusted")]
    Signature,
    #[error("the envelope holds no in-toto statement")]
    Form,
}

impl Unproven {
    /// Stable, machine-readable reason.
    pub fn code(self) -> &'static str {
        match self {
            Self::Signature => "signature_invalid",
            Self::Form => "provenance_invalid",
        }
    }
}

impl Envelope {
    /// The statement, if one of the keys has signed it, and that key.
    pub fn open<'a>(&self, keys: &'a [PublicKey]) -> Result<(Value, &'a PublicKey), Unproven> {
        let payload = STANDARD.decode(&self.payload).map_err(|_| Unproven::Form)?;
        let message = signed(&self.payload_type, &payload);
        let signatures: Vec<Vec<u8>> =
            self.signatures.iter().filter_map(|signature| STANDARD.decode(&signature.sig).ok()).collect();
        let key = keys.iter().find(|key| signatures.iter().any(|signature| key.verifies(&message, signature)));
        let key = key.ok_or(Unproven::Signature)?;
        let statement: Value = serde_json::from_slice(&payload).map_err(|_| Unproven::Form)?;
        let is_statement = self.payload_type == PAYLOAD && statement["_type"] == STATEMENT;
        if is_statement { Ok((statement, key)) } else { Err(Unproven::Form) }
    }
}

/// What is signed (DSSE's pre-authentication encoding).
fn signed(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    bytes.extend(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1: the secret key and the public one. RFC 8037, appendix A.3: the thumbprint of the key of
    /// its appendix A.1.
    #[test]
    fn keys_and_their_names_are_those_of_the_standards() {
        let bytes = |hex: &str| -> Vec<u8> {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        };
        let seed = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let public = SigningKey::of(&seed).unwrap().public();
        assert_eq!(URL_SAFE_NO_PAD.decode(&public.x).unwrap(), {
            bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        });
        assert_eq!(public.x, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(public.id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert!(SigningKey::of(&seed[1..]).is_none());
    }

    #[test]
    fn what_was_signed_opens_and_no_changed_byte_does() {
        let (own, other) = (SigningKey::of(&[7; 32]).unwrap(), SigningKey::of(&[8; 32]).unwrap());
        let statement = json!({"_type": STATEMENT, "subject": [{"name": "a", "digest": {"sha256": "00"}}]});
        let envelope = own.sign(&statement);
        let keys = [other.public(), own.public()];
        assert_eq!(envelope.open(&keys).unwrap(), (statement, &keys[1]));
        assert_eq!(envelope.open(&keys[..1]), Err(Unproven::Signature));
        for at in 0..envelope.payload.len() {
            let mut changed = envelope.clone();
            let old = changed.payload.as_bytes()[at];
            changed.payload.replace_range(at..=at, if old == b'A' { "B" } else { "A" });
            assert!(changed.open(&keys).is_err(), "byte {at}");
        }
        let typed = Envelope { payload_type: String::from("text/plain"), ..envelope.clone() };
        assert_eq!(typed.open(&keys), Err(Unproven::Signature));
        assert_eq!(own.sign(&json!({})).open(&keys), Err(Unproven::Form));
    }
}
