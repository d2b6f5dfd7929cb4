"""The regimes of the study: what each paper claims, the circumstances in which it is put to the test, whether these came
about, and what is compared. Everything here is data; `run.py` runs it, `report.py` tells it.

A claim about stale completions says nothing where none got stale. So every regime has checks of its own circumstances,
and where one fails the verdict is that the claim was not testable there.
"""

import random
from dataclasses import dataclass, field, replace
from typing import Callable, Optional

import stats
from tasks import ARITHMETIC, COUNTDOWN, TASKS
from data import best, change, first, gain, gap_in_nats, last_fresh, passing, probed, series_mean, until
from data import variance_ratio, variance_ratio_typical

# All jobs.
MODEL = "builtin:arith-tiny"
GROUP = 8
SAMPLING = {"temperature": 1.0, "batch_size": 256}
MICRO_BATCH_TOKENS = 4096

# The least difference that matters: of probabilities; of entropies in nats; and of logarithms of ratios.
MARGIN = 0.02
RATIO_MARGIN = 0.1
# The accuracy at which methods are compared by their time, in `coverage`.
LEVEL = 0.12


@dataclass(frozen=True)
class Scale:
    """How large the study is."""

    steps: int
    prompts: int
    eval_prompts: int
    eval_every: int
    start_steps: int
    probe_prompts: int
    variance_repeats: int
    # The longest that one job may take.
    job_seconds: int


FULL = Scale(48, 32, 256, 24, 60, 128, 8, 1200)
SMOKE = Scale(4, 4, 4, 4, 2, 4, 2, 600)


@dataclass(frozen=True)
class Start:
    """A model that jobs begin with or learn from: one of the program's after it has imitated answers, another one for each
    seed."""

    name: str
    # What share of the answers is right; the others are off by up to `spread`.
    right: float
    spread: int
    learning_rate: float = 0.001
    # In multiples of the scale's.
    steps: int = 1
    rows: int = 4096
    task: str = ARITHMETIC.name
    model: str = MODEL
    precision: str = "f32"

    def data(self, seed):
        """The rows that it imitates, of problems that are not held out."""
        return TASKS[self.task].rows(random.Random(f"{self.name} {seed}"), self.rows, self.right, self.spread)

    def spec(self, scale, seed, dataset):
        """The job that makes it."""
        model, steps = self.model, self.steps * scale.start_steps
        if scale is SMOKE and model != MODEL:
            # One that begins with nothing earns nothing within the few steps of a smoke test.
            model, steps = MODEL, 400
        return {
            "name": f"start {self.name}",
            "model": model,
            "dataset": {"train": dataset},
            "objective": {"type": "sft"},
            "optimizer": {"learning_rate": self.learning_rate, "schedule": "constant", "warmup": 0.0},
            "train": {"steps": steps, "prompts_per_step": 64, "precision": self.precision},
            "checkpoints": {"every_steps": steps, "keep_last": 1},
            "seed": seed,
        }


# pass@1 near one half, as a model that was shown the format; pass@8 is near 1.
PLAIN = Start("plain", right=0.75, spread=3)
# More than a nat of entropy a token.
NOISY = Start("noisy", right=0.35, spread=60)
# Most prompts are not solved in eight attempts.
SPARSE = Start("sparse", right=0.3, spread=20)
# Teachers, of which one is good and the other better.
GOOD, BETTER = Start("good", right=0.9, spread=3, steps=4), Start("better", right=1.0, spread=1, steps=6)
# One that writes its steps down, each right, and does not always arrive.
STEPS = Start(
    "steps",
    right=0.5,
    spread=0,
    learning_rate=0.002,
    steps=10,
    rows=16384,
    task=COUNTDOWN.name,
    model="builtin:arith-small-scratch",
    precision="bf16",
)
STARTS = (PLAIN, NOISY, SPARSE, GOOD, BETTER, STEPS)


@dataclass(frozen=True)
class Condition:
    """One method with its settings: what its spec changes of the common one."""

    name: str
    label: str
    changes: dict
    # In multiples of the regime's.
    steps: float = 1


