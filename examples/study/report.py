"""Writes RESULTS.md from the stored results: tables, and for every claim a verdict computed from the data.

No sentence here says how a comparison went; only numbers and verdicts do, and both are computed.
"""

import math
import textwrap
from dataclasses import dataclass
from typing import Optional

import stats
from figures import VARIANCE_RUN
from stats import Interval, interval, paired

# The least difference that matters: of probabilities, effective sample sizes and shares; of entropies in nats; of
# rewards; and of logarithms of ratios.
MARGIN = 0.02
RATIO_MARGIN = math.log(1.1)
DEFAULT_BETA = 0.25


@dataclass
class Part:
    """One measured statement of a claim. `test` is one of the verdicts of `stats`, or None for a figure that is only
    shown."""

    statement: str
    shown: str
    measured: Optional[Interval]
    test: object = None
    margin: float = MARGIN

    @property
    def verdict(self):
        return self.test(self.measured, self.margin) if self.test else None

    def row(self):
        return f"| {self.statement} | {self.shown if self.measured else 'no data'} | {self.verdict or ''} |"


def _level(statement, values):
    """A figure by seed, for its own sake."""
    measured = interval(values.values())
    return Part(statement, measured and measured.text(), measured)


def _difference(statement, first, second, test=None):
    """The difference `first - second`, seed by seed."""
    measured = paired(first, second)
    return Part(statement, measured and measured.text(sign=True), measured, test)


def _factor(statement, first, second, test=None):
    """How many times `second` is `first`, seed by seed; measured as a logarithm."""
    measured = paired(*({seed: math.log(v) for seed, v in values.items() if v > 0} for values in (first, second)))
    return Part(statement, measured and _as_factor(measured), measured, test, RATIO_MARGIN)


@dataclass
class Claim:
    """A claim of a paper with its parts. `reading` explains what is compared, `figure` shows it."""

    title: str
    claim: str
    reading: str
    parts: list
    figure: str = ""
    caption: str = ""
    remarks: tuple = ()

    @property
    def verdict(self):
        return stats.together(part.verdict for part in self.parts if part.test)

    def text(self, drawn):
        lines = [
            f"### {self.title}",
            "",
            f"Claim: {self.claim}",
            "",
            f"**Verdict: {self.verdict}.**",
            "",
            self.reading,
            "",
            "| statement | measured | verdict |",
            "|---|---|---|",
        ]
        lines += [part.row() for part in self.parts]
        for remark in self.remarks:
            lines += ["", remark]
        if self.figure in drawn:
            lines += ["", f"![{self.caption}](study/{self.figure})"]
        return lines


def text(results, drawn):
    """RESULTS.md; `drawn` are the names of the figures that there are."""
    claims = [claim(results) for claim in CLAIMS]
    lines = ["# Results", "", *_head(results), "", "## Verdicts", "", "| claim | verdict |", "|---|---|"]
    lines += [f"| {claim.title} | {claim.verdict} |" for claim in claims]
    lines += ["", *_how_verdicts(), "", "## All methods", "", *_table(results)]
    for name, caption in (
        ("pass1.svg", "Held-out pass@1 over the steps"),
        ("pass8.svg", "Held-out pass@8 over the steps"),
        ("entropy.svg", "Entropy of the sampling policy over the steps"),
    ):
        lines += ["", f"![{caption}](study/{name})"] if name in drawn else []
    lines += [
        "",
        (
            "Shaded are 95 % intervals over seeds. What is measured at every step is shown as means over "
            f"{results.parameters['reuse']} steps."
        ),
        "",
        "## Claims",
    ]
    for claim in claims:
        lines += ["", *claim.text(drawn)]
    lines += ["", "## Limits", "", _limits(results)]
    return "\n".join(_wrapped(line) for line in lines) + "\n"


def _wrapped(line):
    """A paragraph in lines of at most 120 characters; tables, headings and images stay as they are."""
    if line.startswith(("|", "#", "!", "`")):
        return line
    return textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)


