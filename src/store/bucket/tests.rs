//! Tests of buckets beside an object storage (`scripts/seaweedfs.sh`), and beside one that answers badly.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncReadExt;

use super::*;

/// The bucket beside which the tests run (`scripts/seaweedfs.sh`).
fn bucket(prefix: &str) -> Option<Bucket> {
    let url = format!("{}/{prefix}", std::env::var("ANNEAL_TEST_S3").ok()?);
    let environment = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    Some(Bucket::open(&BucketAddress { url, environment, redirects: true }).unwrap())
}

#[tokio::test]
async fn what_is_stored_comes_back_whole_and_in_parts_and_is_gone_when_it_is_removed() {
    let Some(bucket) = bucket("round") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    for length in [0_usize, 1, 1000, PART_BYTES, PART_BYTES * 5 + 17] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
        std::fs::write(&from, &bytes).unwrap();
        bucket.put("jobs/a/model", &from).await.unwrap();
        assert_eq!(bucket.size("jobs/a/model").await.unwrap(), length as u64);
        bucket.get("jobs/a/model", &to).await.unwrap();
        assert!(std::fs::read(&to).unwrap() == bytes, "{length} bytes");
        if length > 10 {
            let mut part = Vec::new();
            bucket.range("jobs/a/model", 5, length as u64 - 7).await.unwrap().read_to_end(&mut part).await.unwrap();
            assert!(part == bytes[5..length - 2]);
        }
    }
    bucket.copy("jobs/a/model", "jobs/a/below/second").await.unwrap();
    bucket.copy("jobs/a/model", "jobs/ab").await.unwrap();
    let mut names: Vec<String> = bucket.list_all("jobs/a").await.unwrap().into_iter().map(|found| found.name).collect();
    names.sort();
    assert_eq!(names, ["below/second", "model"]);
    let mut names: Vec<String> = bucket.list("jobs").await.unwrap().into_iter().map(|found| found.name).collect();
    names.sort();
    assert_eq!(names, ["a", "ab"]);
    bucket.remove("jobs/a").await.unwrap();
    bucket.remove("jobs/a").await.unwrap();
    let gone = bucket.size("jobs/a/model").await.unwrap_err();
    assert!(
        matches!(&gone, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
        "{gone:?}"
    );
    assert!(bucket.size("jobs/ab").await.is_ok(), "a name that begins alike is another");
}

#[tokio::test]
async fn a_file_that_is_larger_than_an_object_may_be_is_several() {
    let Some(mut bucket) = bucket("large") else { return };
    bucket.largest = 1000;
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    bucket.remove("models/a").await.unwrap();
    // The last is smaller than the one before, of which nothing may stay.
    for (length, objects) in [(999_usize, 1), (1000, 2), (1001, 2), (2000, 3), (4321, 5), (1500, 2)] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
        std::fs::write(&from, &bytes).unwrap();
        bucket.put("models/a/weights", &from).await.unwrap();
        let stored = bucket.objects_below("models/a").await.unwrap();
        assert!(stored.iter().all(|object| object.bytes <= 1000) && stored.len() == objects, "{length}: {stored:?}");
        assert_eq!(bucket.size("models/a/weights").await.unwrap(), length as u64);
        bucket.get("models/a/weights", &to).await.unwrap();
        assert!(std::fs::read(&to).unwrap() == bytes, "{length} bytes");
        let (first, count) = (length / 3, length / 2);
        let mut part = Vec::new();
        let mut reader = bucket.range("models/a/weights", first as u64, count as u64).await.unwrap();
        reader.read_to_end(&mut part).await.unwrap();
        assert!(part == bytes[first..first + count], "{length} bytes");
        for listed in [bucket.list("models/a").await.unwrap(), bucket.list_all("models/a").await.unwrap()] {
            let listed: Vec<_> = listed.into_iter().map(|object| (object.name, object.bytes)).collect();
            assert_eq!(listed, [(String::from("weights"), length as u64)]);
        }
        let address = bucket.signed(Permit::Read { bytes: length as u64 }, "models/a/weights", Duration::from_secs(9));
        assert_eq!(address.await.unwrap().is_some(), objects == 1, "an address stands for one object");
    }
    bucket.copy("models/a/weights", "models/b").await.unwrap();
    bucket.get("models/b", &to).await.unwrap();
    assert_eq!(std::fs::read(&to).unwrap().len(), 1500);
    // As a program leaves it that ends while it stores a file.
    bucket.store.delete(&bucket.key("models/b!rest/1")).await.unwrap();
    for refused in [bucket.size("models/b").await.map(drop), bucket.get("models/b", &to).await] {
        let missing =
            matches!(&refused, Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound);
        assert!(missing, "{refused:?}");
    }
    assert!(bucket.list("models").await.unwrap().iter().any(|entry| entry.name == "b"), "whoever sweeps must see it");
    for name in ["models/a", "models/b"] {
        bucket.remove(name).await.unwrap();
    }
    assert!(bucket.objects_below("models").await.unwrap().is_empty());
}