@dataclass(frozen=True)
class Check:
    """Whether the circumstances came about: the mean over seeds of `measure` of a condition must be on the right side of
    `bound`. Where it is not, nothing is said about conditions whose names end with `concerns`, which all do by default."""

    statement: str
    condition: str
    measure: Callable
    below: Optional[float] = None
    above: Optional[float] = None
    concerns: str = ""


@dataclass(frozen=True)
class Comparison:
    """`first - second` in `measure`, seed by seed, or `first` itself; without a `test` it is only shown."""

    statement: str
    first: str
    second: Optional[str]
    measure: Callable
    test: Optional[Callable] = None
    margin: float = MARGIN


@dataclass(frozen=True)
class Regime:
    name: str
    title: str
    claim: str
    # How it is put to the test, for a reader.
    reading: str
    start: Start
    conditions: tuple
    checks: tuple
    comparisons: tuple
    # What the spec of all its conditions changes of the common one.
    changes: dict = field(default_factory=dict)
    # Measures of the finished model, which take a job of their own.
    probe: bool = False
    # Models whose checkpoints (`@good`) or rollout sets (`@noisy/set`) specs name.
    others: tuple = ()
    # In multiples of the scale's.
    steps: int = 1
    # Metrics that are drawn over the steps, beside pass@1.
    drawn: tuple = ()


def merge(base, changes):
    """`base` with `changes` put into it, object by object."""
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both and key != "objective" else value
    return merged


def of_task(task):
    """What a spec says of its task."""
    problems, held_out = task.names
    return {
        "dataset": {"train": f"@{problems}", "eval": f"@{held_out}"},
        "verifier": task.verifier,
        "sampling": {**SAMPLING, "max_new_tokens": task.max_new_tokens},
    }


def common(scale, steps):
    """The spec that all jobs of the study share, but for their task, model, seed and objective."""
    return {
        "optimizer": {"learning_rate": 0.0003, "schedule": "constant", "warmup": 0.0},
        "train": {
            "steps": steps,
            "prompts_per_step": scale.prompts,
            "track_reference": True,
            "micro_batch_tokens": MICRO_BATCH_TOKENS,
        },
        "eval": {
            "every_steps": scale.eval_every,
            "samples": 8,
            "pass_at": [1, 8],
            "prompts": scale.eval_prompts,
            "temperature": 1.0,
        },
        "checkpoints": {"every_steps": steps, "keep_last": 1},
    }


def spec_of(regime, condition, scale, seed):
    """The job of a condition. Models and sets that are yet to be made stand in it by their names, `@plain`."""
    base = {"name": f"{regime.name}/{condition.name}", "model": f"@{regime.start.name}", "seed": seed}
    steps = round(regime.steps * condition.steps * scale.steps)
    spec = merge(merge({**base, **of_task(TASKS[regime.start.task]), **common(scale, steps)}, regime.changes), condition.changes)
    smallest = {"prompts": scale.eval_prompts, "every_steps": scale.eval_every}
    return merge(spec, {"eval": {name: min(spec["eval"][name], most) for name, most in smallest.items()}})


# Objectives.


def grpo(low=0.2, high=0.2, **fields):
    return {"type": "grpo", "group_size": GROUP, "clip_low": low, "clip_high": high, **fields}


def gradient(correction, **fields):
    settings = {"type": "policy_gradient", "group_size": GROUP, "advantage": "group_std", "correction": correction}
    return {**settings, **fields}


def p3o(**fields):
    return {"type": "p3o", "group_size": GROUP, **fields}


def bolt(beta, **fields):
    return {"type": "bolt", "group_size": GROUP, "beta": beta, **fields}


def fade(**fields):
    return {"type": "fade", "group_size": GROUP, **fields}


def vopd(teacher, **fields):
    return {"type": "vopd", "group_size": 4, "teacher": teacher, **fields}


# What else there is for P3O's penalty: an unbiased estimate of the divergence that it is named for, and none.
PENALTIES = {
    "p3o-importance": {"type": "p3o", "group_size": GROUP, "kl_estimator": "importance"},
    "p3o-none": {"type": "p3o", "group_size": GROUP, "behavior_coef": 0.0},
}
PULL = (
    "P3O's penalty, as published, pulls the policy toward the one that sampled, and the more the further they are apart: "
    "here that one is noisier. After the first run had shown what that does, P3O with another estimate of the penalty "
    "(`kl_estimator: importance`) and without one was run beside it."
)


