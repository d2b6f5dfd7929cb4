"""Small plots as SVG text: lines with shaded intervals and bars with whiskers, in one or several panels.

A figure paints its own card, light or dark as the viewer prefers, so that it can be read on any page. Lines differ in
colour, dash and marker; the colours keep a contrast of at least 3 to 1 to either card and can be told apart with the
common forms of colour blindness.

    figure = Figure("Reward", [Panel("", "optimizer step", "reward", lines=[Line("GRPO", [0, 1, 2], [0.1, 0.4, 0.5])])])
    open("reward.svg", "w").write(figure.render())
"""

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

LIGHT_CARD, DARK_CARD = "#ffffff", "#0d1117"
# Per card: text, weaker text, grid, and one colour for each style of a line.
LIGHT = ("#1f2328", "#59636e", "#e4e7eb", ("#0072b2", "#c65300", "#008a64", "#a8437f", "#8f6a00", "#5a5f66"))
DARK = ("#f0f3f6", "#9da7b3", "#2a313a", ("#58b4f0", "#ff9350", "#35c99b", "#ea8fc2", "#e3b341", "#b4bcc6"))
DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
STYLES = len(DASHES)
PANEL_WIDTH, PANEL_HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 20, 34, 48
HEAD, LEGEND_ROW, MARGIN = 40, 20, 12
# Mean width of a character as a share of the font size, for the legend's layout.
CHARACTER = 0.56


@dataclass
class Line:
    """One series. `low` and `high` bound the shaded interval; a point where either is None has none."""

    label: str
    xs: list
    ys: list
    low: list = None
    high: list = None
    style: int = None
    markers: bool = False


@dataclass
class Bar:
    """One bar; `low` and `high` are the ends of its whisker."""

    label: str
    value: float
    low: float = None
    high: float = None
    style: int = 0


@dataclass
class Panel:
    """One pair of axes with lines or bars. The y axis reaches over the data and over `extent`, but never beyond
    `limits`, None where there is none."""

    title: str
    x_label: str
    y_label: str
    lines: list = field(default_factory=list)
    bars: list = field(default_factory=list)
    limits: tuple = (None, None)
    extent: tuple = ()
    log_x: bool = False


@dataclass
class Figure:
    """Panels side by side under one title, with one legend for all of them."""

    title: str
    panels: list
    columns: int = 3

    def render(self):
        """The figure as the text of an SVG file."""
        columns = min(self.columns, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        width = columns * PANEL_WIDTH if columns > 1 else int(PANEL_WIDTH * 1.8)
        panel_width = width // columns
        styles = self._styles()
        marked = {line.label for panel in self.panels for line in panel.lines if line.markers}
        legend, legend_height = _legend(styles, marked, width)
        height = HEAD + rows * PANEL_HEIGHT + legend_height + MARGIN
        out = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                f'height="{height}" role="img" font-family="sans-serif" font-size="12">'
            ),
            f"<title>{escape(self.title)}</title>",
            _style_sheet(),
            f'<rect class="card" width="{width}" height="{height}" rx="6"/>',
            f'<text class="ink" x="{MARGIN}" y="25" font-size="15" font-weight="600">{escape(self.title)}</text>',
        ]
        for number, panel in enumerate(self.panels):
            at = (number % columns * panel_width, HEAD + number // columns * PANEL_HEIGHT)
            out += _panel(panel, at, panel_width, styles, number)
        out += [f'<g transform="translate(0 {HEAD + rows * PANEL_HEIGHT})">', *legend, "</g>", "</svg>"]
        return "\n".join(out) + "\n"

    def _styles(self):
        """The style number of every label in the order of first use; the same label looks alike in all panels."""
        styles = {}
        for line in (line for panel in self.panels for line in panel.lines):
            if line.label not in styles:
                styles[line.label] = (len(styles) if line.style is None else line.style) % STYLES
        return styles


def nice_ticks(low, high, count=5):
    """Round numbers (1, 2 or 5 times a power of ten apart) from at most `low` to at least `high`."""
    if high - low < 1e-9 * max(1e-9, abs(low)):
        low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(low) * 0.1 or 0.5)
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def log_ticks(low, high):
    """Round numbers for a logarithmic axis that reach from at most `low` to at least `high`: 1, 2 and 5 of each power
    of ten, or the powers alone when there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high) + 1e-9)
    factors = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [f * 10.0**e for e in range(first, last + 1) for f in factors]
    below = [t for t in ticks if t <= low * (1 + 1e-9)]
    above = [t for t in ticks if t >= high * (1 - 1e-9) and t > below[-1]]
    return [t for t in ticks if below[-1] <= t <= above[0]]


def tick_text(value, ticks):
    """A tick's number, with as many digits as the ticks need to be told exactly."""
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-4:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    digits = next((d for d in range(6) if all(abs(round(t, d) - t) < 1e-9 for t in ticks)), 6)
    return f"{value:.{digits}f}"