def _head(results):
    p = results.parameters
    seeds = sorted({run["seed"] for run in results.runs} | {f["seed"] for f in results.frontiers})
    records = [*results.runs, *results.frontiers]
    dates = sorted({r["date"] for r in records})
    machines = sorted({r["machine"] for r in records})
    builds = sorted({r["build"] or "unknown build" for r in records})
    completions = p["steps"] * p["prompts_per_step"] * p["group_size"]
    command = (
        "python3 examples/study/run.py --smoke"
        if p["smoke"]
        else f"python3 examples/study/run.py --seeds {max(seeds)} --docs docs"
    )
    lines = [
        "This page is generated; the command makes it again, with its figures and [all numbers](study/results.json):",
        "",
        "```sh",
        "cargo build --release",
        command,
        "```",
        "",
        (
            f"Measured on {' and '.join(machines)}, {dates[0]}{'' if len(dates) == 1 else ' to ' + dates[-1]}, "
            f"with {' and '.join(builds)}."
        ),
    ]
    if p["smoke"]:
        lines += ["", "**This is the smoke test: it shows that everything runs, and its numbers mean nothing.**"]
    if len(builds) > 1:
        lines += ["", "The runs come from different builds; `--fresh` makes all of them again."]
    teacher = (
        results.teacher["evaluations"][-1]["pass_at"] if results.teacher and results.teacher["evaluations"] else None
    )
    lines += [
        "",
        f"Model `{p['model']}`, data set `{p['dataset']}`, numeric verifier, seeds "
        f"{', '.join(map(str, seeds))}. Every method that samples draws {completions:,} completions "
        f"({p['steps']} steps of {p['prompts_per_step']} prompts with {p['group_size']} completions each, vOPD the "
        f"same number in smaller groups) and takes {p['steps']} steps of AdamW with learning rate "
        f"{p['learning_rate']:g}. Where completions are used {p['reuse']} times (`stale`, BOLT, SFT on successes), a "
        f"step holds {p['reuse']} times as many, so that completions and steps stay equal and the training work is "
        f"{p['reuse']} times as much. BOLT refreshed samples in {p['rounds']} rounds, one-shot in one. "
        f"Evaluations use {p['eval_prompts']} held-out prompts with {p['eval_samples']} completions each at "
        f"temperature 1. The teacher of vOPD is the same model after {p['teacher_steps']} steps of `sft` on "
        f"{p['teacher_prompts']} right answers each"
        + (f"; its pass@1 is {teacher['1']:.3f}." if teacher else "."),
    ]
    return lines


def _how_verdicts():
    return [
        "Differences are paired: the same seed with one method and with the other. Intervals are 95 % t-intervals over "
        "seeds. A statement that something is greater is *supported* when the interval lies above 0, and *not "
        f"supported* when it lies below {MARGIN}, the least difference that is taken to matter. That something is not "
        f"lower is supported when the interval lies above -{MARGIN}, and not supported when it lies below; that two "
        f"are equal is supported when the interval lies within ±{MARGIN}, and not supported when it lies outside. All "
        "else is *inconclusive*. A claim is supported when all its statements are, not supported when one is not, and "
        "inconclusive otherwise. Statements without a verdict are shown beside the others and do not count. The "
        "intervals are not corrected for their number: of twenty true zeros, one is expected to be missed."
    ]