def other_penalties(before, behind):
    """What the penalty does; shown, not tested."""
    return [
        Comparison(f"{before}P3O as published - {name}, pass@1", f"p3o{behind}", f"{name}{behind}", passing(1))
        for name in PENALTIES
    ]


# The regimes.


def reuse():
    """Every completion is used 1, 4 or 16 times, at equal optimizer steps and batches."""
    methods = {
        "grpo": ("GRPO, clip 0.2", grpo()),
        "grpo-04": ("GRPO, clip 0.2/0.4", grpo(high=0.4)),
        "grpo-06": ("GRPO, clip 0.2/0.6", grpo(high=0.6)),
        "unclipped": ("no correction", gradient("none")),
        "importance": ("importance weights", gradient("importance")),
        "p3o": ("P3O", p3o()),
    }
    conditions, comparisons = [], []
    for updates in (1, 4, 16):
        for name, (label, objective) in methods.items():
            if updates > 1 or name in ("grpo", "p3o"):
                changes = {"objective": objective, "train": {"updates_per_rollout": updates}}
                conditions.append(Condition(f"{name}-{updates}", f"{label}, {updates} updates", changes))
    for updates in (4, 16):
        for other in ("grpo", "importance"):
            words = f"{updates} updates: P3O is not below {methods[other][0]} in pass@1"
            pair = (f"p3o-{updates}", f"{other}-{updates}")
            comparisons.append(Comparison(words, *pair, passing(1), stats.not_below))
        pair = (f"p3o-{updates}", f"grpo-{updates}")
        words = f"{updates} updates: P3O stays nearer to the start than GRPO (log of the KL's ratio)"
        comparisons.append(Comparison(words, *pair, last_fresh("kl/reference", updates), stats.below, RATIO_MARGIN))
        for other in ("grpo-04", "grpo-06", "unclipped"):
            words = f"{updates} updates: P3O - {methods[other][0]}, pass@1"
            comparisons.append(Comparison(words, f"p3o-{updates}", f"{other}-{updates}", passing(1)))
    for name in ("p3o", "grpo"):
        words = f"{methods[name][0]}: 16 updates - 1, with a sixteenth of the completions, pass@1"
        comparisons.append(Comparison(words, f"{name}-16", f"{name}-1", passing(1)))
    return Regime(
        name="reuse",
        title="P3O: completions that are used again",
        claim="P3O needs no clip range, and bears completions that are used again where fixed clips and plain importance "
        "weights degrade (arXiv 2605.12380).",
        reading="All methods take the same steps on batches of the same size; with more updates a completion fewer are "
        "sampled, which costs every method, so that the claim is tested among methods with the same updates. (Before the "
        "first run it also asked that 16 updates lose nothing against one; they did lose, P3O's and GRPO's alike, and the "
        "difference is shown below.) The learning rate is the same for all. The KL from the start is that of the last step whose "
        "completions the policy itself had just sampled. (On completions of an earlier policy, as it was measured first, k3 is no "
        "estimate of that distance: at the last step it was 4 to 62 for GRPO with 16 updates, and a statement was supported by it.)",
        start=PLAIN,
        conditions=tuple(conditions),
        checks=(
            Check("with 16 updates the ratios of GRPO spread (least ESS)", "grpo-16", best("ess/ratio", min), below=0.8),
            Check("with 16 updates those of P3O do (least ESS)", "p3o-16", best("p3o/ess", min), below=0.8),
            Check("with 4 updates those of P3O do (least ESS)", "p3o-4", best("p3o/ess", min), below=0.8, concerns="-4"),
            Check("there is something to learn (pass@1 at the start)", "grpo-1", passing(1, 0), below=0.8),
        ),
        comparisons=tuple(comparisons),
        changes={"optimizer": {"learning_rate": 0.0005}},
        drawn=("ess/ratio", "kl/reference"),
    )


