//! A job's events as a progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::client::body;
use crate::job::EventBody;

/// Shows one job.
pub struct JobProgress {
    bar: ProgressBar,
    phase: String,
    numbers: String,
    pass_at_1: String,
}

impl JobProgress {
    /// A bar of `steps` optimizer steps on standard error; without a terminal, only the notable events are printed.
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        let template = "{elapsed_precise} [{bar:24}] {pos}/{len} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, phase: String::from("queued"), numbers: String::new(), pass_at_1: String::new() }
    }

    pub fn show(&mut self, event: &Value) {
        let Some(body) = body(event) else { return };
        let message = event["message"].as_str().unwrap_or_default();
        match body {
            EventBody::Phase(change) => self.phase = change.phase.to_string(),
            EventBody::Progress(work) => self.phase = format!("{} {}/{}", work.phase, work.done, work.total),
            EventBody::Metrics(metrics) => {
                self.bar.set_position(metrics.step);
                let shown = [("loss", "loss"), ("reward/mean", "reward"), ("ess/ratio", "ESS")];
                let parts = shown
                    .iter()
                    .filter_map(|(name, label)| Some(format!("{label} {:.3}", metrics.values.number(name)?)));
                self.numbers = parts.collect::<Vec<_>>().join("  ");
            }
            EventBody::Evaluation(found) => {
                if let Some(pass) = found.pass_at().first() {
                    self.pass_at_1 = format!("pass@{} {:.3}", pass.k, pass.mean);
                }
                self.line(message);
            }
            EventBody::Status(_) | EventBody::Log(_) | EventBody::Checkpoint(_) => self.line(message),
            EventBody::RolloutSet(_) => {}
        }
        self.bar.set_message(format!("{}  {}  {}", self.phase, self.numbers, self.pass_at_1));
    }

    /// Prints a line above the bar.
    pub fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
