//! SHA-256 as hexadecimal text, the form in which digests are stored, compared and shown.

use std::io::{self, Read};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hexadecimal SHA-256 of some bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The hexadecimal SHA-256 of all that is read.
pub fn sha256_of(mut reader: impl Read) -> io::Result<String> {
    let (mut digest, mut chunk) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match reader.read(&mut chunk)? {
            0 => return Ok(hex(&digest.finalize())),
            count => digest.update(&chunk[..count]),
        }
    }
}

/// `sha256:` and the digest of a JSON value as it is written without spaces.
pub fn of_json(value: &Value) -> String {
    format!("sha256:{}", sha256_hex(value.to_string().as_bytes()))
}