def temperature():
    """Completions are sampled colder or hotter than the policy is."""
    conditions, comparisons = [], []
    methods = {"grpo": grpo(), "importance": gradient("importance"), "p3o": p3o(), **PENALTIES}
    for degrees in (0.6, 1.5, 2.0):
        for name, objective in methods.items():
            changes = {"objective": objective, "sampling": {"temperature": degrees}}
            conditions.append(Condition(f"{name}-{degrees:g}", f"{name}, temperature {degrees:g}", changes))
        for other in ("grpo", "importance"):
            words = f"temperature {degrees:g}: P3O is not below {other} in pass@1"
            pair = (f"p3o-{degrees:g}", f"{other}-{degrees:g}")
            comparisons.append(Comparison(words, *pair, passing(1), stats.not_below))
        comparisons += other_penalties(f"temperature {degrees:g}: ", f"-{degrees:g}")
    return Regime(
        name="temperature",
        title="P3O: completions sampled at another temperature",
        claim="P3O corrects by itself for completions that were sampled at another temperature (arXiv 2605.12380).",
        reading=f"Evaluations are at temperature 1 always. {PULL} Where ratios hardly spread there is little to correct: what "
        "differs there is the penalty's doing and says nothing of the correction.",
        start=PLAIN,
        conditions=tuple(conditions),
        checks=(
            *(
                Check(
                    f"at temperature {degrees} the ratios of importance weights spread (least ESS)",
                    f"importance-{degrees}",
                    best("ess/ratio", min),
                    below=0.8,
                    concerns=f"-{degrees}",
                )
                for degrees in ("0.6", "1.5", "2")
            ),
        ),
        comparisons=tuple(comparisons),
        drawn=("ess/ratio", "entropy/mean"),
    )


def mixed():
    """Half of the completions are another policy's."""
    methods = {
        "grpo": ("GRPO", grpo()),
        "importance": ("importance weights", gradient("importance")),
        "truncated": ("truncated weights", gradient("truncated")),
        "p3o": ("P3O", p3o()),
    }
    methods |= {name: (name, objective) for name, objective in PENALTIES.items()}
    conditions = [Condition(name, label, {"objective": objective}) for name, (label, objective) in methods.items()]
    others = [
        Comparison(f"P3O is not below {methods[name][0]} in pass@1", "p3o", name, passing(1), stats.not_below)
        for name in ("grpo", "importance", "truncated")
    ]
    others += other_penalties("", "")
    return Regime(
        name="mixed",
        title="P3O: half of the completions from another policy",
        claim="P3O learns from completions of another policy that are mixed in (arXiv 2605.12380, its Fig. 6).",
        reading="Half of each step's prompts come from a rollout set of the noisy start model (see below), whose "
        f"log-probabilities are recorded. {PULL}",
        start=PLAIN,
        conditions=tuple(conditions),
        checks=(Check("the other policy is another one (least ESS)", "p3o", best("p3o/ess", min), below=0.8),),
        comparisons=tuple(others),
        changes={"rollouts": {"mix": {"rollout_set": "@noisy/set", "share": 0.5}, "from_another_model": True}},
        others=(NOISY,),
        drawn=("ess/ratio", "entropy/mean"),
    )


def lag():
    """Phases are sampled ahead, as asynchronous samplers do."""
    conditions, comparisons = [], []
    methods = {"grpo": ("GRPO", grpo()), "p3o": ("P3O", p3o()), "truncated": ("truncated weights", gradient("truncated"))}
    for steps in (0, 1, 2, 8):
        for name, (label, objective) in methods.items():
            changes = {"objective": objective, "train": {"max_lag": steps}}
            conditions.append(Condition(f"{name}-{steps}", f"{label}, lag {steps}", changes))
    for name, (label, _) in methods.items():
        for steps in (1, 2):
            words = f"{label} loses nothing by a lag of {steps}, pass@1"
            comparisons.append(Comparison(words, f"{name}-{steps}", f"{name}-0", passing(1), stats.not_below))
        words = f"{label}: lag 8 - none, pass@1"
        comparisons.append(Comparison(words, f"{name}-8", f"{name}-0", passing(1)))
    return Regime(
        name="lag",
        title="Sampling ahead of training",
        claim="A lag of one or two steps between sampler and trainer costs nothing where ratios correct for it (arXiv 2605.12380).",
        reading="`train.max_lag` 0, 1, 2 and 8; one step a sampling phase.",
        start=PLAIN,
        conditions=tuple(conditions),
        checks=tuple(
            Check(f"a lag of {steps} moves ratios (least ESS)", f"grpo-{steps}", best("ess/ratio", min), below=0.8, concerns=f"-{steps}")
            for steps in (1, 2)
        ),
        comparisons=tuple(comparisons),
        changes={"optimizer": {"learning_rate": 0.0005}},
        drawn=("ess/ratio",),
    )


