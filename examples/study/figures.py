"""The figures of the study: which measure of which method goes where."""

from stats import interval
from svg import Bar, Figure, Line, Panel

STEP = "optimizer step"
MAIN = ("sft-successes", "grpo", "p3o", "bolt-b0.25-refreshed", "vopd-full", "fade")
# Methods that sample from the current policy, so that what they report of their completions is about it.
SAMPLING_ONLINE = ("grpo", "p3o", "bolt-b0.25-refreshed", "vopd-full", "fade")
BASELINES = (("vopd-full", "full", "full"), ("vopd-topk", "top_k", "top k"), ("vopd-none", "none", "none"))
# The method whose runs compare the gradients of all baselines before their first step.
VARIANCE_RUN = "vopd-topk"


class Drawing:
    """Collects the lines of one figure and what was missing for it."""

    def __init__(self, results):
        self.results = results
        self.labels = {method["name"]: method["label"] for method in results.methods}
        self.missing = []

    def line(self, points, label, markers=False, style=None):
        """A line with its interval over seeds from pairs of a place and a dictionary of values by seed."""
        if not points:
            return None
        middle = [(x, interval(values.values())) for x, values in points]
        return Line(
            label,
            [x for x, _ in middle],
            [i.mean for _, i in middle],
            [i.low for _, i in middle],
            [i.high for _, i in middle],
            style,
            markers,
        )

    def lines(self, methods, points, what, markers=False, optional=(), styles=None):
        """A line for each method; a method without data is noted, unless it may lack this measure."""
        drawn = []
        for number, method in enumerate(methods):
            style = styles[number] if styles else None
            line = self.line(points(method), self.labels.get(method, method), markers, style)
            if line is not None:
                drawn.append(line)
            elif method not in optional:
                self.missing.append(f"{what} of {method}")
        return drawn

    def accuracy(self, methods, k, title="", styles=None):
        points = lambda method: self.results.accuracies(method, k)  # noqa: E731
        lines = self.lines(methods, points, f"pass@{k}", markers=True, styles=styles)
        return Panel(title, STEP, f"pass@{k}, held out", lines, limits=(0, 1))

    def metric(self, methods, metric, label, title="", limits=(None, None), optional=()):
        points = lambda method: self.results.series(method, metric)  # noqa: E731
        # Every method keeps its style in all panels of a figure, also where another has no data.
        lines = self.lines(methods, points, metric, optional=optional, styles=range(len(methods)))
        return Panel(title, STEP, label, lines, limits=limits)


def draw(results, folder):
    """Writes every figure for which there is any data into `folder`. Returns the names of those written, and as
    sentences which figures lack something."""
    written, notes = [], []
    for name, make in FIGURES.items():
        drawing = Drawing(results)
        figure = make(drawing)
        figure.panels = [panel for panel in figure.panels if panel.lines or panel.bars]
        if drawing.missing:
            notes.append(f"{name}: no data for {', '.join(drawing.missing)}")
        path = folder / name
        if figure.panels:
            path.write_text(figure.render())
            written.append(name)
        else:
            path.unlink(missing_ok=True)
    return written, notes


def pass_at_1(drawing):
    return Figure("Held-out pass@1", [drawing.accuracy(MAIN, 1)])


def pass_at_8(drawing):
    return Figure("Held-out pass@8", [drawing.accuracy(MAIN, 8)])


def entropy(drawing):
    panel = drawing.metric(SAMPLING_ONLINE, "entropy/mean", "nats per token", limits=(0, None))
    return Figure("Entropy of the policy that sampled, at temperature 1", [panel])


def staleness(drawing):
    methods = ("grpo", "grpo-stale", "grpo-hot", "p3o", "p3o-stale", "p3o-hot")
    p3o = methods[3:]
    return Figure(
        "Fresh, stale and temperature-shifted completions",
        [
            drawing.metric(methods, "ess/ratio", "ESS of the ratios / tokens", "Effective sample size", (0, 1)),
            # P3O has no clip range, so that it need not report a share.
            drawing.metric(methods, "clip/fraction", "share of tokens", "Clipped tokens", (0, 1), optional=p3o),
        ],
        columns=2,
    )


def sampler(drawing):
    methods = ("grpo", "grpo-int8", "p3o", "p3o-int8")
    apart = drawing.metric(methods, "logprob/mean_abs_diff", "nats", "Distance of log-probabilities", (0, None))
    return Figure(
        "Sampled with what is trained, and in fewer bits",
        [drawing.accuracy(methods, 1, "Held-out pass@1", styles=range(4)), apart],
        columns=2,
    )


def fade(drawing):
    methods = ("fade", "fade-alpha", "fade-delta")
    return Figure(
        "FADE's two axes",
        [
            drawing.metric(methods, "fade/alpha", "alpha", "Difficulty: alpha", (1, None)),
            drawing.metric(methods, "fade/delta", "delta", "Sign: delta", (0, 1)),
        ],
        columns=2,
    )


def bolt(drawing):
    betas = drawing.results.parameters["betas"]
    panels = []
    for beta in betas:
        panel = drawing.accuracy((f"bolt-b{beta}-oneshot", f"bolt-b{beta}-refreshed"), 1, f"beta {beta}")
        for line in panel.lines:
            line.label = line.label.split(", ")[-1]
        panels.append(panel)
    _share_extent(panels)
    return Figure("BOLT: sampled once and refreshed, at equal completions and steps", panels)


def frontier(drawing):
    lines = [
        drawing.line(drawing.results.frontier(column), label, markers=True)
        for column, label in (("ess_share", "ESS share"), ("target_success", "target success"))
    ]
    if None in lines:
        drawing.missing.append("the frontier")
    panel = Panel("", "beta", "share", [line for line in lines if line], limits=(0, 1), log_x=True)
    return Figure("Frontier of the start model", [panel])


def vopd(drawing):
    bars = []
    for number, (_, baseline, label) in enumerate(BASELINES):
        values = drawing.results.variance(VARIANCE_RUN, baseline, "variance")
        if values:
            middle = interval(values.values())
            bars.append(Bar(label, middle.mean, middle.low, middle.high, number))
        else:
            drawing.missing.append(f"gradient variance of the {baseline} baseline")
    accuracy = drawing.accuracy([method for method, _, _ in BASELINES], 1, "Held-out pass@1", styles=range(3))
    variance = Panel(
        "Gradient variance before the first step", "baseline", "mean squared deviation", bars=bars, limits=(0, None)
    )
    return Figure("vOPD and its baseline", [accuracy, variance], columns=2)


def _share_extent(panels):
    """Gives panels the same y range, so that they can be compared by eye."""
    values = [v for panel in panels for line in panel.lines for v in (*line.ys, *line.low, *line.high) if v is not None]
    for panel in panels:
        panel.extent = tuple(values and (min(values), max(values)))


FIGURES = {
    "pass1.svg": pass_at_1,
    "pass8.svg": pass_at_8,
    "entropy.svg": entropy,
    "staleness.svg": staleness,
    "sampler.svg": sampler,
    "fade.svg": fade,
    "bolt.svg": bolt,
    "frontier.svg": frontier,
    "vopd.svg": vopd,
}
