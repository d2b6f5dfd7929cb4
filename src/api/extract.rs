//! Request parts with errors that name what is wrong.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use axum::body::BodyDataStream;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::blocking::blocking;
use super::caller::Access;
use super::error::Problem;
use crate::job::{FieldError, bounds, field};
use crate::store::{Identified, MetadataFilter, Page};

/// Largest JSON body in bytes.
pub const MAX_JSON_BYTES: usize = 1 << 20;

/// Most values in a JSON body, and from which size on it is read beside those who answer.
const MAX_JSON_VALUES: usize = 1 << 16;
const LARGE_JSON: usize = 64 << 10;

/// As many pairs of metadata as a job can have.
const MAX_PAIRS: usize = 16;

/// How much of a refused body is still read, and for how long.
const DRAIN_BYTES: usize = 256 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(10);
const LITTLE_BYTES: usize = 64 << 10;
const LITTLE_TIME: Duration = Duration::from_millis(500);

/// Reads a refused body on for a while without keeping anything: many clients look for an answer only after they have
/// sent all.
pub async fn drain(chunks: &mut BodyDataStream) {
    drain_up_to(chunks, DRAIN_BYTES, DRAIN_TIME).await;
}

/// Reads on to the end, if that is near, and says whether it came: for what strangers may send as well.
pub async fn drain_little(chunks: &mut BodyDataStream) -> bool {
    drain_up_to(chunks, LITTLE_BYTES, LITTLE_TIME).await
}

async fn drain_up_to(chunks: &mut BodyDataStream, most: usize, time: Duration) -> bool {
    let mut bytes = 0;
    let reading = async {
        while bytes <= most {
            match chunks.next().await {
                Some(Ok(chunk)) => bytes += chunk.len(),
                Some(Err(_)) => return false,
                None => return true,
            }
        }
        false
    };
    tokio::time::timeout(time, reading).await.unwrap_or(false)
}

/// A JSON body, not yet read as anything.
#[derive(Debug)]
pub struct JsonBody(pub Value);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        let mut chunks = request.into_body().into_data_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| {
                Problem::bad_request("body_incomplete", format!("the body was cut off: {error}; send it again"))
            })?;
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_JSON_BYTES {
                drain(&mut chunks).await;
                let detail = format!("the body is larger than {MAX_JSON_BYTES} bytes; send rows as a data set");
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
            }
        }
        if bytes.len() <= LARGE_JSON {
            return parse(&bytes);
        }
        blocking(move || parse(&bytes)).await?
    }
}

/// A body that is streamed, and the bytes that it says it has, none where it does not say.
#[derive(Debug)]
pub struct StreamedBody {
    pub chunks: BodyDataStream,
    pub length: u64,
}

impl<S: Send + Sync> FromRequest<S> for StreamedBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        Ok(Self { length: content_length(request.headers()), chunks: request.into_body().into_data_stream() })
    }
}

/// What a request says of the length of its body; 0 where it says nothing.
pub fn content_length(headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Result<JsonBody, Problem> {
    if values(bytes) > MAX_JSON_VALUES {
        let detail = format!("the body has more than {MAX_JSON_VALUES} values; send rows as a data set");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
    }
    let value = serde_json::from_slice(bytes)
        .map_err(|error| Problem::bad_request("invalid_json", format!("the body is not valid JSON: {error}")))?;
    // JSON can write it in no other way.
    let may_have = bytes.windows(6).any(|window| window == b"\\u0000");
    match may_have.then(|| nul(&value)).flatten() {
        None => Ok(JsonBody(value)),
        Some(pointer) => {
            let detail = format!("`{pointer}` has the character U+0000, which no database holds; leave it out");
            Err(Problem::bad_request("nul_character", detail))
        }
    }
}

/// The pointer of a text, or of a member's name, that holds U+0000.
fn nul(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(String::new),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| Some(format!("/{index}{}", nul(item)?)))
        }
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            let inside = if name.contains('\0') { Some(String::new()) } else { nul(member) };
            Some(format!("/{}{}", field::escaped(name), inside?))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// About how many values some JSON has: each needs many times the memory of its shortest text.