def sampler():
    """The sampler has fewer bits than the trainer."""
    narrow = {"weights": "int8", "cache": "bf16"}
    conditions = [
        Condition(f"{name}-{bits}", f"{name.upper()}, {words}", {"objective": objective, "sampling": sampling})
        for name, objective in (("grpo", grpo()), ("p3o", p3o()))
        for bits, words, sampling in (("own", "sampled with what is trained", {}), ("int8", "sampled in int8", narrow))
    ]
    comparisons = [
        Comparison(f"{name.upper()} loses nothing by it, pass@1", f"{name}-int8", f"{name}-own", passing(1), stats.not_below)
        for name in ("grpo", "p3o")
    ]
    return Regime(
        name="sampler",
        title="A sampler in fewer bits",
        claim="Completions of a sampler with weights in 8 bits and keys and values in bf16 teach as much as those of the "
        "weights that are trained, since ratios correct for it (arXiv 2605.12380, its Fig. 3).",
        reading="`sampling.weights: int8`, `sampling.cache: bf16`; evaluations take the weights that are trained.",
        start=PLAIN,
        conditions=tuple(conditions),
        checks=(
            Check("log-probabilities differ (mean, nats)", "grpo-int8", series_mean("logprob/mean_abs_diff"), above=0.001),
            Check("so that ratios spread (least ESS)", "grpo-int8", best("ess/ratio", min), below=0.8),
        ),
        comparisons=tuple(comparisons),
        drawn=("logprob/mean_abs_diff",),
    )


def coverage():
    """BOLT from a start that solves few prompts."""
    rounds, beta = 4, 0.5

    def settings(epochs, objective):
        return {"objective": objective, "train": {"updates_per_rollout": epochs}}

    # The same completions, so that more epochs take more steps.
    conditions = [
        Condition(f"once-{epochs}", f"one-shot, {epochs} epochs", settings(epochs, bolt(beta / rounds)), steps=epochs / 4)
        for epochs in (1, 4, 16)
    ]
    # Rounds at beta aim at exp(rounds * r / beta), as one round at beta / rounds does.
    conditions.append(Condition("refreshed-4", "refreshed, 4 epochs", settings(4, bolt(beta, rounds=rounds))))
    raw = settings(4, bolt(beta, rounds=rounds, weights="raw"))
    conditions.append(Condition("refreshed-raw", "refreshed, weights raw", raw))
    conditions.append(Condition("grpo", "GRPO", settings(1, grpo())))
    comparisons = [
        Comparison("refreshing repairs coverage (refreshed - one-shot), pass@8", "refreshed-4", "once-4", passing(8), stats.above),
        Comparison("more epochs do not (16 - 4 epochs), pass@8", "once-16", "once-4", passing(8), stats.not_above),
        Comparison("refreshed - one-shot, pass@1", "refreshed-4", "once-4", passing(1)),
        Comparison("4 - 1 epochs, pass@1", "once-4", "once-1", passing(1)),
        Comparison("16 - 4 epochs, pass@1", "once-16", "once-4", passing(1)),
        Comparison(
            "refreshed - one-shot: support price over beta, lower bound, nats", "refreshed-4", "once-4", gap_in_nats("support_price_low")
        ),
    ]
    comparisons.append(Comparison("refreshed BOLT - GRPO, pass@1", "refreshed-4", "grpo", passing(1)))
    comparisons.append(Comparison("refreshed BOLT, weights raw - GRPO, pass@1", "refreshed-raw", "grpo", passing(1)))
    for name in ("refreshed-4", "refreshed-raw"):
        words = f"{name} - GRPO: seconds until pass@1 is {LEVEL:g} (log of the ratio)"
        comparisons.append(Comparison(words, name, "grpo", until(1, LEVEL)))
    return Regime(
        name="coverage",
        title="BOLT: coverage, epochs and refreshing",
        claim="More epochs on the same completions cannot repair what they do not cover; sampling again from the trained "
        "policy can, at the same effective temperature of the target (arXiv 2605.02469).",
        reading=f"One-shot runs have beta {beta / rounds:g}, refreshed ones {rounds} rounds at beta {beta:g}, which aim at "
        "the same target; the support price of either is that of its last sampling phase, and since one is at another beta than the other "
        "both are shown over beta. Epochs are over the same completions, so that more of them take more steps. (Until they were, "
        "more epochs meant fewer completions at equal steps.) Seconds are compared of the seeds in which both reached that level, of "
        "jobs that ran two at a time. "
        "The start and the learning rate were chosen by pilots with two of the seeds, so that few prompts are solved and "
        "GRPO does not fall back. (The comparison of weights, which now has a regime of its own, was part of this one when it ran; "
        "taking it out, its outcome known, made the intervals here narrower.)",
        start=SPARSE,
        conditions=tuple(conditions),
        checks=(
            Check("on more than 30 % of the prompts all eight attempts fail (pass@8 at the start)", "once-4", passing(8, 0), below=0.7),
            Check("of many prompts all completions earn the same, mostly nothing (share at the start)", "once-4", first("reward/zero_spread"), above=0.3),
        ),
        comparisons=tuple(comparisons),
        changes={"optimizer": {"learning_rate": 0.0005}, "eval": {"every_steps": 8}},
        drawn=("target/ess_share",),
    )


