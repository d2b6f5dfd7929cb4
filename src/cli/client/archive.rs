//! Checks a tar file against a manifest while reading it once. Only plain ustar entries are understood, which is all
//! that an archive of a checkpoint has; anything else is refused and not guessed at.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use super::download::HashWriter;
use crate::job::digest::hex;

const BLOCK: usize = 512;
const BUFFER_BYTES: usize = 1 << 18;

/// Fails unless the archive holds every file of the manifest, given as name, size and sha256, as it should be.
pub fn check(path: &Path, files: &[(String, u64, String)]) -> anyhow::Result<()> {
    let reader = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let found = digests(reader)?;
    for (name, size, sha256) in files {
        // The entries may lie in a folder of the archive.
        let same = |entry: &&String| entry.as_str() == name || entry.ends_with(&format!("/{name}"));
        let entry = found.keys().find(same).with_context(|| format!("the archive lacks {name}"))?;
        ensure!(found[entry] == (*size, sha256.clone()), "{name} in the archive does not match the manifest");
    }
    Ok(())
}

/// Size and sha256 of every file in an archive.
fn digests(mut reader: impl Read) -> anyhow::Result<BTreeMap<String, (u64, String)>> {
    let mut found = BTreeMap::new();
    let mut header = [0; BLOCK];
    loop {
        reader.read_exact(&mut header).context("the archive ends without its end")?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(found);
        }
        let text = |from: usize, length: usize| {
            let field = &header[from..from + length];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
            String::from_utf8_lossy(&field[..end]).trim().to_owned()
        };
        let (mut name, prefix, kind) = (text(0, 100), text(345, 155), header[156]);
        if header[257..262] == *b"ustar" && !prefix.is_empty() {
            name = format!("{prefix}/{name}");
        }
        let size = size(&header[124..136]).with_context(|| format!("the archive does not say how long {name} is"))?;
        let mut hasher = Sha256::new();
        let copied = io::copy(&mut reader.by_ref().take(size), &mut HashWriter(&mut hasher))?;
        ensure!(copied == size, "the archive ends within {name}");
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        io::copy(&mut reader.by_ref().take(padding), &mut io::sink())?;
        match kind {
            b'0' | 0 => {
                found.insert(name, (size, hex(&hasher.finalize())));
            }
            // Folders, and extended headers that repeat what the entry says.
            b'5' | b'g' | b'x' => {}
            kind => bail!("the archive has an entry of kind {kind}, which no checkpoint has"),
        }
    }
}

/// Octal digits, or a binary number for files of 8 GiB and more.
fn size(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        return field[1..].iter().try_fold(0_u64, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(*byte)));
    }
    let digits = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one entry.
    fn archive(name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = [0_u8; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        let mut bytes = header.to_vec();
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
        bytes
    }

    #[test]
    fn an_archive_is_right_only_with_every_file_as_it_should_be() {
        let folder = std::env::temp_dir().join(format!("anneal-archive-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.tar");
        let digest = |text: &[u8]| hex(&Sha256::digest(text));
        let wanted = |text: &[u8]| [(String::from("model"), text.len() as u64, digest(text))];
        for name in ["model", "ckpt_1/model"] {
            std::fs::write(&path, archive(name, b"weights")).unwrap();
            check(&path, &wanted(b"weights")).unwrap();
            assert!(check(&path, &wanted(b"weighty")).is_err());
        }
        std::fs::write(&path, archive("other", b"weights")).unwrap();
        assert!(check(&path, &wanted(b"weights")).unwrap_err().to_string().contains("lacks model"));
        std::fs::write(&path, &archive("model", b"weights")[..600]).unwrap();
        assert!(check(&path, &wanted(b"weights")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn sizes_are_octal_or_binary() {
        assert_eq!(size(b"00000000017\0"), Some(15));
        assert_eq!(size(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), Some((2 << 32) + 1));
        assert_eq!(size(b"no digits\0\0\0"), None);
    }
}