fn values(json: &[u8]) -> usize {
    let (mut values, mut in_text, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values
}

/// Reads a body as `T` and holds it against the bounds that the document gives.
pub fn read<T: DeserializeOwned + ToSchema + 'static>(body: &Value) -> Result<T, Problem> {
    read_fields(body).map_err(Problem::invalid)
}

/// The same, for those who answer in words of their own.
pub fn read_fields<T: DeserializeOwned + ToSchema + 'static>(body: &Value) -> Result<T, Vec<FieldError>> {
    let read = field::parse(body, "").map_err(|error| vec![error])?;
    let schema = bounds::schema_of::<T>(|| {
        let mut parts = Vec::new();
        T::schemas(&mut parts);
        let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
        schema["components"] = json!({"schemas": parts.into_iter().collect::<BTreeMap<_, _>>()});
        schema
    });
    let outside = schema.check(body, "");
    if outside.is_empty() { Ok(read) } else { Err(outside) }
}

/// Query parameters within the bounds that the document gives. That there are no others is known before they are read
/// (`route::know_parameters`).
#[derive(Debug)]
pub struct Params<T>(pub T);

impl<T: DeserializeOwned + IntoParams + 'static, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let refused = |error: QueryRejection| {
            // `Failed to deserialize query string: limit: invalid digit found in string`.
            let text = error.body_text();
            let detail = match text.splitn(3, ": ").collect::<Vec<_>>()[..] {
                [_, name, what] if !name.contains(' ') => format!("`{name}`: {what}"),
                [_, ref what @ ..] => what.join(": "),
                [] => text,
            };
            Problem::bad_request("invalid_parameter", detail)
        };
        let Query(params) = Query::<T>::try_from_uri(&parts.uri).map_err(refused)?;
        let Query(texts) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(refused)?;
        let schema = bounds::schema_of::<T>(|| {
            let each = T::into_params(|| None).into_iter().map(|parameter| (parameter.name, parameter.schema));
            json!({"properties": each.collect::<BTreeMap<_, _>>()})
        });
        let value = |name: &str, text: String| {
            if schema.admits_text(name) {
                Value::String(text)
            } else {
                serde_json::from_str(&text).unwrap_or(Value::Null)
            }
        };
        let values = texts.into_iter().map(|(name, text)| (name.clone(), value(&name, text))).collect();
        match schema.check(&Value::Object(values), "").first() {
            None => Ok(Self(params)),
            Some(FieldError { pointer, detail, .. }) => {
                let name = pointer.trim_start_matches('/');
                Err(Problem::bad_request("invalid_parameter", format!("`{name}` {detail}")))
            }
        }
    }
}

/// A parameter that is one of a set of words.
pub fn word<T: FromStr<Err: Display>>(name: &str, text: Option<String>) -> Result<Option<T>, Problem> {
    let read = text.map(|text| text.parse()).transpose();
    read.map_err(|error| Problem::bad_request("invalid_parameter", format!("`{name}`: {error}")))
}

/// Path segments as text; one that is not UTF-8 names nothing.
#[derive(Debug)]
pub struct PathText<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathText<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(text)| Self(text))
            .map_err(|error| Problem::new(StatusCode::NOT_FOUND, "not_found", error.body_text()))
    }
}

/// The id in a path, or, of a request that reads, what the caller calls the thing instead
/// ([`Store::called`](crate::store::Store::called)).
#[derive(Debug)]
pub struct Id<T>(pub T);

impl<T: Identified> FromRequestParts<App> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let PathText(segments) = PathText::<Vec<(String, String)>>::from_request_parts(parts, app).await?;
        let text = segments.first().map(|(_, text)| text.as_str()).unwrap_or_default();
        // Most are ids, which need no look at the database.
        let malformed = match text.parse() {
            Ok(id) => return Ok(Self(id)),
            Err(malformed) => malformed,
        };
        // A change that is repeated must not meet another thing, and the audit log says what was changed.
        let reads = parts.method == Method::GET || parts.method == Method::HEAD;
        if T::CALLED.is_none() || !reads {
            return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", malformed.to_string()));
        }
        let Ok(Access(own)) = Access::from_request_parts(parts, app).await;
        Ok(Self(own.store.called(text).await?))
    }
}