def weights():
    """BOLT's weights beside those that its paper compares them with."""
    beta, every = 0.125, {"group": "group", "step": "step", "raw": "raw", "advantage": "advantage", "threshold": {"threshold": 0.5}}
    # Clipping takes a factor that all weights of a step have out of it.
    free = {"optimizer": {"max_grad_norm": 0.0}}
    conditions, comparisons = [], []
    for name, kind in every.items():
        spec = {"objective": bolt(beta, weights=kind), "train": {"updates_per_rollout": 4}}
        conditions.append(Condition(name, f"weights {name}", spec))
        if name in ("group", "step", "raw"):
            conditions.append(Condition(f"{name}-free", f"weights {name}, gradients not clipped", {**spec, **free}))
    names = {condition.name for condition in conditions}
    for behind, words in (("", ""), ("-free", "without clipping ")):
        for name in every:
            if name != "group" and f"{name}{behind}" in names:
                said = f"{words}weights by group are not below weights {name}, pass@1"
                comparisons.append(Comparison(said, f"group{behind}", f"{name}{behind}", passing(1), stats.not_below))
    grown = coverage()
    return replace(
        grown,
        name="weights",
        title="BOLT: its weights",
        claim="Weights that are normalised within each group teach as much as those that are not (the ablation of arXiv 2605.02469).",
        reading=f"One-shot, 4 epochs, beta {beta:g}; weights by group are those of `once-4` above. Gradients are clipped to a norm of 1, which makes weights that differ by one "
        "factor for a whole step, as those of `step` and `raw` do, the same where it binds; so these are run without it, too.",
        conditions=tuple(conditions),
        checks=tuple(replace(check, condition="group") for check in grown.checks),
        comparisons=tuple(comparisons),
    )


