"""The figures of the study: for each regime pass@1 over the steps, and the metrics that it names."""

from stats import interval
from svg import Figure, Line, Panel

STEP = "optimizer step"
# Lines that one panel can hold.
MOST_LINES = 6


def draw(results, regimes, folder):
    """Writes a figure for every regime for which there is any data into `folder`. Returns the names of those written, and
    as sentences which of them lack something."""
    written, notes = [], []
    for regime in regimes:
        name, missing = f"{regime.name}.svg", []
        panels = []
        # Conditions that do not fit one panel stand in several, in their order.
        for begin in range(0, len(regime.conditions), MOST_LINES):
            some = regime.conditions[begin : begin + MOST_LINES]
            points = lambda c: results.accuracies(regime.name, c.name, 1)  # noqa: E731, B023
            panels.append(Panel("pass@1, held out", STEP, "pass@1", lines(some, points, missing, True), limits=(0, 1)))
            for metric in regime.drawn:
                points = lambda c: results.series(regime.name, c.name, metric)  # noqa: E731, B023
                # A condition need not report every metric.
                panels.append(Panel(metric, STEP, metric, lines(some, points, None), limits=(None, None)))
        panels = [panel for panel in panels if panel.lines]
        path = folder / name
        if panels:
            if missing:
                notes.append(f"{name}: no pass@1 of {', '.join(missing)}")
            path.write_text(Figure(regime.title, panels, columns=1 + len(regime.drawn)).render())
            written.append(name)
        else:
            path.unlink(missing_ok=True)
    return written, notes


def lines(conditions, points, missing, markers=False):
    """A line with its interval over seeds for each condition; one without data is noted in `missing`. Every condition
    keeps its style in all panels."""
    drawn = []
    for number, condition in enumerate(conditions):
        values = points(condition)
        if not values:
            if missing is not None:
                missing.append(condition.name)
            continue
        middle = [(x, interval(by_seed.values())) for x, by_seed in values]
        xs, means = [x for x, _ in middle], [i.mean for _, i in middle]
        low, high = [i.low for _, i in middle], [i.high for _, i in middle]
        drawn.append(Line(condition.label, xs, means, low, high, number, markers))
    return drawn
