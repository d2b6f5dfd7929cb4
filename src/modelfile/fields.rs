//! Typed access to the members of a JSON object from an untrusted file.

use serde_json::{Map, Value};

use super::ModelFileError;

/// Most ids in a list of them.
const EOS_LIMIT: usize = 64;

/// Typed access to one JSON object; null counts as absent, as transformers writes it.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// What members that are absent amount to.
    defaults: Option<&'a Map<String, Value>>,
    file: &'static str,
}

impl<'a> Fields<'a> {
    pub fn of(value: &'a Value, file: &'static str) -> Result<Self, ModelFileError> {
        let invalid =
            || ModelFileError::ConfigInvalid { file: file.to_owned(), detail: "not a JSON object".to_owned() };
        value.as_object().map(|map| Self { map, defaults: None, file }).ok_or_else(invalid)
    }

    pub fn invalid(&self, detail: impl Into<String>) -> ModelFileError {
        ModelFileError::ConfigInvalid { file: self.file.to_owned(), detail: detail.into() }
    }

    /// The same with values for members that are not there at all.
    pub fn or(self, defaults: &'a Map<String, Value>) -> Self {
        Self { defaults: Some(defaults), ..self }
    }

    /// The names of all members, as they stand in the file.
    pub fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.map.keys().map(String::as_str)
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        let value = self.map.get(key).or_else(|| self.defaults?.get(key));
        value.filter(|value| !value.is_null())
    }

    pub fn read<T>(
        &self,
        key: &str,
        kind: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ModelFileError> {
        let wrong = || self.invalid(format!("{key} is not {kind}"));
        self.get(key).map(|value| read(value).ok_or_else(wrong)).transpose()
    }

    pub fn count(&self, key: &str) -> Result<Option<usize>, ModelFileError> {
        self.read(key, "a whole number", |value| usize::try_from(value.as_u64()?).ok())
    }

    pub fn required(&self, key: &str) -> Result<usize, ModelFileError> {
        self.count(key)?.ok_or_else(|| self.invalid(format!("{key} is missing")))
    }

    pub fn number(&self, key: &str) -> Result<Option<f64>, ModelFileError> {
        self.read(key, "a number", Value::as_f64)
    }

    pub fn flag(&self, key: &str) -> Result<bool, ModelFileError> {
        self.read(key, "true or false", Value::as_bool).map(|flag| flag.unwrap_or(false))
    }

    pub fn list(&self, key: &str) -> Result<Option<&'a [Value]>, ModelFileError> {
        self.read(key, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    pub fn text(&self, key: &str) -> Result<Option<&'a str>, ModelFileError> {
        self.read(key, "a text", Value::as_str)
    }

    pub fn object(&self, key: &str) -> Result<Option<Fields<'a>>, ModelFileError> {
        self.read(key, "an object", |value| {
            value.as_object().map(|map| Fields { map, defaults: None, file: self.file })
        })
    }

    /// One id or a list of them.
    pub fn token_ids(&self, key: &str) -> Result<Vec<u32>, ModelFileError> {
        let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let ids = self.read(key, "a token id or a short list of them", |value| match value {
            Value::Array(ids) if ids.len() <= EOS_LIMIT => ids.iter().map(id).collect(),
            other => id(other).map(|id| vec![id]),
        });
        ids.map(Option::unwrap_or_default)
    }
}