def entropy():
    """FADE from a start with much entropy."""
    pairs = [1, 2, 4, 8, 16, 32, 64]

    def dials(target):
        return fade(ema=0.1, entropy_target=target)

    objectives = {
        "grpo": ("GRPO", grpo()),
        "mean": ("mean-only GRPO", grpo(scale="none")),
        "fade-50": ("FADE, target 0.75 nats", dials(0.75)),
        "fade-75": ("FADE, target 1.1 nats", dials(1.1)),
        "fade-alpha": ("FADE, alpha only", fade(ema=0.1, entropy_target=1.1, delta_min=1.0)),
        "fade-delta": ("FADE, delta only", fade(ema=0.1, entropy_target=1.1, alpha_max=1.0)),
    }
    conditions = [Condition(name, label, {"objective": objective}) for name, (label, objective) in objectives.items()]
    kept = probed("entropy/mean")
    return Regime(
        name="entropy",
        title="FADE: entropy and pass@k",
        claim="FADE keeps entropy and pass@k better than GRPO at equal pass@1 (arXiv 2607.01490).",
        reading="Four updates a completion, `ema` 0.1, and two entropy targets; entropy after is that of the finished model.",
        start=NOISY,
        conditions=tuple(conditions),
        checks=(
            Check("the start has entropy (nats a token)", "grpo", first("entropy/mean"), above=1.0),
            Check("delta falls below 1 (least delta)", "fade-75", best("fade/delta", min), below=0.98),
            Check("and so it does with the lower target", "fade-50", best("fade/delta", min), below=0.98, concerns="fade-50"),
            Check("alpha rises above 1 (greatest alpha)", "fade-75", best("fade/alpha", max), above=1.02),
        ),
        comparisons=(
            Comparison("FADE keeps more entropy than GRPO, nats", "fade-75", "grpo", kept, stats.above),
            Comparison("FADE has a higher pass@64 than GRPO", "fade-75", "grpo", passing(64), stats.above),
            Comparison("FADE is not below GRPO in pass@1", "fade-75", "grpo", passing(1), stats.not_below),
            Comparison("FADE with a lower target - GRPO, entropy", "fade-50", "grpo", kept),
            Comparison("alpha only - mean-only GRPO, entropy", "fade-alpha", "mean", kept),
            Comparison("delta only - mean-only GRPO, entropy", "fade-delta", "mean", kept),
            Comparison("FADE - mean-only GRPO, pass@64", "fade-75", "mean", passing(64)),
        ),
        changes={
            "train": {"updates_per_rollout": 4},
            "eval": {"samples": 64, "pass_at": pairs, "prompts": 64},
        },
        probe=True,
        drawn=("entropy/mean", "fade/delta", "fade/alpha"),
    )


def lower():
    """The lower target of FADE, in twice the steps, which its dial needs to move."""
    grown = entropy()
    kept = probed("entropy/mean")
    return replace(
        grown,
        name="lower",
        title="FADE: a lower target, and the steps to get there",
        reading="As above, with a target of 0.75 nats and twice the steps: in the 48 of the regime above entropy did not come near it.",
        conditions=tuple(condition for condition in grown.conditions if condition.name in ("grpo", "mean", "fade-50")),
        checks=(
            Check("the start has entropy (nats a token)", "grpo", first("entropy/mean"), above=1.0),
            Check("delta falls below 1 (least delta)", "fade-50", best("fade/delta", min), below=0.98),
        ),
        comparisons=(
            Comparison("FADE keeps more entropy than GRPO, nats", "fade-50", "grpo", kept, stats.above),
            Comparison("FADE has a higher pass@64 than GRPO", "fade-50", "grpo", passing(64), stats.above),
            Comparison("FADE is not below GRPO in pass@1", "fade-50", "grpo", passing(1), stats.not_below),
            Comparison("FADE - mean-only GRPO, entropy", "fade-50", "mean", kept),
            Comparison("FADE - mean-only GRPO, pass@64", "fade-50", "mean", passing(64)),
        ),
        steps=2,
    )


