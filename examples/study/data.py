"""Reads results.json, and what can be read off a run: each measure is a function from a run to a number, or to none."""

import math


class Results:
    """What the study left behind."""

    def __init__(self, data):
        self.parameters = data["parameters"]
        self.runs = data["runs"]

    def of(self, regime, condition):
        """The runs of a condition, by seed."""
        return {r["seed"]: r for r in self.runs if r["regime"] == regime and r["condition"] == condition}

    def collect(self, regime, condition, measure):
        """A measure of a condition's runs by seed, without those that have none."""
        values = {seed: measure(run) for seed, run in self.of(regime, condition).items()}
        return {seed: value for seed, value in values.items() if value is not None}

    def series(self, regime, condition, metric):
        """A metric over the steps: for each step a dictionary from seed to value, as a sorted list of pairs."""
        steps = {}
        for seed, run in self.of(regime, condition).items():
            series = run["series"].get(metric, {"steps": [], "values": []})
            for step, value in zip(series["steps"], series["values"]):
                steps.setdefault(step, {})[seed] = value
        return sorted(steps.items())

    def accuracies(self, regime, condition, k):
        """pass@k by evaluated step, in the same form as `series`."""
        steps = {}
        for seed, run in self.of(regime, condition).items():
            for evaluation in run["evaluations"]:
                if str(k) in evaluation["pass_at"]:
                    steps.setdefault(evaluation["step"], {})[seed] = evaluation["pass_at"][str(k)]
        return sorted(steps.items())


def mean(values):
    """None for no values."""
    return sum(values) / len(values) if values else None


def _values(run, metric):
    return run["series"].get(metric, {}).get("values") or []


def passing(k, place=-1):
    """pass@k of an evaluation, by its place among the run's."""

    def measure(run):
        evaluations = run["evaluations"]
        inside = -len(evaluations) <= place < len(evaluations)
        return evaluations[place]["pass_at"].get(str(k)) if inside else None

    return measure


def gain(k):
    """What pass@k has risen by from the first evaluation to the last."""

    def measure(run):
        before, after = passing(k, 0)(run), passing(k)(run)
        return after - before if before is not None and after is not None else None

    return measure


def change(metric):
    """What a metric has risen by from the first step to the last."""
    return lambda run: _values(run, metric)[-1] - _values(run, metric)[0] if _values(run, metric) else None


def series_mean(metric):
    return lambda run: mean(_values(run, metric))


def best(metric, which):
    """The least or the greatest value of a metric: `which` is min or max."""
    return lambda run: which(_values(run, metric), default=None)


def first(metric):
    return lambda run: next(iter(_values(run, metric)), None)


def last_fresh(metric, every):
    """The logarithm of a metric at the last step whose completions the policy itself had just sampled, where they are used
    `every` times."""

    def measure(run):
        series = run["series"].get(metric, {"steps": [], "values": []})
        fresh = [value for step, value in zip(series["steps"], series["values"]) if step % every == 1 % every]
        return math.log(fresh[-1]) if fresh and fresh[-1] > 0 else None

    return measure


def probed(metric):
    """A measure of the finished model."""
    return lambda run: run.get("probe", {}).get(metric)


def gap_in_nats(name):
    """A gap of BOLT's last sampling phase against the finished model, which is in units of reward, over the temperature of the
    target."""

    def measure(run):
        gaps = run.get("gaps") or {}
        return gaps[name] / gaps["beta"] if gaps.get(name) is not None and gaps.get("beta") else None

    return measure


def until(k, level):
    """The logarithm of the seconds of sampling and training after which pass@k reaches `level`, by a line between the
    evaluations around it; none where it never does, and where it is there from the start."""

    def measure(run):
        spent = [
            pair
            for name in ("time/rollout_seconds", "time/step_seconds")
            for pair in zip(run["series"].get(name, {}).get("steps", ()), _values(run, name))
        ]
        points = [
            (sum(seconds for step, seconds in spent if step <= evaluation["step"]), evaluation["pass_at"][str(k)])
            for evaluation in run["evaluations"]
        ]
        for (before, low), (after, high) in zip(points, points[1:]):
            if low < level <= high and after > before:
                return math.log(before + (after - before) * (level - low) / (high - low))
        return None

    return measure


def variance_ratio(run):
    """The logarithm of the gradient's mean variance with the full baseline over that without one."""
    tables = run.get("gradient_variances") or []
    of = {name: mean([table[name]["variance"] for table in tables if name in table]) for name in ("full", "none")}
    return math.log(of["full"] / of["none"]) if of["full"] and of["none"] else None


def variance_ratio_typical(run):
    """The mean over a run's measurements of that logarithm, in which a single large variance counts as one of them."""
    tables = run.get("gradient_variances") or []
    variances = [[table[name]["variance"] for name in ("full", "none") if name in table] for table in tables]
    ratios = [math.log(both[0] / both[1]) for both in variances if len(both) == 2 and min(both) > 0]
    return mean(ratios) if ratios else None
