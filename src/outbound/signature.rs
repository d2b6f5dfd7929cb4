//! Signatures as in Standard Webhooks (<https://www.standardwebhooks.com>): HMAC-SHA256 over the message's id, the time
//! of the try, and the body, so that a receiver can tell a message of ours from a forged and from an old one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::job::webhook::Secret;

/// The value of `webhook-signature`: one signature for each secret.
pub fn sign(secrets: &[Secret], id: &str, unix_seconds: i64, body: &str) -> String {
    let signatures: Vec<String> = secrets
        .iter()
        .map(|secret| {
            let mut mac = Hmac::<Sha256>::new_from_slice(&secret.key()).expect("HMAC takes keys of any length");
            mac.update(format!("{id}.{unix_seconds}.{body}").as_bytes());
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        })
        .collect();
    signatures.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "{\"test\": 2432232314}");
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(sign(std::slice::from_ref(&secret), id, 1_614_265_330, body), expected);
        let both = sign(&[Secret::from_key(&[1; 32]), secret], id, 1_614_265_330, body);
        assert_eq!(both.split(' ').nth(1), Some(expected));
    }
}
