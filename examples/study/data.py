"""Reads results.json by method, seed and measure."""

# What results of earlier versions have in their place; their coverage gap was an estimate and no bound.
NAMES_BEFORE = {"support_price_low": "coverage_gap", "beta_support_kl": "optimisation_gap"}


class Results:
    """What the study left behind. Values are dictionaries from seed to number; a seed without one is left out."""

    def __init__(self, data):
        self.parameters = data["parameters"]
        self.methods = data["methods"]
        self.runs = data["runs"]
        self.frontiers = data["frontiers"]
        self.teacher = data.get("teacher")

    def of(self, method):
        """The runs of a method, by seed."""
        return {run["seed"]: run for run in self.runs if run["name"] == method}

    def collect(self, method, value):
        """`value(run)` by seed, without the runs for which it is None."""
        values = {seed: value(run) for seed, run in self.of(method).items()}
        return {seed: v for seed, v in values.items() if v is not None}

    def accuracy(self, method, k, place=-1):
        """pass@k of an evaluation, by its place among the run's; the last one unless said otherwise."""

        def value(run):
            evaluations = run["evaluations"]
            inside = -len(evaluations) <= place < len(evaluations)
            return evaluations[place]["pass_at"].get(str(k)) if inside else None

        return self.collect(method, value)

    def probe(self, method, metric):
        """A measure of the finished model."""
        return self.collect(method, lambda run: run.get("probe", {}).get(metric))

    def wall(self, method):
        return self.collect(method, lambda run: run["wall_seconds"])

    def mean_of(self, method, metric):
        """Mean of a metric over all steps."""
        return self.collect(method, lambda run: _mean(run["series"].get(metric, {}).get("values")))

    def extreme_of(self, method, metric, best):
        """The least or the greatest value of a metric: `best` is min or max."""
        return self.collect(method, lambda run: best(run["series"].get(metric, {}).get("values") or [None]))

    def gap(self, method, name):
        """A gap of BOLT's last sampling phase against the finished model."""

        def value(run):
            gaps = run.get("final_gaps") or (run.get("round_gaps") or [None])[-1]
            return gaps.get(name, gaps.get(NAMES_BEFORE.get(name))) if gaps else None

        return self.collect(method, value)

    def series(self, method, metric):
        """Means over windows of as many steps as a completion is used for: for the last step of every window a
        dictionary from seed to value, as a sorted list of pairs."""
        width = self.parameters["reuse"]
        steps = {}
        for seed, run in self.of(method).items():
            series = run["series"].get(metric, {"steps": [], "values": []})
            windows = {}
            for step, value in zip(series["steps"], series["values"]):
                windows.setdefault(-(-step // width) * width, []).append(value)
            for step, values in windows.items():
                steps.setdefault(step, {})[seed] = _mean(values)
        return sorted(steps.items())

    def accuracies(self, method, k):
        """pass@k per evaluated step, in the same form as `series`."""
        steps = {}
        for seed, run in self.of(method).items():
            for evaluation in run["evaluations"]:
                if str(k) in evaluation["pass_at"]:
                    steps.setdefault(evaluation["step"], {})[seed] = evaluation["pass_at"][str(k)]
        return sorted(steps.items())

    def frontier(self, column):
        """A column of the frontier per beta, in the same form as `series`."""
        betas = {}
        for frontier in self.frontiers:
            for row in frontier.get("rows") or []:
                if row.get(column) is not None:
                    betas.setdefault(row["beta"], {})[frontier["seed"]] = row[column]
        return sorted(betas.items())

    def variance(self, method, baseline, field):
        """A figure of the comparison of gradient estimators before the first step."""
        return self.collect(method, lambda run: ((run.get("gradient_variance") or {}).get(baseline) or {}).get(field))


def _mean(values):
    return sum(values) / len(values) if values else None