/// What stands in a path, read as an id or a number; what is none names nothing.
fn segment<T: FromStr<Err: Display>>(text: Option<&String>) -> Result<T, Problem> {
    let missing = |error: T::Err| Problem::new(StatusCode::NOT_FOUND, "not_found", error.to_string());
    text.map_or("", String::as_str).parse().map_err(missing)
}

/// What stands in a path in the place of its two parameters.
#[derive(Debug)]
pub struct Segments<A, B>(pub A, pub B);

impl<A, B, S> FromRequestParts<S> for Segments<A, B>
where
    A: FromStr<Err: Display>,
    B: FromStr<Err: Display>,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PathText(segments) = PathText::<Vec<(String, String)>>::from_request_parts(parts, state).await?;
        let mut texts = segments.iter().map(|(_, text)| text);
        Ok(Self(segment(texts.next())?, segment(texts.next())?))
    }
}

/// The name of a file in a path, its segment `path`.
#[derive(Debug)]
pub struct FileName(pub String);

impl<S: Send + Sync> FromRequestParts<S> for FileName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PathText(segments) = PathText::<Vec<(String, String)>>::from_request_parts(parts, state).await?;
        let name = segments.into_iter().find(|(name, _)| name == "path").map(|(_, text)| text);
        Ok(Self(name.unwrap_or_default()))
    }
}

/// Which part of a list to return.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Items to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    pub limit: u32,
    /// Start behind the item with this id.
    pub after: Option<String>,
    /// `desc` (newest first) or `asc`.
    #[serde(default)]
    pub order: Order,
}

fn default_limit() -> u32 {
    20
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    Asc,
    #[default]
    Desc,
}

impl PageParams {
    /// One row more than asked for is fetched, to know whether there are more.
    pub fn page(&self) -> Page {
        Page { after: self.after.clone(), limit: self.limit + 1, newest_first: self.order == Order::Desc }
    }
}

/// What a list asks of metadata: parameters `metadata[key]`, or `metadata=null` for what has none.
#[derive(Debug)]
pub struct MetadataParams(pub MetadataFilter);

impl<S: Send + Sync> FromRequestParts<S> for MetadataParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let refused = |error: QueryRejection| Problem::bad_request("invalid_parameter", error.body_text());
        let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(refused)?;
        let mut pairs = BTreeMap::new();
        for (name, value) in query {
            if name == "metadata" {
                return if value == "null" {
                    Ok(Self(MetadataFilter::None))
                } else {
                    let detail = "`metadata` alone takes `null`; write `metadata[key]=value`";
                    Err(Problem::bad_request("invalid_parameter", detail))
                };
            }
            if let Some(key) = name.strip_prefix("metadata[").and_then(|rest| rest.strip_suffix(']')) {
                pairs.insert(key.to_owned(), value);
            }
        }
        if pairs.len() > MAX_PAIRS {
            let detail = format!("`metadata` takes at most {MAX_PAIRS} pairs");
            return Err(Problem::bad_request("invalid_parameter", detail));
        }
        Ok(Self(if pairs.is_empty() { MetadataFilter::Any } else { MetadataFilter::Pairs(pairs) }))
    }
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// Always `list`.
    object: &'static str,
    data: Vec<T>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

impl<T> List<T> {
    /// A list of at most `limit` of the given rows; `id` names an item.
    pub fn new(rows: impl IntoIterator<Item = T>, limit: u32, id: impl Fn(&T) -> String) -> Self {
        let mut data: Vec<T> = rows.into_iter().collect();
        let has_more = data.len() > limit as usize;
        data.truncate(limit as usize);
        Self::with_more(data, has_more, id)
    }

    /// A list whose end is known.
    pub fn with_more(data: Vec<T>, has_more: bool, id: impl Fn(&T) -> String) -> Self {
        Self { object: "list", first_id: data.first().map(&id), last_id: data.last().map(&id), has_more, data }
    }
}
