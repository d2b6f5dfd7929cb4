"""Writes RESULTS.md from the stored results: for each regime whether its circumstances came about, what was compared, and a
verdict that is computed from both.

No sentence here says how a comparison went; only numbers and verdicts do, and both are computed.
"""

import textwrap

import stats
from data import passing
from regimes import STARTS
from stats import interval, paired


def text(results, regimes, drawn):
    """RESULTS.md; `drawn` are the names of the figures that there are."""
    known = [regime for regime in regimes if any(run["regime"] == regime.name for run in results.runs)]
    told = [Told(results, regime) for regime in known]
    lines = ["# Results", "", *_head(results, regimes, known), "", "## Verdicts", "", "| regime | verdict |", "|---|---|"]
    lines += [f"| [{one.regime.title}](#{one.anchor}) | {one.verdict} |" for one in told]
    lines += ["", *_how_verdicts(results)]
    for one in told:
        lines += ["", *one.text(drawn)]
    lines += ["", "## Limits", "", _limits(results)]
    return "\n".join(_wrapped(line) for line in lines) + "\n"


class Told:
    """What is said of one regime."""

    def __init__(self, results, regime):
        self.results, self.regime = results, regime
        self.anchor = regime.title.lower().replace(" ", "-")
        for mark in ":,@'":
            self.anchor = self.anchor.replace(mark, "")
        # Intervals of tested statements hold together.
        self.count = max(1, sum(1 for comparison in regime.comparisons if comparison.test))
        self.checks = [self.check(check) for check in regime.checks]
        self.compared = [self.compare(comparison) for comparison in regime.comparisons]
        self.seeds = len({run["seed"] for run in results.runs if run["regime"] == regime.name})

    def check(self, check):
        """The measured mean over seeds, and whether it is on the right side."""
        measured = interval(self.results.collect(self.regime.name, check.condition, check.measure).values())
        if measured is None:
            return check, None, None
        holds = (check.below is None or measured.mean < check.below) and (
            check.above is None or measured.mean > check.above
        )
        return check, measured, holds

    def compare(self, comparison):
        collect = lambda name: self.results.collect(self.regime.name, name, comparison.measure)  # noqa: E731
        first = collect(comparison.first)
        if comparison.second is None:
            measured = interval(first.values(), self.count)
        else:
            measured = paired(first, collect(comparison.second), self.count)
        own = [name for name in (comparison.first, comparison.second) if name]
        failed = [check for check, _, holds in self.checks if holds is False and check.concerns]
        if any(name.endswith(check.concerns) for check in failed for name in own):
            return comparison, measured, stats.NOT_TESTABLE
        return comparison, measured, comparison.test and comparison.test(measured, comparison.margin)

    @property
    def verdict(self):
        if any(holds is False for check, _, holds in self.checks if not check.concerns):
            return stats.NOT_TESTABLE
        if any(holds is None for _, _, holds in self.checks):
            return stats.NO_DATA
        return stats.together(verdict for comparison, _, verdict in self.compared if comparison.test)

    def text(self, drawn):
        regime = self.regime
        lines = [f"## {regime.title}", "", f"Claim: {regime.claim}", "", f"**Verdict: {self.verdict}.**", ""]
        lines += [f"{regime.reading} Start: the {regime.start.name} model.", ""]
        lines += ["| did the circumstances come about? | measured | wanted | |", "|---|---|---|---|"]
        for check, measured, holds in self.checks:
            wanted = f"below {check.below:g}" if check.below is not None else f"above {check.above:g}"
            word = {True: "yes", False: "no", None: "no data"}[holds]
            lines.append(f"| {check.statement} | {measured.text() if measured else '-'} | {wanted} | {word} |")
        lines += ["", "| statement | measured | could be found | verdict |", "|---|---|---|---|"]
        for comparison, measured, verdict in self.compared:
            shown = measured.text(sign=True) if measured else "no data"
            least = f"{measured.detectable:.3f}" if measured and measured.detectable is not None else "-"
            if measured and measured.n < self.seeds:
                shown += f" ({measured.n} of {self.seeds} seeds; the others have none)"
            lines.append(f"| {comparison.statement} | {shown} | {least} | {verdict or ''} |")
        lines += [*self.power(), "", *self.table(), *self.curve(), "", self.time()]
        name = f"{regime.name}.svg"
        if name in drawn:
            lines += ["", f"![{regime.title}](study/{name})"]
        return lines

    def power(self):
        """How many statements these seeds could hardly have decided."""
        tested = [(comparison, measured) for comparison, measured, verdict in self.compared if comparison.test and verdict != stats.NOT_TESTABLE]
        known = [(comparison, measured) for comparison, measured in tested if measured and measured.detectable is not None]
        weak = sum(1 for comparison, measured in known if _needed(comparison, measured) > comparison.margin)
        if not weak:
            return []
        return [
            "",
            f"Of {len(tested)} statements with a verdict {weak} would be supported with that chance only by differences greater than the least that "
            f"matters: {self.seeds} seeds are few for so much spread.",
        ]

    def curve(self):
        """pass@k of the finished models for each k, where there are many."""
        ks = sorted({k for run in self.results.runs if run["regime"] == self.regime.name for k in _ks(run)})
        if len(ks) < 3:
            return []
        lines = ["", f"| after | {' | '.join(f'pass@{k}' for k in ks)} |", "|---|" + "---|" * len(ks)]
        for condition in self.regime.conditions:
            values = [self.results.collect(self.regime.name, condition.name, passing(k)).values() for k in ks]
            if any(values):
                means = [f"{sum(of_k) / len(of_k):.3f}" if of_k else "-" for of_k in values]
                lines.append(f"| {condition.label} | {' | '.join(means)} |")
        return lines

    def time(self):
        """How long the regime's jobs took, one after the other."""
        runs = [run for run in self.results.runs if run["regime"] == self.regime.name]
        minutes = sum(run["wall_seconds"] for run in runs) / 60
        return f"{len(runs)} jobs of {minutes:.0f} minutes together, besides their starts."

    def table(self):
        largest = max((k for run in self.results.runs if run["regime"] == self.regime.name for k in _ks(run)), default=8)
        lines = [
            f"| method | pass@1 before | pass@1 after | pass@{largest} before | pass@{largest} after | seeds |",
            "|---|---|---|---|---|---|",
        ]
        for condition in self.regime.conditions:
            runs = self.results.of(self.regime.name, condition.name)
            if not runs:
                continue
            shown = lambda measure: _show(self.results.collect(self.regime.name, condition.name, measure))  # noqa: E731, B023
            cells = [shown(passing(k, place)) for k in (1, largest) for place in (0, -1)]
            lines.append(f"| {condition.label} | {' | '.join(cells)} | {len(runs)} |")
        return lines


