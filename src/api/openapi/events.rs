//! The schemas of events: one for each type, told apart by `type`, from the types that a log is made of.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::schemas::point;
use super::specs::tagged_choice;
use super::{pascal, refer};
use crate::job::event::{
    CheckpointAdded, EvaluationComplete, PhaseChange, PhaseProgress, RolloutSetAdded, StatusChange, StepMetrics,
};
use crate::job::{EventKind, PolicyEvaluation};

/// Makes `JobEvent` a choice among the types of events.
pub fn add(schemas: &mut Map<String, Value>) {
    let Some(event) = schemas.remove("JobEvent") else { return };
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let mut mapping = Map::new();
    for kind in EventKind::ALL {
        let (summary, data) = describe(*kind, &mut generator);
        let mut variant = event.clone();
        variant["description"] = json!(summary);
        variant["properties"]["type"] = json!({"type": "string", "const": kind});
        variant["properties"]["data"] = data;
        let component = format!("{}Event", pascal(kind.as_str()));
        mapping.insert(kind.to_string(), refer(&component)["$ref"].clone());
        schemas.insert(component, variant);
    }
    let summary =
        "One event of a job; `type` says what it tells. An open set: be ready for types that you do not know.";
    schemas.insert(String::from("JobEvent"), tagged_choice(summary, mapping));
    let mut definitions = generator.take_definitions(true);
    merge_evaluations(&mut definitions);
    schemas.insert(String::from("LogDetails"), log_details());
    for (name, schema) in definitions {
        schemas.entry(name).or_insert(schema);
    }
    for (schema, property, component) in [
        ("StatusChange", "status", "JobStatus"),
        ("StatusChange", "failure", "JobFailure"),
        ("PhaseChange", "phase", "JobPhase"),
        ("PhaseProgress", "phase", "JobPhase"),
        ("CheckpointAdded", "kind", "CheckpointKind"),
    ] {
        point(schemas, schema, property, component);
    }
}

/// What an event of a kind tells, and the schema of its data.
fn describe(kind: EventKind, generator: &mut SchemaGenerator) -> (&'static str, Value) {
    match kind {
        EventKind::Status => ("The job moved to another status.", json!(generator.subschema_for::<StatusChange>())),
        EventKind::Phase => ("The job entered another phase.", json!(generator.subschema_for::<PhaseChange>())),
        EventKind::Progress => ("Work inside a phase advanced.", json!(generator.subschema_for::<PhaseProgress>())),
        EventKind::Metrics => ("All metrics of one optimizer step.", json!(generator.subschema_for::<StepMetrics>())),
        EventKind::Evaluation => {
            generator.subschema_for::<PolicyEvaluation>();
            ("Held-out accuracy was measured.", json!(generator.subschema_for::<EvaluationComplete>()))
        }
        EventKind::Checkpoint => {
            ("A checkpoint became complete and visible.", json!(generator.subschema_for::<CheckpointAdded>()))
        }
        EventKind::RolloutSet => {
            ("The job's rollout set became complete and visible.", json!(generator.subschema_for::<RolloutSetAdded>()))
        }
        EventKind::Log => ("A sentence for people.", refer("LogDetails")),
    }
}

/// Both kinds of jobs that evaluate tell of it in one form, in which only a job of kind `evaluation` says everything.
fn merge_evaluations(definitions: &mut Map<String, Value>) {
    let Some(policy) = definitions.remove("PolicyEvaluation") else { return };
    let all = &mut definitions["EvaluationComplete"];
    all["description"] =
        json!("What an evaluation found. Members that may be missing are told by evaluation jobs alone.");
    all["required"] = policy["required"].clone();
    all["properties"]["step"] = policy["properties"]["step"].clone();
}

fn log_details() -> Value {
    json!({
        "type": "object",
        "description": "What the sentence is about; members depend on it.",
        "properties": {
            "code": {
                "type": "string",
                "description": "Stable, machine-readable name of what is said. Warnings have one. An open set: be \
                                ready for words that you do not know.",
            },
        },
        "additionalProperties": true,
    })
}