def contrast(first, second):
    """Contrast ratio of two colours `#rrggbb` as WCAG 2 defines it, 1 to 21."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _style_sheet():
    def rules(card, theme):
        ink, weak, grid, colours = theme
        lines = [
            f".card{{fill:{card}}}.ink{{fill:{ink}}}.weak{{fill:{weak}}}.axis{{stroke:{weak}}}.grid{{stroke:{grid}}}"
        ]
        lines += [f".s{i}{{stroke:{c}}}.f{i}{{fill:{c}}}" for i, c in enumerate(colours)]
        return "".join(lines)

    dark = rules(DARK_CARD, DARK)
    return f"<style>{rules(LIGHT_CARD, LIGHT)}@media (prefers-color-scheme:dark){{{dark}}}</style>"


class _Axis:
    """Maps values onto a range of pixels, linearly or by logarithm."""

    def __init__(self, low, high, start, end, log, ticks=None):
        self.log = log
        self.ticks = ticks or (log_ticks(low, high) if log else nice_ticks(low, high))
        self.low, self.high = self._scale(self.ticks[0]), self._scale(self.ticks[-1])
        self.start, self.end = start, end

    def _scale(self, value):
        return math.log10(max(value, 1e-300)) if self.log else value

    def __call__(self, value):
        share = (self._scale(value) - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share


def _panel(panel, at, width, styles, number):
    left, right = at[0] + LEFT, at[0] + width - RIGHT
    top, bottom = at[1] + TOP, at[1] + PANEL_HEIGHT - BOTTOM
    y = _y_axis(panel, bottom, top)
    out = (
        [f'<text class="ink" x="{left}" y="{top - 12}" font-weight="600">{escape(panel.title)}</text>']
        if panel.title
        else []
    )
    for tick in y.ticks:
        out.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        out.append(
            f'<text class="weak" x="{left - 7}" y="{y(tick) + 4:.1f}"'
            f' text-anchor="end">{tick_text(tick, y.ticks)}</text>'
        )
    middle = (top + bottom) / 2
    out.append(
        f'<text class="weak" x="{at[0] + 14}" y="{middle}" text-anchor="middle" '
        f'transform="rotate(-90 {at[0] + 14} {middle})">{escape(panel.y_label)}</text>'
    )
    out.append(
        f'<text class="weak" x="{(left + right) / 2:.1f}" y="{bottom + 38}"'
        f' text-anchor="middle">{escape(panel.x_label)}</text>'
    )
    out.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    if panel.bars:
        return out + list(_bars(panel, y, left, right, bottom))
    xs = [x for line in panel.lines for x in line.xs]
    x = _Axis(min(xs), max(xs), left, right, panel.log_x) if panel.log_x else _linear_x(xs, left, right)
    for tick in x.ticks:
        out.append(f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        out.append(
            f'<text class="weak" x="{x(tick):.1f}" y="{bottom + 18}"'
            f' text-anchor="middle">{tick_text(tick, [tick] if panel.log_x else x.ticks)}</text>'
        )
    clip = f"clip{number}"
    out.append(
        f'<clipPath id="{clip}"><rect x="{left - 5}" y="{top - 5}" width="{right - left + 10}"'
        f' height="{bottom - top + 10}"/></clipPath>'
    )
    out.append(f'<g clip-path="url(#{clip})">')
    out += [band for line in panel.lines for band in _bands(line, x, y, styles[line.label])]
    out += [part for line in panel.lines for part in _stroke(line, x, y, styles[line.label])]
    return out + ["</g>"]


def _linear_x(xs, left, right):
    """An x axis that ends at the data: steps have an exact first and last value."""
    low, high = min(xs), max(xs)
    ticks = nice_ticks(low, high, 6)
    axis = _Axis(low, high, left, right, False, ticks)
    if high > low:
        axis.low, axis.high = low, high
        axis.ticks = [t for t in ticks if low <= t <= high]
    return axis


def _y_axis(panel, bottom, top):
    values = [v for line in panel.lines for v in (*line.ys, *(line.low or ()), *(line.high or ())) if v is not None]
    values += [v for bar in panel.bars for v in (bar.value, bar.low, bar.high) if v is not None]
    values += panel.extent
    floor, ceiling = panel.limits
    if panel.bars:
        values.append(0.0)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low < 0.01 * abs(high):
        low, high = low - 0.02 * (abs(high) or 1), high + 0.02 * (abs(high) or 1)
    bounds = (-math.inf if floor is None else floor, math.inf if ceiling is None else ceiling)
    low, high = (min(max(v, bounds[0]), bounds[1]) for v in (low, high))
    return _Axis(low, high, bottom, top, False)


def _bands(line, x, y, style):
    """Shaded intervals, one polygon for each run of points that have one."""
    runs, run = [], []
    for place, low, high in zip(line.xs, line.low or (), line.high or ()):
        if low is None or high is None:
            runs, run = runs + [run], []
        else:
            run.append((place, low, high))
    for stretch in [r for r in [*runs, run] if len(r) > 1]:
        points = [(p, high) for p, _, high in stretch] + [(p, low) for p, low, _ in reversed(stretch)]
        path = " ".join(f"{x(p):.1f},{y(v):.1f}" for p, v in points)
        yield f'<polygon class="f{style}" points="{path}" fill-opacity="0.13"/>'


def _stroke(line, x, y, style):
    path = " ".join(f"{x(p):.1f},{y(v):.1f}" for p, v in zip(line.xs, line.ys))
    dash = f' stroke-dasharray="{DASHES[style]}"' if DASHES[style] else ""
    yield f'<polyline class="s{style}" points="{path}" fill="none" stroke-width="2"{dash}/>'
    if line.markers:
        for p, v in zip(line.xs, line.ys):
            yield _marker(style, x(p), y(v))


def _marker(style, at_x, at_y):
    """A small shape of the style's own, so that lines differ without colour."""
    shapes = (
        (0, -4, 4, 0, 0, 4, -4, 0),
        (-3.5, -3.5, 3.5, -3.5, 3.5, 3.5, -3.5, 3.5),
        (0, -4.5, 4, 3.5, -4, 3.5),
        (0, 4.5, 4, -3.5, -4, -3.5),
        (-4, -1.5, 4, -1.5, 4, 1.5, -4, 1.5),
    )
    if style % STYLES == 0:
        return f'<circle class="f{style}" cx="{at_x:.1f}" cy="{at_y:.1f}" r="3.5"/>'
    shape = shapes[style - 1]
    points = " ".join(f"{at_x + shape[i]:.1f},{at_y + shape[i + 1]:.1f}" for i in range(0, len(shape), 2))
    return f'<polygon class="f{style}" points="{points}"/>'


