//! `GET /v1/objectives`

use axum::Json;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::extract::List;
use crate::objective::presets::{self, Preset};
use crate::objective::{self, Description};

/// A training objective.
#[derive(Debug, Serialize, ToSchema)]
pub struct Objective {
    /// The `type` in a spec.
    #[schema(example = "bolt")]
    id: String,
    /// Always `objective`.
    object: &'static str,
    summary: &'static str,
    formula: String,
    /// Where it was published.
    source: &'static str,
    needs: ObjectiveNeeds,
    /// Published methods that are settings of it.
    presets: Vec<ObjectivePreset>,
    /// The same by where they were published.
    papers: Vec<ObjectivePaper>,
    /// JSON Schema of its fields, with defaults and bounds.
    #[schema(value_type = Object)]
    schema: Value,
}

/// What one paper brought.
#[derive(Debug, Serialize, ToSchema)]
struct ObjectivePaper {
    #[schema(example = "arXiv 2501.03262")]
    source: &'static str,
    /// Names of `presets`.
    presets: Vec<&'static str>,
}

impl ObjectivePaper {
    fn of(objective: &str) -> Vec<Self> {
        let mut papers: Vec<Self> = Vec::new();
        for Preset { name, source, .. } in presets::of(objective) {
            match papers.iter_mut().find(|paper| paper.source == source) {
                Some(paper) => paper.presets.push(name),
                None => papers.push(Self { source, presets: vec![name] }),
            }
        }
        papers
    }
}

/// A published method that is settings of an objective.
#[derive(Debug, Serialize, ToSchema)]
struct ObjectivePreset {
    #[schema(example = "gspo")]
    name: &'static str,
    summary: &'static str,
    /// Where it was published.
    source: &'static str,
    /// The part of a spec that makes it: `objective`, and what other sections it takes.
    #[schema(value_type = Object)]
    spec: Value,
}

impl From<Preset> for ObjectivePreset {
    fn from(preset: Preset) -> Self {
        let Preset { name, summary, source, spec } = preset;
        Self { name, summary, source, spec }
    }
}

/// What an objective asks for.
#[derive(Debug, Serialize, ToSchema)]
struct ObjectiveNeeds {
    /// Rows with a `completion`; nothing is sampled.
    completions: bool,
    verifier: bool,
    /// Log-probabilities under the model the job starts from.
    reference: bool,
    /// A model to distil from.
    teacher: bool,
}

impl From<&Description> for Objective {
    fn from(description: &Description) -> Self {
        Self {
            id: description.name.to_owned(),
            object: "objective",
            summary: description.summary,
            formula: description.formula.clone(),
            source: description.source,
            needs: ObjectiveNeeds {
                completions: description.needs.completions,
                verifier: description.needs.verifier,
                reference: description.needs.reference,
                teacher: description.needs.teacher.is_some(),
            },
            presets: presets::of(description.name).map(ObjectivePreset::from).collect(),
            papers: ObjectivePaper::of(description.name),
            schema: description.schema.clone(),
        }
    }
}

/// List objectives
///
/// Every objective with its formula, its fields, and the published methods that are settings of it.
#[utoipa::path(get, path = "/v1/objectives", tag = "objectives", responses((status = 200, body = List<Objective>)))]
pub async fn list_objectives() -> Json<List<Objective>> {
    Json(List::new(objective::catalog().iter().map(Objective::from), u32::MAX, |o| o.id.clone()))
}
