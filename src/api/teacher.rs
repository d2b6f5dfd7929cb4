//! The model that an objective distils from: found by its name, and compared with the model that learns.

use std::io;
use std::path::Path;

use tokio::sync::Semaphore;

use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::api::imports::{Finder, allowed};
use crate::api::resolve::{self, Model, ModelFiles};
use crate::job::FieldError;
use crate::job::memory::Shape;
use crate::modelfile::builtin::Builtin;
use crate::modelfile::{self, Inspection, ModelFileError};
use crate::spec::TeacherRef;
#[cfg(test)]
use crate::store::Store;

const POINTER: &str = "/objective/teacher";

/// One model's weights are read at a time, however many submissions wait for their digest.
static READING: Semaphore = Semaphore::const_new(1);

/// A teacher whose tokens mean the same as those of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Teacher {
    /// A path has no links.
    pub reference: TeacherRef,
    /// What its weights must have, for what is not immutable by itself.
    pub sha256: Option<String>,
    /// The sizes of its model.
    pub shape: Shape,
}

/// Finds the teacher `name`: a reference as in `model`, or the absolute path of a directory or GGUF file below one of
/// the import roots; and compares its tokenizer and vocabulary with those of `model`, and the SHA-256 of its weights
/// with the one that is `named` beside it. Of a path all weights are read for that, unless they were before.
pub async fn check(
    finder: Finder<'_>,
    (name, named): (&str, Option<&str>),
    seed: u64,
    model: &Model,
) -> Result<Result<Teacher, FieldError>, Problem> {
    let (reference, files, known) = if Path::new(name).is_absolute() {
        match allowed(Path::new(name), &finder.sources.roots) {
            Ok(path) => (TeacherRef::Path(path.clone()), ModelFiles::Path(path), Known::Unread),
            Err(error) => return Ok(Err(FieldError::new(POINTER, "unknown_teacher", error.to_string()))),
        }
    } else if Builtin::find(name).is_some_and(|builtin| builtin.from_scratch) {
        let detail = format!("`{name}` has random weights, from which there is nothing to learn");
        return Ok(Err(FieldError::new(POINTER, "unknown_teacher", detail)));
    } else {
        match resolve::model(finder, name, seed, (POINTER, "unknown_teacher")).await? {
            Ok(teacher) => (TeacherRef::Model(teacher.reference), teacher.files, Known::Pinned(teacher.digest)),
            Err(error) => return Ok(Err(error)),
        }
    };
    let student = model.files.clone();
    let compared = blocking(move || compare(&student, &files)).await?;
    let teacher = match compared {
        Ok(teacher) => teacher,
        Err(error) => return Ok(Err(error)),
    };
    let shape = teacher.shape();
    let (sha256, pinned) = match known {
        Known::Pinned(Some(digest)) => (digest.trim_start_matches("sha256:").to_owned(), false),
        Known::Pinned(None) if named.is_none() => return Ok(Ok(Teacher { reference, sha256: None, shape })),
        Known::Pinned(None) => {
            let detail = format!("{reference} is under way, and its digest is not known yet; leave this out, or wait");
            return Ok(Err(FieldError::new("/objective/teacher_sha256", "model_not_ready", detail)));
        }
        Known::Unread => match weights_sha256(teacher).await? {
            Ok(sha256) => (sha256, true),
            Err(error) => return Ok(Err(error)),
        },
    };
    if named.is_some_and(|named| named != sha256) {
        let detail = format!("the teacher's weights have the SHA-256 {sha256}");
        return Ok(Err(FieldError::new("/objective/teacher_sha256", "teacher_changed", detail)));
    }
    let sha256 = if pinned { Some(sha256) } else { named.map(str::to_owned) };
    Ok(Ok(Teacher { reference, sha256, shape }))
}

/// What is known of a teacher's weights.
enum Known {
    /// They never change; this is their digest, unless they are under way.
    Pinned(Option<String>),
    /// They may change.
    Unread,
}

async fn weights_sha256(teacher: Inspection) -> Result<Result<String, FieldError>, Problem> {
    let _turn = READING.acquire().await.map_err(io::Error::other)?;
    let read = blocking(move || teacher.remembered_weights_sha256()).await?;
    Ok(read.map_err(unreadable))
}

fn unreadable(error: ModelFileError) -> FieldError {
    FieldError::new(POINTER, "unknown_teacher", error.to_string())
}

