//! Whether a verifier can be trusted, by what an audit has seen of it.

use super::probes::{AuditedRow, AuditedText, Probe};
use crate::verifier::{Score, ScoreStatus};

/// The least reward of a completion that passes.
pub const PASS_MARK: f64 = 0.5;
/// Of the right answers that must pass.
const LEAST_PASSING: f64 = 0.95;
/// Of the texts that no model should be rewarded for, as many may pass by chance.
const MOST_PASSING: f64 = 0.05;
/// The same for a prompt, which may hold its answer.
const MOST_ECHOES: f64 = 0.2;
/// Of the verdicts that may be missing.
const MOST_ERRORS: f64 = 0.01;
/// Rows that must be judged before anything is trusted, as far as there are so many.
const LEAST_JUDGED: usize = 10;

/// What an audit has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Rows that were looked at.
    pub rows: usize,
    /// Rows with neither a completion nor an answer.
    pub skipped: usize,
    pub from_completion: usize,
    pub own: Tally,
    /// Of the texts that were tried in the place of the rows' own.
    pub probes: Vec<(Probe, Tally)>,
    /// Rows whose own text did not always get the same verdict.
    pub unstable: usize,
    /// How long each verdict took, in ascending order once all are there.
    pub seconds: Vec<f64>,
}

/// How texts of a kind were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
    pub unparsable: usize,
    pub errors: usize,
}

impl Tally {
    fn count(&mut self, score: &Score) {
        match score.status {
            ScoreStatus::Ok if passes(score) => self.passed += 1,
            ScoreStatus::Ok => self.failed += 1,
            ScoreStatus::Unparsable => self.unparsable += 1,
            ScoreStatus::Error | ScoreStatus::Timeout => self.errors += 1,
        }
    }

    pub fn judged(&self) -> usize {
        self.passed + self.failed + self.unparsable
    }

    /// Share of the judged texts that pass; none when none was judged.
    pub fn pass_rate(&self) -> Option<f64> {
        (self.judged() > 0).then(|| self.passed as f64 / self.judged() as f64)
    }

    fn error_rate(&self) -> f64 {
        self.errors as f64 / (self.judged() + self.errors).max(1) as f64
    }
}

pub fn passes(score: &Score) -> bool {
    score.status == ScoreStatus::Ok && score.reward >= PASS_MARK
}

/// Why a verifier is suspicious.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: &'static str,
    pub message: String,
}

impl Seen {
    pub fn count(&mut self, row: &AuditedRow) {
        self.rows += 1;
        let Some(AuditedText { from_completion, score, probes, stable, seconds, .. }) = &row.judged else {
            self.skipped += 1;
            return;
        };
        self.from_completion += usize::from(*from_completion);
        self.own.count(score);
        self.unstable += usize::from(!stable);
        self.seconds.extend(seconds);
        for (probe, _, score) in probes {
            match self.probes.iter_mut().find(|(known, _)| known == probe) {
                Some((_, tally)) => tally.count(score),
                None => {
                    let mut tally = Tally::default();
                    tally.count(score);
                    self.probes.push((*probe, tally));
                }
            }
        }
    }

    /// The nearest rank of the times of verdicts; none without any.
    pub fn seconds_at(&self, share: f64) -> Option<f64> {
        let last = self.seconds.len().checked_sub(1)?;
        Some(self.seconds[((share * self.seconds.len() as f64).ceil() as usize).clamp(1, last + 1) - 1])
    }

    /// Why not to trust the verifier, of which an audit was to look at `wanted` rows; nothing where it can be trusted.
    pub fn reasons(&self, wanted: usize) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut say = |code: &'static str, message: String| reasons.push(Reason { code, message });
        let judged = self.own.judged();
        if judged < LEAST_JUDGED.min(wanted) {
            say("too_few_rows", format!("only {judged} rows could be judged, of {wanted} that were asked for"));
        }
        if let Some(rate) = self.own.pass_rate().filter(|rate| *rate < LEAST_PASSING) {
            let share = 100.0 * rate;
            say("right_answers_fail", format!("only {share:.1} % of the rows' own answers pass, which are right"));
        }
        let errors = self.probes.iter().fold(self.own, |all, (_, tally)| Tally {
            passed: all.passed + tally.passed,
            failed: all.failed + tally.failed,
            unparsable: all.unparsable + tally.unparsable,
            errors: all.errors + tally.errors,
        });
        if errors.error_rate() > MOST_ERRORS {
            let share = 100.0 * errors.error_rate();
            say("errors", format!("{share:.1} % of the texts could not be judged"));
        }
        if self.unstable > 0 {
            let message = format!("{} rows got another verdict when the same text was judged again", self.unstable);
            say("not_deterministic", message);
        }
        for (probe, tally) in &self.probes {
            let Some((code, what, most)) = limit(*probe) else { continue };
            if let Some(rate) = tally.pass_rate().filter(|rate| *rate > most) {
                say(code, format!("{:.1} % of the {what} pass", 100.0 * rate));
            }
        }
        reasons
    }
}