def _table(results):
    lines = [
        "| method | pass@1 before | pass@1 after | pass@8 before | pass@8 after | entropy after | wall time |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in results.methods:
        name = method["name"]
        if not results.of(name):
            continue
        cells = [_show(results.accuracy(name, k, place)) for k in (1, 8) for place in (0, -1)]
        entropy, wall = _show(results.probe(name, "entropy/mean")), interval(results.wall(name).values())
        lines.append(
            f"| {method['label']} | {' | '.join(cells)} | {entropy} | {wall.text(0) + ' s' if wall else '-'} |"
        )
    prompts, size = results.parameters["probe_prompts"], results.parameters["group_size"]
    return lines + [
        "",
        (
            "Mean ± 95 % interval over seeds. Entropy after is that of the finished model in nats per token, "
            f"over {prompts * size:,} completions of training prompts at temperature 1. Wall time is that of the "
            "job with its evaluations, and of vOPD with the top k baseline also with the comparison of gradients."
        ),
    ]


# The claims. Each function states what is compared and with which test; the data decide.


def claim_p3o(results):
    p = results.parameters
    methods = ("grpo", "grpo-stale", "grpo-hot", "p3o", "p3o-stale", "p3o-hot")
    end = {method: results.accuracy(method, 1) for method in (*methods, "grpo-clip-higher")}
    parts = [
        _difference("fresh: P3O is not below GRPO in pass@1 (P3O - GRPO)", end["p3o"], end["grpo"], stats.not_below)
    ]
    for kind, word in (("stale", "stale"), ("hot", f"temperature {p['hot_temperature']:g}")):
        grpo, p3o = end[f"grpo-{kind}"], end[f"p3o-{kind}"]
        parts += [
            _difference(f"{word}: GRPO loses pass@1 (GRPO fresh - GRPO {word})", end["grpo"], grpo, stats.above),
            _difference(f"{word}: P3O does not (P3O {word} - P3O fresh)", p3o, end["p3o"], stats.not_below),
            _difference(f"{word}: P3O is above GRPO in pass@1 (P3O - GRPO)", p3o, grpo, stats.above),
        ]
    for method in methods:
        parts.append(_level(f"`{method}`: ESS of the ratios, mean over steps", results.mean_of(method, "ess/ratio")))
    for method in methods[:3]:
        parts.append(_level(f"`{method}`: clipped tokens, mean over steps", results.mean_of(method, "clip/fraction")))
    parts.append(_difference("fresh: GRPO with clip 0.2/0.4 - 0.2/0.2, pass@1", end["grpo-clip-higher"], end["grpo"]))
    return Claim(
        "P3O without a clip range",
        "P3O needs no clip range, and survives stale and temperature-shifted completions where GRPO's fixed clip "
        "degrades (arXiv 2605.12380).",
        f"Stale completions are used for {p['reuse']} updates; temperature-shifted ones are sampled at "
        f"{p['hot_temperature']:g} and evaluated at 1. All runs have the same number of completions and of steps.",
        parts,
        "staleness.svg",
        "ESS of the ratios and share of clipped tokens over the steps",
        (f"Stale runs differ from fresh ones also in that a step holds {p['reuse']} times as many completions.",),
    )


def claim_sampler(results):
    parts = []
    for objective, name in (("grpo", "GRPO"), ("p3o", "P3O")):
        for plain, word in ((objective, "fresh"), (f"{objective}-stale", "stale")):
            narrow, exact = (results.accuracy(method, 1) for method in (f"{plain}-int8", plain))
            words = f"{word}: {name} loses no pass@1 (sampled in int8 - with what is trained)"
            parts.append(_difference(words, narrow, exact, stats.not_below))
    for method in ("grpo-int8", "p3o-int8"):
        distance = results.mean_of(method, "logprob/mean_abs_diff")
        parts.append(_level(f"`{method}`: distance of log-probabilities, nats, mean over steps", distance))
        parts.append(_level(f"`{method}`: ESS of the ratios, mean over steps", results.mean_of(method, "ess/ratio")))
    return Claim(
        "A sampler in fewer bits",
        "Completions sampled with weights in 8 bits and with keys and values in bf16 teach GRPO and P3O as much as"
        " those of the weights that are trained, since their log-probabilities are those of the sampler and the ratios"
        " correct for it.",
        "Runs with `sampling.weights: int8` and `sampling.cache: bf16` beside the same without; evaluations take the"
        " weights that are trained. What it gains is in PERFORMANCE.md.",
        parts,
        "sampler.svg",
        "pass@1, and the distance between sampler and trainer, over the steps",
        ("Codes follow small weights well: in larger models, and longer completions, the distance is another.",),
    )


def claim_vopd(results):
    repeats = results.parameters["variance_repeats"]
    baselines = ("full", "top_k", "none")
    variance = {baseline: results.variance(VARIANCE_RUN, baseline, "variance") for baseline in baselines}

    def length(baseline):
        """Of the true mean gradient, without what the noise of a mean over `repeats` adds to it."""
        lengths, spread = results.variance(VARIANCE_RUN, baseline, "mean_norm"), variance[baseline]
        squares = {s: lengths[s] ** 2 - spread[s] / max(1, repeats - 1) for s in lengths.keys() & spread.keys()}
        return {seed: math.sqrt(square) for seed, square in squares.items() if square > 0}

    lengths = {baseline: length(baseline) for baseline in baselines}
    none, full = variance["none"], variance["full"]
    parts = [
        _factor(
            "gradient variance is higher without a baseline than with the full one (factor)", none, full, stats.above
        ),
        _factor(
            "the mean gradient is as long without as with the full baseline (factor)",
            lengths["none"],
            lengths["full"],
            stats.within,
        ),
        _factor("gradient variance without a baseline over that with the top k one (factor)", none, variance["top_k"]),
    ]
    parts += [_level(f"gradient variance, baseline `{baseline}`", variance[baseline]) for baseline in baselines]
    parts += [
        _level(f"length of the mean gradient, baseline `{baseline}`", lengths[baseline]) for baseline in baselines
    ]
    for method, word in (("vopd-full", "full"), ("vopd-topk", "top k")):
        end, plain = results.accuracy(method, 1), results.accuracy("vopd-none", 1)
        parts.append(_difference(f"{word} baseline - none, pass@1 after training", end, plain))
    factor = math.exp(RATIO_MARGIN)
    return Claim(
        "vOPD's baseline",
        "The baseline lowers the variance of the gradient and leaves its mean as it is (arXiv 2605.07865).",
        f"Before the first step the prompts of that step are sampled {repeats} times; variance is the mean squared"
        f" distance of a gradient from the mean gradient. Equal means a factor within 1/{factor:.1f} to {factor:.1f},"
        f" and higher is not supported when the factor is shown to be below {factor:.1f}. The length of the mean"
        " gradient is corrected for the noise in a mean of so many; a seed whose noise exceeds it is left out. Equal"
        " lengths are necessary for equal gradients, not sufficient.",
        parts,
        "vopd.svg",
        "pass@1 with three baselines, and the variance of their gradients",
    )


def claim_bolt(results):
    p = results.parameters
    # The evaluation that the last epoch of a one-shot run began with.
    before_last_epoch = -1 - max(1, (p["steps"] // p["reuse"]) // p["eval_every"])

    def last_epoch(beta, test=None):
        method = f"bolt-b{beta}-oneshot"
        end, before = results.accuracy(method, 1), results.accuracy(method, 1, before_last_epoch)
        words = "one-shot: the last epoch adds nothing to pass@1 (after - before it)" if test else "last epoch, pass@1"
        return _difference(words if test else f"beta {beta:g}, one-shot: {words}", end, before, test)

    def refreshing(beta, test=None):
        fresh, once = (results.accuracy(f"bolt-b{beta}-{kind}", 1) for kind in ("refreshed", "oneshot"))
        words = (
            "refreshing raises pass@1 (refreshed - one-shot)"
            if test
            else f"beta {beta:g}: refreshed - one-shot, pass@1"
        )
        return _difference(words, fresh, once, test)

    once, fresh = f"bolt-b{DEFAULT_BETA}-oneshot", f"bolt-b{DEFAULT_BETA}-refreshed"
    coverage, optimisation = results.gap(once, "support_price_low"), results.gap(once, "beta_support_kl")
    parts = [
        last_epoch(DEFAULT_BETA, stats.within),
        _difference(
            "one-shot: what is left is coverage (coverage gap - optimisation gap)", coverage, optimisation, stats.above
        ),
        _difference(
            "refreshing narrows the coverage gap (one-shot - last round)",
            coverage,
            results.gap(fresh, "support_price_low"),
            stats.above,
        ),
        refreshing(DEFAULT_BETA, stats.above),
    ]
    largest = max(p["betas"])
    matched = largest / p["rounds"]
    if matched in p["betas"]:
        words = f"the same target: beta {largest:g} in {p['rounds']} rounds - beta {matched:g} at once, pass@1"
        rounds, at_once = results.accuracy(f"bolt-b{largest}-refreshed", 1), results.accuracy(
            f"bolt-b{matched}-oneshot", 1
        )
        parts.append(_difference(words, rounds, at_once))
    for beta in p["betas"]:
        parts += [last_epoch(beta), refreshing(beta)]
        for kind, word in (("oneshot", "one-shot"), ("refreshed", "last round")):
            for name, gap in (("support_price_low", "coverage gap"), ("beta_support_kl", "optimisation gap")):
                values = results.gap(f"bolt-b{beta}-{kind}", name)
                parts.append(_level(f"beta {beta:g}, {word}: {gap}, in reward", values))
    return Claim(
        "BOLT: epochs and refreshing",
        "More epochs on the same completions cannot repair what they do not cover; sampling again from the trained "
        "policy can (arXiv 2605.02469).",
        f"One-shot and refreshed runs have equal completions, steps and epochs ({p['reuse']}); only the moment of"
        f" sampling differs. The verdict is about beta {DEFAULT_BETA:g}, the default. The gaps are measured on the"
        " completions of the last sampling phase, under the finished model.",
        parts,
        "bolt.svg",
        "pass@1 of BOLT, one-shot and refreshed, at three temperatures",
        (
            (
                "Rounds at the same beta also move the target: K rounds aim at exp(K r/beta). The row of the same"
                " target compares runs for which this is equal."
            ),
            (
                "The learning rate ends at zero in all runs, which by itself makes the last epoch add less. The"
                " coverage gap counts whole completions, token by token, and is a property of the sampled completions,"
                " not of the training."
            ),
        ),
    )


def claim_fade(results):
    def entropy(method):
        return results.probe(method, "entropy/mean")

    def accuracy(method):
        return results.accuracy(method, 1)

    def accuracy_of_8(method):
        return results.accuracy(method, 8)

    parts = [
        _difference("FADE keeps more entropy (FADE - GRPO, nats)", entropy("fade"), entropy("grpo"), stats.above),
        _difference(
            "FADE keeps a higher pass@8 (FADE - GRPO)", accuracy_of_8("fade"), accuracy_of_8("grpo"), stats.above
        ),
        _difference("at equal pass@1 (FADE - GRPO)", accuracy("fade"), accuracy("grpo"), stats.within),
    ]
    for method, word in (("fade", "FADE"), ("fade-alpha", "alpha only"), ("fade-delta", "delta only")):
        for measure, name in ((entropy, "entropy"), (accuracy_of_8, "pass@8"), (accuracy, "pass@1")):
            parts.append(_difference(f"{word} - mean-only GRPO, {name}", measure(method), measure("grpo-mean")))
    deltas = results.extreme_of("fade", "fade/delta", min)
    parts.append(_level("greatest alpha of a run", results.extreme_of("fade", "fade/alpha", max)))
    parts.append(_level("smallest delta of a run", deltas))
    remarks = []
    if deltas and min(deltas.values()) > 0.999:
        remarks.append("The sign axis was idle: delta was 1 at every step of every FADE run. Nothing here is about it.")
    return Claim(
        "FADE: entropy and pass@8",
        "FADE keeps entropy and pass@k better than GRPO at equal pass@1 (arXiv 2607.01490).",
        "Entropy is that of the finished model. The ablations switch one axis off; without both, FADE is mean-only"
        " GRPO.",
        parts,
        "fade.svg",
        "alpha and delta over the steps",
        tuple(remarks),
    )


def claim_frontier(results):
    p = results.parameters
    low, high = min(p["betas"]), max(p["betas"])
    ess, success = (dict(results.frontier(column)) for column in ("ess_share", "target_success"))

    def at(column, beta):
        return column.get(beta, {})

    parts = [
        _difference(
            f"the ESS share is lower at beta {low:g} than at {high:g} (at {high:g} - at {low:g})",
            at(ess, high),
            at(ess, low),
            stats.above,
        ),
        _difference(
            f"the target success is higher at beta {low:g} than at {high:g} (at {low:g} - at {high:g})",
            at(success, low),
            at(success, high),
            stats.above,
        ),
    ]
    for beta in sorted(p["betas"]):
        parts.append(_level(f"beta {beta:g}: ESS share", at(ess, beta)))
        parts.append(_level(f"beta {beta:g}: target success", at(success, beta)))
    trained = (results.accuracy(f"bolt-b{beta}-refreshed", 1) for beta in (low, high))
    parts.append(_difference(f"trained, refreshed: beta {low:g} - beta {high:g}, pass@1", *trained))
    remarks = [
        "For rewards of 0 and 1 the direction of both follows from the formula of the weights; what is measured is the "
        "size."
    ]
    recommended = [f["recommended_beta"] for f in results.frontiers if f.get("recommended_beta") is not None]
    if recommended:
        remarks.append(
            f"The service recommends beta {', '.join(f'{b:g}' for b in recommended)} (by seed), by the rule of"
            " the version that it ran on."
        )
    return Claim(
        "BOLT: the frontier",
        "A smaller beta trades effective sample size for the success that the target aims at (arXiv 2605.02469).",
        f"Computed from {p['frontier_prompts']} prompts of the start model a seed, {p['group_size']} completions each,"
        " before any training.",
        parts,
        "frontier.svg",
        "ESS share and target success against beta",
        tuple(remarks),
    )


CLAIMS = (claim_p3o, claim_sampler, claim_vopd, claim_bolt, claim_fade, claim_frontier)


def _limits(results):
    p = results.parameters
    # A moving average with this weight (FADE's default) takes in so much of a lasting change.
    taken_in = 1 - 0.98 ** p["steps"]
    return (
        "The setting is as small as it can be: a decoder of 0.8 million parameters with a vocabulary of 32 tokens,"
        f" completions of at most 6 tokens, one task with answers below 200, {p['steps']} optimizer steps, and one"
        f" learning rate for all methods, chosen with BOLT and tuned for no other. {_room(results)}FADE's moving"
        f" averages take in {taken_in:.0%} of a lasting change within the run. Few seeds make wide intervals, and the"
        " seeds vary sampling and the order of the prompts, not the start model. A verdict here is about this setting:"
        " that an implementation behaves as described, that it does not, or that this setting cannot tell. It confirms"
        " or refutes no paper."
    )


def _room(results):
    """What the start model's accuracy leaves to be shown."""
    starts = {run["seed"]: run["evaluations"][0]["pass_at"].get("8") for run in results.runs if run["evaluations"]}
    start = interval(value for value in starts.values() if value is not None)
    if start is None:
        return ""
    words = f"The start model's pass@8 is {start.text()}: "
    return (
        words
        + f"{1 - start.mean:.1%} of the prompts are not solved in eight attempts, which bounds what better "
        "coverage can add and what pass@8 can gain. "
    )


def _show(values):
    shown = interval(values.values())
    return shown.text() if shown else "-"


def _as_factor(log_ratio):
    """A logarithm of a ratio as a factor with its interval."""
    factor = f"{math.exp(log_ratio.mean):.3g}"
    if log_ratio.half is None:
        return factor
    return f"{factor} ({math.exp(max(-99, log_ratio.low)):.3g} to {math.exp(min(99, log_ratio.high)):.3g})"