/// Returns the teacher as it was found. Blocks.
fn compare(student: &ModelFiles, teacher: &ModelFiles) -> Result<Inspection, FieldError> {
    let teacher = teacher.inspect().map_err(unreadable)?;
    let student = student.inspect().map_err(|error| FieldError::new("/model", error.code(), error.to_string()))?;
    let differs = |detail: String| {
        let detail = format!("{detail}; a teacher must have the tokenizer of the model that learns from it");
        Err(FieldError::new(POINTER, "teacher_tokenizer_differs", detail))
    };
    if let Err(difference) = modelfile::same_tokenizer(&student.tokenizer_bytes, &teacher.tokenizer_bytes) {
        return differs(format!("compared with the model's tokenizer (the first): {difference}"));
    }
    let (expected, found) = (student.config.vocab_size, teacher.config.vocab_size);
    if expected != found {
        return differs(format!("the teacher has {found} embeddings, the model {expected}"));
    }
    Ok(teacher)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::api::imports::{Pull, Sources};
    use crate::hub::Hub;

    fn sources(roots: &[PathBuf]) -> Sources {
        Sources { roots: roots.to_vec(), hub: Hub::new("http://127.0.0.1:1", None, true) }
    }

    fn finder<'a>(store: &'a Store, sources: &'a Sources) -> Finder<'a> {
        Finder { store, sources, pull: Pull::Never }
    }

    async fn model(store: &Store) -> Model {
        resolve::model(finder(store, &sources(&[])), "builtin:arith-tiny", 0, ("/model", "unknown_model"))
            .await
            .unwrap()
            .unwrap()
    }

    /// A directory with the built-in model, its tokenizer changed by `change`.
    fn write_teacher(folder: &Path, change: impl Fn(String) -> String) {
        fs::create_dir_all(folder).unwrap();
        for (name, bytes) in Builtin::find("builtin:arith-tiny").unwrap().files {
            let bytes = match *name {
                "tokenizer.json" => change(String::from_utf8(bytes.to_vec()).unwrap()).into_bytes(),
                _ => bytes.to_vec(),
            };
            fs::write(folder.join(name), bytes).unwrap();
        }
    }

    #[tokio::test]
    async fn a_teacher_is_a_reference_or_a_path_below_an_import_root() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("data")).await.unwrap();
        let (roots, model) = ([folder.path().join("import")], model(&store).await);
        write_teacher(&roots[0].join("same"), |text| text);
        write_teacher(&folder.path().join("outside"), |text| text);
        let sources = sources(&roots);
        let finder = finder(&store, &sources);
        let code = async |name: &str| check(finder, (name, None), 0, &model).await.unwrap().map_err(|e| e.code);

        assert_eq!(code("builtin:arith-tiny").await.unwrap().reference.to_string(), "builtin:arith-tiny");
        let path = roots[0].join("same").canonicalize().unwrap().display().to_string();
        assert_eq!(code(&format!("{path}/../same")).await.unwrap().reference.to_string(), path);
        let outside = folder.path().join("outside").display().to_string();
        for name in [outside.as_str(), "/nowhere", "import/same", "mdl_1", "gpt"] {
            assert_eq!(code(name).await, Err("unknown_teacher"), "{name}");
        }
    }

    #[tokio::test]
    async fn a_teacher_with_another_tokenizer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("data")).await.unwrap();
        let (roots, model) = ([folder.path().join("import")], model(&store).await);
        write_teacher(&roots[0], |text| {
            let mut tokenizer: serde_json::Value = serde_json::from_str(&text).unwrap();
            tokenizer["normalizer"] = serde_json::json!({"type": "Lowercase"});
            tokenizer.to_string()
        });
        let name = roots[0].display().to_string();
        let sources = sources(&roots);
        let error = check(finder(&store, &sources), (&name, None), 0, &model).await.unwrap().unwrap_err();
        assert_eq!((error.pointer.as_str(), error.code), (POINTER, "teacher_tokenizer_differs"));
        assert!(error.detail.contains("normalizers"), "{error}");
    }

    #[tokio::test]
    async fn a_path_is_pinned_by_the_digest_of_its_weights() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("data")).await.unwrap();
        let (roots, model) = ([folder.path().join("import")], model(&store).await);
        write_teacher(&roots[0], |text| text);
        let name = roots[0].display().to_string();
        let sources = sources(&roots);
        let sha256 = async |name: &str, named: Option<&str>| {
            let found = check(finder(&store, &sources), (name, named), 0, &model).await.unwrap();
            found.map(|teacher| teacher.sha256).map_err(|error| (error.pointer, error.code))
        };
        let digest = model.digest.clone().unwrap();
        let own = digest.trim_start_matches("sha256:");
        let refused = Err((String::from("/objective/teacher_sha256"), "teacher_changed"));
        for named in [None, Some(own)] {
            assert_eq!(sha256(&name, named).await, Ok(Some(own.to_owned())));
            assert_eq!(sha256("builtin:arith-tiny", named).await, Ok(named.map(str::to_owned)));
        }
        for name in [name.as_str(), "builtin:arith-tiny"] {
            assert_eq!(sha256(name, Some("00")).await, refused);
        }
        let weights = roots[0].join("model.safetensors");
        let mut bytes = fs::read(&weights).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&weights, bytes).unwrap();
        assert_eq!(sha256(&name, Some(own)).await, refused);
    }
}
