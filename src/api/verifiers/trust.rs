//! Whether a verifier can be trusted, by what an audit has seen of it.

use super::probes::{AuditedRow, AuditedText, Probe};
use crate::api::sandbox::End;
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
pub const LEAST_JUDGED: usize = 10;

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
    /// Rows in whose place no text of another answer could be tried.
    pub alone: usize,
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
    fn count(&mut self, score: &Score, passes: bool) {
        match score.status {
            ScoreStatus::Ok if passes => self.passed += 1,
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

/// Whether a text that was tried in the place of a row's own passes. Rewards may be graded, and a near answer may earn some
/// of them: other answers pass only where they earn as much as the own text does. All other texts are worth nothing.
pub fn passes_for(probe: Probe, score: &Score, own: &Score) -> bool {
    let graded = matches!(probe, Probe::OtherAnswer | Probe::AllAnswers);
    passes(score) && (!graded || score.reward >= own.reward)
}

/// What an audit was to look at, and how it ended.
#[derive(Debug)]
pub struct Course<'e> {
    /// Rows that were asked for.
    pub asked: usize,
    /// Rows of the data set.
    pub there: usize,
    pub end: &'e End,
    /// The time that it had, in seconds.
    pub seconds: f64,
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
        let Some(AuditedText { from_completion, score, probes, alone, stable, seconds, .. }) = &row.judged else {
            self.skipped += 1;
            return;
        };
        self.from_completion += usize::from(*from_completion);
        self.own.count(score, passes(score));
        self.alone += usize::from(*alone);
        self.unstable += usize::from(!stable);
        self.seconds.extend(seconds);
        for (probe, _, tried) in probes {
            let passes = passes_for(*probe, tried, score);
            match self.probes.iter_mut().find(|(known, _)| known == probe) {
                Some((_, tally)) => tally.count(tried, passes),
                None => {
                    let mut tally = Tally::default();
                    tally.count(tried, passes);
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

    /// Why not to trust the verifier; nothing where it can be trusted. The times of verdicts are in order.
    pub fn reasons(&self, course: &Course<'_>) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = self.shortfall(course).into_iter().collect();
        let mut say = |code: &'static str, message: String| reasons.push(Reason { code, message });
        // The row that was being judged is the last one.
        let row = self.rows.saturating_sub(1);
        match course.end {
            End::Done => {}
            End::TimedOut => {
                let message = format!("the verdicts on row {row}, or on those beside it, did not come to an end");
                say("timed_out", message);
            }
            End::Died(how) => say("crashed", format!("at row {row}, or at those beside it, {how}")),
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
        if self.alone > 0 && self.tally(Probe::OtherAnswer).judged() == 0 {
            let message = "no two rows have answers that differ, so that nothing shows whether wrong ones fail";
            say("no_other_answers", message.to_owned());
        }
        reasons
    }

    /// What too few rows were judged for, if they were.
    fn shortfall(&self, course: &Course<'_>) -> Option<Reason> {
        let (judged, needed) = (self.own.judged(), LEAST_JUDGED.min(course.there));
        if judged >= needed {
            return None;
        }
        let mut causes = Vec::new();
        if course.asked < needed {
            causes.push(format!("`rows` asked for {}", course.asked));
        }
        if self.skipped > 0 {
            causes.push(format!("{} have neither a completion nor an answer", self.skipped));
        }
        if self.own.errors > 0 {
            causes.push(format!("{} could not be judged", self.own.errors));
        }
        if matches!(course.end, End::Done) && self.rows < course.asked.min(course.there) {
            let slow = self.seconds_at(0.5).unwrap_or_default();
            causes.push(format!("a verdict takes {slow:.2} s, and the time was up after {} s", course.seconds));
        }
        let message = format!("only {judged} rows were judged of the {needed} that it takes: {}", causes.join("; "));
        Some(Reason { code: "too_few_rows", message })
    }

    fn tally(&self, probe: Probe) -> Tally {
        self.probes.iter().find(|(known, _)| *known == probe).map(|(_, tally)| *tally).unwrap_or_default()
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
            alone: false,
            stable: true,
            seconds: vec![0.5, 0.25],
        };
        AuditedRow { row: 0, judged: Some(text) }
    }

    fn reasons(rows: &[AuditedRow], course: &Course<'_>) -> Vec<Reason> {
        let mut seen = Seen::default();
        rows.iter().for_each(|row| seen.count(row));
        seen.reasons(course)
    }

    /// The reasons where so many rows were asked for, of so many.
    fn codes(rows: &[AuditedRow], there: usize) -> Vec<&'static str> {
        let course = Course { asked: there, there, end: &End::Done, seconds: 10.0 };
        reasons(rows, &course).into_iter().map(|reason| reason.code).collect()
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
    fn answers_that_earn_less_than_the_own_text_do_not_pass_and_other_texts_do() {
        let (right, near) = (Score::ok(1.0), Score::ok(0.5));
        for probe in [Probe::OtherAnswer, Probe::AllAnswers] {
            assert!(!passes_for(probe, &near, &right) && passes_for(probe, &near, &near), "{probe:?}");
        }
        assert!(passes_for(Probe::Empty, &near, &right) && !passes_for(Probe::Empty, &Score::ok(0.0), &right));
        let worthless = Score::ok(0.0);
        assert!(!passes_for(Probe::OtherAnswer, &worthless, &worthless));
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

    #[test]
    fn asking_for_less_earns_no_trust_and_the_cause_is_named() {
        let course = |asked, end| Course { asked, there: 200, end, seconds: 10.0 };
        let one = rows(1, &Score::ok(1.0), &[]);
        let found = reasons(&one, &course(1, &End::Done)).remove(0);
        assert_eq!(found.code, "too_few_rows");
        assert!(found.message.ends_with("of the 10 that it takes: `rows` asked for 1"), "{}", found.message);
        let found = reasons(&one, &course(200, &End::Done)).remove(0);
        assert!(found.message.contains("a verdict takes 0.50 s, and the time was up after 10 s"), "{}", found.message);
        let found = reasons(&[AuditedRow { row: 0, judged: None }], &course(200, &End::TimedOut)).remove(0);
        assert!(found.message.ends_with("1 have neither a completion nor an answer"), "{}", found.message);
    }

    #[test]
    fn a_hang_a_crash_and_answers_that_are_all_the_same_are_no_reason_to_trust() {
        let mut many = rows(199, &Score::ok(1.0), &[(Probe::OtherAnswer, 0.0)]);
        many.push(row(Score::timeout(std::time::Duration::from_secs(1)), &[]));
        let course = |end| Course { asked: 1000, there: 1000, end, seconds: 10.0 };
        let first = |end| reasons(&many, &course(end)).into_iter().map(|r| (r.code, r.message)).collect::<Vec<_>>();
        let late = first(&End::TimedOut);
        assert!(late.len() == 1 && late[0].0 == "timed_out" && late[0].1.contains("row 199"), "{late:?}");
        let died = first(&End::Died(String::from("it ended")));
        assert!(died.len() == 1 && died[0] == ("crashed", String::from("at row 199, or at those beside it, it ended")));
        let mut same = rows(20, &Score::ok(1.0), &[]);
        same.iter_mut().for_each(|row| row.judged.as_mut().unwrap().alone = true);
        assert_eq!(codes(&same, 20), ["no_other_answers"]);
        same.extend(rows(1, &Score::ok(1.0), &[(Probe::OtherAnswer, 0.0)]));
        assert_eq!(codes(&same, 21), [""; 0]);
    }
}