def _bars(panel, y, left, right, bottom):
    slot = (right - left) / len(panel.bars)
    for number, bar in enumerate(panel.bars):
        middle, top = left + slot * (number + 0.5), y(bar.value)
        width = min(60, slot * 0.6)
        yield (
            f'<rect class="f{bar.style}" x="{middle - width / 2:.1f}" y="{min(top, bottom):.1f}" width="{width:.1f}" '
            f'height="{abs(bottom - top):.1f}" fill-opacity="0.75"/>'
        )
        if bar.low is not None and bar.high is not None:
            ends = sorted(min(max(y(v), y(y.ticks[-1])), bottom) for v in (bar.low, bar.high))
            yield (
                f'<line class="axis" x1="{middle:.1f}" x2="{middle:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"'
                ' stroke-width="1.5"/>'
            )
            for end in ends:
                yield (
                    f'<line class="axis" x1="{middle - 6:.1f}" x2="{middle + 6:.1f}" y1="{end:.1f}" y2="{end:.1f}"'
                    ' stroke-width="1.5"/>'
                )
        yield f'<text class="weak" x="{middle:.1f}" y="{bottom + 18}" text-anchor="middle">{escape(bar.label)}</text>'


def _legend(styles, marked, width):
    """The legend's elements and its height; entries flow into as many rows as they need."""
    out, at_x, at_y = [], MARGIN, 12
    for label, style in styles.items():
        entry = 34 + len(label) * 12 * CHARACTER + 16
        if at_x > MARGIN and at_x + entry > width - MARGIN:
            at_x, at_y = MARGIN, at_y + LEGEND_ROW
        dash = f' stroke-dasharray="{DASHES[style]}"' if DASHES[style] else ""
        out.append(
            f'<line class="s{style}" x1="{at_x}" x2="{at_x + 26}" y1="{at_y}" y2="{at_y}" stroke-width="2"{dash}/>'
        )
        if label in marked:
            out.append(_marker(style, at_x + 13, at_y))
        out.append(f'<text class="ink" x="{at_x + 33}" y="{at_y + 4}">{escape(label)}</text>')
        at_x += entry
    return out, (at_y + 8 if styles else 0)