/// Two minutes and 13 GB of disk: `ANNEAL_TEST_LARGE=1 scripts/seaweedfs.sh cargo test --lib above_four`.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_above_four_gibibytes_is_two_objects() {
    let Some(bucket) = bucket("above").filter(|_| std::env::var_os("ANNEAL_TEST_LARGE").is_some()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut random = std::io::Read::take(std::fs::File::open("/dev/urandom").unwrap(), (4 << 30) + (100 << 20));
    std::io::copy(&mut random, &mut std::fs::File::create(&from).unwrap()).unwrap();
    let digest = |path: &Path| crate::job::digest::sha256_of(std::fs::File::open(path).unwrap()).unwrap();
    bucket.put("weights", &from).await.unwrap();
    assert_eq!(bucket.objects_below("weights!rest").await.unwrap().len(), 1);
    bucket.get("weights", &to).await.unwrap();
    assert_eq!(digest(&from), digest(&to));
    bucket.remove("weights").await.unwrap();
    assert!(bucket.objects_below("").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_signed_address_lets_in_without_a_key_and_only_to_one_object() {
    let Some(bucket) = bucket("signed") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"weights").unwrap();
    bucket.put("one", &file).await.unwrap();
    bucket.put("two", &file).await.unwrap();
    let address = bucket.signed(Permit::Read { bytes: 7 }, "one", Duration::from_secs(60)).await.unwrap().unwrap();
    let place = bucket.signed(Permit::Write, "three", Duration::from_secs(60)).await.unwrap().unwrap();
    let got = tokio::task::spawn_blocking(move || {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let one = agent.get(&address).call().unwrap().into_body().read_to_string().unwrap();
        let other = agent.get(address.replace("/one?", "/two?")).call().unwrap().status().as_u16();
        let put = |address: &str| agent.put(address).send("sent").unwrap().status().as_u16();
        (one, [other, put(&address), put(&place.replace("/three?", "/two?")), put(&place)])
    });
    assert_eq!(got.await.unwrap(), (String::from("weights"), [403, 403, 403, 200]));
    assert_eq!(bucket.size("three").await.unwrap(), 4);
    assert_eq!(bucket.size("two").await.unwrap(), 7);
}

#[tokio::test]
async fn a_wrong_key_is_an_error_that_says_so() {
    let Some(_) = bucket("wrong") else { return };
    let url = format!("{}/wrong", std::env::var("ANNEAL_TEST_S3").unwrap());
    let mut environment: Vec<(String, String)> =
        std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    environment.iter_mut().filter(|(name, _)| name == "AWS_SECRET_ACCESS_KEY").for_each(|(_, key)| key.push('x'));
    let wrong = Bucket::open(&BucketAddress { url, environment, redirects: false }).unwrap();
    let refused = wrong.size("one").await.unwrap_err();
    assert!(matches!(refused, StoreError::Storage { .. }), "{refused:?}");
}

/// An object storage that answers each request with the next of these statuses, and with the last one for ever; and how
/// many it was asked.
fn answering(statuses: &'static [u16]) -> (Bucket, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(std::result::Result::ok) {
            let mut reader = std::io::BufReader::new(client.try_clone().unwrap());
            let mut line = String::new();
            while line != "\r\n" {
                line.clear();
                reader.read_line(&mut line).unwrap();
            }
            let status = statuses[count.fetch_add(1, Ordering::SeqCst).min(statuses.len() - 1)];
            let head = "etag: \"1\"\r\nconnection: close\r\ncontent-length: 0";
            write!(client, "HTTP/1.1 {status} Status\r\n{head}\r\n\r\n").unwrap();
        }
    });
    let environment = [
        ("AWS_ENDPOINT_URL", url.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "nowhere"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "key"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let address = BucketAddress { url: String::from("s3://tests"), environment, redirects: false };
    (Bucket::patient(&address, Duration::from_secs(1)).unwrap(), asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_too_much_to_do_is_asked_again_and_one_that_is_full_or_does_not_let_in_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let (busy, asked) = answering(&[503, 429, 500, 200]);
    busy.put("jobs/job_1/model", &file).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    // The id of a job may hold any digits.
    let (closed, asked) = answering(&[403]);
    let refused = closed.put("jobs/job_507/model", &file).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Storage { .. }), "{refused:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "asking again is in vain");
    let (full, _) = answering(&[507]);
    let refused = full.put("jobs/job_1/model", &file).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Full(_)), "{refused:?}");
    let (away, _) = answering(&[503]);
    let refused = away.put("jobs/job_1/model", &file).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Storage { .. }), "{refused:?}");
}