def _needed(comparison, measured):
    """The least true difference, in the direction that is claimed, by which a statement would be supported with a chance of
    POWER. That something is not below needs less, by the margin: it may need none, or be found where it is a little below."""
    is_of_margin = comparison.test in (stats.not_below, stats.not_above)
    return measured.detectable - (comparison.margin if is_of_margin else 0.0)


def _ks(run):
    return [int(k) for evaluation in run["evaluations"] for k in evaluation["pass_at"]]


def _show(values):
    shown = interval(values.values())
    return shown.text() if shown else "-"


def _wrapped(line):
    """A paragraph in lines of at most 120 characters; tables, headings and images stay as they are."""
    if line.startswith(("|", "#", "!", "`")):
        return line
    return textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)


def _head(results, regimes, known):
    p = results.parameters
    seeds = sorted({run["seed"] for run in results.runs})
    dates = sorted({run["date"] for run in results.runs})
    machines = sorted({run["machine"] for run in results.runs})
    builds = sorted({run["build"] or "unknown build" for run in results.runs})
    command = "python3 examples/study/run.py " + ("--smoke" if p["smoke"] else f"--seeds {max(seeds)} --docs docs")
    lines = [
        "This page is generated; the command makes it again, with its figures and [all numbers](study/results.json):",
        "",
        "```sh",
        "cargo build --release",
        command,
        "```",
        "",
        f"Measured on {' and '.join(machines)}, {dates[0]}{'' if len(dates) == 1 else ' to ' + dates[-1]}, "
        f"with {' and '.join(builds)}.",
    ]
    if p["smoke"]:
        lines += ["", "**This is the smoke test: it shows that everything runs, and its numbers mean nothing.**"]
    missing = [f"`{regime.name}`" for regime in regimes if regime not in known]
    if missing:
        lines += ["", f"Regimes that were not run yet: {', '.join(missing)}; `--regime NAME` runs one."]
    lines += [
        "",
        "Where a regime says nothing else: additions and subtractions of two numbers below 100, a numeric verifier, and a "
        "decoder of 0.8 million parameters "
        f"(`{p['model']}`) that has first imitated answers of which a share is wrong, others for each seed: of those of the "
        f"{', '.join(f'*{start.name}* start {start.right:.0%}' for start in STARTS[:3])} are right. Seeds "
        f"{', '.join(map(str, seeds))}. Jobs take {p['steps']} steps of AdamW on {p['prompts']} prompts with {p['group']} "
        f"completions each; evaluations {p['eval_prompts']} held-out prompts at temperature 1, where a table says "
        "nothing else.",
    ]
    return lines


def _how_verdicts(results):
    alpha, power = 1 - stats.ALPHA, stats.POWER
    return [
        "Differences are paired: the same seed, and so the same start and prompts, with one method and with the other. "
        f"Intervals of the statements with a verdict hold together with a chance of {alpha:.0%} in each regime (Student's t, "
        "Bonferroni); those in the tables of methods hold one by one. *Could be found* is the least true difference that "
        f"would be told from 0 with a chance of {power:.0%}, by the spread that was measured; that something is not below is "
        "found so often where the difference is that less the margin. A statement that "
        "something is greater is supported when its interval lies above 0, and not supported when it lies below the least "
        "difference that matters (0.02 of a probability or of nats; 0.1 of a logarithm of a ratio); that something is not "
        "below is supported when the interval lies above minus that, and not supported when it lies below. All else is "
        "inconclusive. A claim is supported when all its statements are, and not supported when one is not. Where a "
        "circumstance did not come about, what it concerns is not testable here, be it the claim or some of its statements, "
        "whatever was measured.",
    ]


def _limits(results):
    return (
        "The setting is as small as it can be: a vocabulary of 32 tokens, completions of at most 6 tokens (32 where there "
        "are steps to reason over), one learning rate a regime, tuned for no method (but so that GRPO does not fall back where "
        f"BOLT is put to the test), and {results.parameters['steps']} steps where nothing else is said. A verdict here is about this setting: that an implementation behaves as described, that it "
        "does not, or that this setting cannot tell. It confirms or refutes no paper."
    )