def distillation():
    """vOPD with every estimator and two teachers."""
    estimators = {
        "full": ("full baseline", {"baseline": "full"}),
        "topk": ("top 4 baseline", {"baseline": {"top_k": 4}}),
        "none": ("no baseline", {"baseline": "none"}),
        "fullkl": ("full KL", {"estimator": "full_kl"}),
        "topkl": ("top 4 KL", {"estimator": "top_k_kl", "baseline": {"top_k": 4}}),
    }
    conditions = []
    for teacher in ("good", "better"):
        for name, (label, fields) in estimators.items():
            probing = {"gradient_variance_repeats": 8, "gradient_variance_every": 10} if name == "full" else {}
            objective = vopd(f"@{teacher}", **fields, **probing)
            conditions.append(Condition(f"{name}-{teacher}", f"{label}, {teacher} teacher", {"objective": objective}))
    comparisons = []
    for teacher in ("good", "better"):
        words = f"{teacher} teacher: the gradient varies less with the full baseline than with none (log of the ratio)"
        comparisons.append(
            Comparison(words, f"full-{teacher}", None, variance_ratio, stats.below, RATIO_MARGIN)
        )
        words = f"{teacher} teacher: the same, the mean of the logarithms of single measurements"
        comparisons.append(Comparison(words, f"full-{teacher}", None, variance_ratio_typical))
        words = f"{teacher} teacher: the baseline is not below the full KL in pass@1"
        comparisons.append(Comparison(words, f"full-{teacher}", f"fullkl-{teacher}", passing(1), stats.not_below))
        for name in ("topk", "none", "topkl"):
            words = f"{teacher} teacher: full baseline - {estimators[name][0]}, pass@1"
            comparisons.append(Comparison(words, f"full-{teacher}", f"{name}-{teacher}", passing(1)))
    return Regime(
        name="distillation",
        title="vOPD's baseline",
        claim="The baseline lowers the variance of the gradient, and reaches what differentiating the whole divergence does "
        "(arXiv 2605.07865).",
        reading="Variance is measured before the first step and after every ten on the prompts of the first one; the ratio is "
        "that of the means over a run. (With a measurement every 12 steps it was supported with both teachers. Every ten steps, one measurement "
        "with the good one has a variance of 34 without the baseline, where most have 1 to 5, and in another it is higher with the baseline, 7.6 against "
        "2.8. The mean of the logarithms, in which a measurement counts as one, was added when this had been seen, and is only shown.)",
        start=PLAIN,
        conditions=tuple(conditions),
        checks=(
            *(
                check
                for teacher in ("good", "better")
                for check in (
                    Check(f"the {teacher} teacher is another model (KL at the first step, nats)", f"full-{teacher}", first("kl/teacher"), above=0.02, concerns=f"-{teacher}"),
                    Check(f"the {teacher} teacher is better: its student gains (pass@1)", f"full-{teacher}", gain(1), above=0.02, concerns=f"-{teacher}"),
                )
            ),
        ),
        comparisons=tuple(comparisons),
        changes={"optimizer": {"learning_rate": 0.0003}},
        others=(GOOD, BETTER),
        drawn=("kl/teacher",),
    )


def reasoning():
    """A task whose answers are steps, where the other regimes have one number."""
    methods = {
        "grpo": ("GRPO", grpo()),
        "p3o": ("P3O", p3o()),
        "bolt": ("BOLT, 4 rounds", bolt(0.5, rounds=4)),
        "fade": ("FADE", fade(ema=0.1)),
        "rloo": ("RLOO", gradient("none", advantage="rloo")),
    }
    conditions = [Condition(name, label, {"objective": objective}) for name, (label, objective) in methods.items()]
    learned = [
        Comparison(f"{label}: after - before, pass@1", name, None, gain(1), stats.above)
        for name, (label, _) in methods.items()
    ]
    return Regime(
        name="reasoning",
        title="Steps to reason over: countdown with scratch work",
        claim="Rewards of the last line alone teach which steps to take: every method ends above what imitation reached, which is no "
        "paper's claim and what all of them take for granted.",
        reading="Three numbers are to be combined into a fourth; the answer is two lines of work and the expression. The "
        "start is a model of 3.9 M parameters that has begun with random weights and imitated work whose every step is right and "
        "half of which does not arrive. Everything is in bf16.",
        start=STEPS,
        conditions=tuple(conditions),
        checks=(
            Check("there is something to learn (pass@1 at the start)", "grpo", passing(1, 0), below=0.7),
            Check("and something to learn from (pass@8 at the start)", "grpo", passing(8, 0), above=0.05),
        ),
        comparisons=(
            *learned,
            Comparison("P3O is not below GRPO in pass@1", "p3o", "grpo", passing(1), stats.not_below),
            Comparison("FADE - GRPO, pass@8", "fade", "grpo", passing(8)),
            Comparison("BOLT - GRPO, pass@1", "bolt", "grpo", passing(1)),
            Comparison("GRPO: after - before, tokens of a completion", "grpo", None, change("completion/tokens_mean")),
        ),
        changes={
            "optimizer": {"learning_rate": 0.0002},
            "train": {"precision": "bf16"},
            "eval": {"every_steps": 48, "prompts": 128},
        },
        drawn=("reward/mean", "entropy/mean"),
    )


REGIMES = tuple(
    make()
    for make in (reuse, temperature, mixed, lag, sampler, coverage, weights, entropy, lower, distillation, reasoning)
)
