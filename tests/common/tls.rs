//! TLS before a server, as a proxy gives it, with a certificate that an authority of the test has signed.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

pub struct Tls {
    /// `https://` and the address.
    pub url: String,
    /// Has the certificates of the authority that signed, and of another.
    folder: TempDir,
}

impl Tls {
    /// Before the server at this address, such as `http://127.0.0.1:8080`.
    pub fn before(server: &str) -> Self {
        let [own, other] = [(); 2].map(|()| authority());
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([String::from("127.0.0.1")]).unwrap().signed_by(&key, &own).unwrap();
        let chain = vec![certificate.der().clone()];
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = config.with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("own.pem"), own.pem()).unwrap();
        std::fs::write(folder.path().join("other.pem"), other.pem()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let (server, acceptor) = (server.trim_start_matches("http://").to_owned(), TlsAcceptor::from(Arc::new(config)));
        std::thread::spawn(move || carry(listener, &acceptor, &server));
        Self { url, folder }
    }

    /// The file with the certificate of the authority that signed (`own`), or of one that did not (`other`).
    pub fn authority(&self, which: &str) -> PathBuf {
        self.folder.path().join(format!("{which}.pem"))
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn carry(listener: std::net::TcpListener, acceptor: &TlsAcceptor, server: &str) {
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((near, _)) = listener.accept().await {
        let (acceptor, server) = (acceptor.clone(), server.to_owned());
        // Whoever breaks off, or does not trust this, is no concern of others.
        tokio::spawn(async move {
            let mut near = acceptor.accept(near).await?;
            let mut far = TcpStream::connect(server).await?;
            copy_bidirectional(&mut near, &mut far).await
        });
    }
}