/// What it means that a probe passes, and how often it may; none where passing says nothing.
fn limit(probe: Probe) -> Option<(&'static str, &'static str, f64)> {
    match probe {
        Probe::OtherAnswer => Some(("other_answers_pass", "answers of other rows", MOST_PASSING)),
        Probe::Empty => Some(("empty_passes", "empty completions", 0.0)),
        Probe::Echo => Some(("echo_passes", "completions that only repeat the prompt", MOST_ECHOES)),
        Probe::AllAnswers => Some(("all_answers_pass", "completions that list many answers at once", MOST_PASSING)),
        Probe::Long | Probe::Repeated => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(own: Score, probes: &[(Probe, f64)]) -> AuditedRow {
        let probes = probes.iter().map(|(probe, reward)| (*probe, String::new(), Score::ok(*reward))).collect();
        let text = AuditedText {
            from_completion: false,
            text: String::from("1"),
            answer: None,
            score: own,
            probes,
            stable: true,
            seconds: vec![0.5, 0.25],
        };
        AuditedRow { row: 0, judged: Some(text) }
    }

    fn codes(rows: &[AuditedRow], wanted: usize) -> Vec<&'static str> {
        let mut seen = Seen::default();
        rows.iter().for_each(|row| seen.count(row));
        seen.reasons(wanted).into_iter().map(|reason| reason.code).collect()
    }

    fn rows(count: usize, own: &Score, probes: &[(Probe, f64)]) -> Vec<AuditedRow> {
        (0..count).map(|_| row(own.clone(), probes)).collect()
    }

    #[test]
    fn a_verifier_that_passes_the_right_and_nothing_else_is_trusted() {
        let none: Vec<_> = Probe::ALL.into_iter().map(|probe| (probe, 0.0)).collect();
        assert_eq!(codes(&rows(20, &Score::ok(1.0), &none), 20), [""; 0]);
        let lengthy = [(Probe::Long, 1.0), (Probe::Repeated, 1.0)];
        assert_eq!(codes(&rows(3, &Score::ok(1.0), &lengthy), 3), [""; 0], "there are no more rows");
    }

    #[test]
    fn what_passes_and_should_not_is_named() {
        let cases = [
            (Probe::OtherAnswer, "other_answers_pass"),
            (Probe::Empty, "empty_passes"),
            (Probe::Echo, "echo_passes"),
            (Probe::AllAnswers, "all_answers_pass"),
        ];
        for (probe, code) in cases {
            assert_eq!(codes(&rows(20, &Score::ok(1.0), &[(probe, 1.0)]), 20), [code]);
        }
        // One in twenty answers of other rows may be equal to the own.
        let mut some = rows(19, &Score::ok(1.0), &[(Probe::OtherAnswer, 0.0), (Probe::Empty, 0.0)]);
        some.push(row(Score::ok(1.0), &[(Probe::OtherAnswer, 1.0), (Probe::Empty, 1.0)]));
        assert_eq!(codes(&some, 20), ["empty_passes"]);
    }

    #[test]
    fn failing_on_the_right_not_judging_and_changing_its_mind_are_named() {
        assert_eq!(codes(&rows(20, &Score::ok(0.0), &[]), 20), ["right_answers_fail"]);
        assert_eq!(codes(&rows(20, &Score::unparsable("no"), &[]), 20), ["right_answers_fail"]);
        assert_eq!(codes(&rows(20, &Score::error("no"), &[]), 20), ["too_few_rows", "errors"]);
        assert_eq!(codes(&[AuditedRow { row: 0, judged: None }], 5), ["too_few_rows"]);
        let mut unstable = row(Score::ok(1.0), &[]);
        unstable.judged.as_mut().unwrap().stable = false;
        assert_eq!(codes(&[unstable], 1), ["not_deterministic"]);
    }
}
