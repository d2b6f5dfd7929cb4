//! A job's events as a progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

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
        let data = &event["data"];
        let message = event["message"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "phase" => self.phase = data["phase"].as_str().unwrap_or_default().to_owned(),
            "progress" => {
                let part = |key: &str| data[key].as_u64().unwrap_or_default();
                self.phase =
                    format!("{} {}/{}", data["phase"].as_str().unwrap_or_default(), part("done"), part("total"));
            }
            "metrics" => {
                self.bar.set_position(data["step"].as_u64().unwrap_or_default());
                let value = |key: &str| data["values"][key].as_f64();
                let shown = [("loss", "loss"), ("reward/mean", "reward"), ("ess/ratio", "ESS")];
                let parts = shown.iter().filter_map(|(key, label)| Some(format!("{label} {:.3}", value(key)?)));
                self.numbers = parts.collect::<Vec<_>>().join("  ");
            }
            "evaluation" => {
                if let Some(pass) = data["pass_at"][0]["mean"].as_f64() {
                    self.pass_at_1 = format!("pass@{} {pass:.3}", data["pass_at"][0]["k"]);
                }
                self.line(message);
            }
            "status" | "log" | "checkpoint" => self.line(message),
            _ => {}
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
