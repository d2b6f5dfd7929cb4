//! The model that an objective distils from: found by its name, and compared with the model that learns.

use std::io;
use std::path::{Path, PathBuf};

use crate::api::error::Problem;
use crate::api::models::import::allowed;
use crate::api::resolve::{self, Model, ModelFiles};
use crate::job::FieldError;
use crate::modelfile;
use crate::modelfile::builtin::Builtin;
use crate::spec::TeacherRef;
use crate::store::Store;

const POINTER: &str = "/objective/teacher";

/// A teacher whose tokens mean the same as those of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Teacher {
    /// A path has no links.
    pub reference: TeacherRef,
    pub parameters: u64,
}

/// Finds the teacher `name`: a reference as in `model`, or the absolute path of a directory or GGUF file below one of
/// the import `roots`; and compares its tokenizer and vocabulary with those of `model`.
pub async fn check(
    store: &Store,
    roots: &[PathBuf],
    name: &str,
    seed: u64,
    model: &Model,
) -> Result<Result<Teacher, FieldError>, Problem> {
    let (reference, files) = if Path::new(name).is_absolute() {
        match allowed(Path::new(name), roots) {
            Ok(path) => (TeacherRef::Path(path.clone()), ModelFiles::Path(path)),
            Err(problem) => return Ok(Err(FieldError::new(POINTER, "unknown_teacher", problem.detail))),
        }
    } else if Builtin::find(name).is_some_and(|builtin| builtin.from_scratch) {
        let detail = format!("`{name}` has random weights, from which there is nothing to learn");
        return Ok(Err(FieldError::new(POINTER, "unknown_teacher", detail)));
    } else {
        match resolve::model(store, name, seed, (POINTER, "unknown_teacher")).await? {
            Ok(teacher) => (TeacherRef::Model(teacher.reference), teacher.files),
            Err(error) => return Ok(Err(error)),
        }
    };
    let student = model.files.clone();
    let compared = tokio::task::spawn_blocking(move || compare(&student, &files)).await.map_err(io::Error::other)?;
    Ok(compared.map(|parameters| Teacher { reference, parameters }))
}

/// Returns the teacher's number of parameters. Blocks.
fn compare(student: &ModelFiles, teacher: &ModelFiles) -> Result<u64, FieldError> {
    let teacher = teacher.inspect().map_err(|error| FieldError::new(POINTER, "unknown_teacher", error.to_string()))?;
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
    Ok(teacher.parameters)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    async fn model(store: &Store) -> Model {
        resolve::model(store, "builtin:arith-tiny", 0, ("/model", "unknown_model")).await.unwrap().unwrap()
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
        let code = async |name: &str| check(&store, &roots, name, 0, &model).await.unwrap().map_err(|e| e.code);

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
        let error = check(&store, &roots, &name, 0, &model).await.unwrap().unwrap_err();
        assert_eq!((error.pointer.as_str(), error.code), (POINTER, "teacher_tokenizer_differs"));
        assert!(error.detail.contains("normalizers"), "{error}");
    }
}
