"""Means with 95 % t-intervals, paired differences over seeds, and verdicts. Nothing but arithmetic."""

import math
from dataclasses import dataclass
from typing import Optional

SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE, NO_DATA = "supported", "not supported", "inconclusive", "no data"

# 0.975 quantiles of Student's t for 1 to 30 degrees of freedom.
_T975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_Z975 = 1.959964


@dataclass(frozen=True)
class Interval:
    """A mean over `n` seeds; `half` is half the width of its 95 % interval, None with fewer than two seeds."""

    mean: float
    half: Optional[float]
    n: int

    @property
    def low(self):
        return None if self.half is None else self.mean - self.half

    @property
    def high(self):
        return None if self.half is None else self.mean + self.half

    def text(self, digits=3, sign=False):
        """For example `0.412 ± 0.031`, or the mean alone when there is no interval."""
        rounded = round(self.mean, digits) + 0.0  # the sum turns -0.0 into 0.0
        mean = f"{rounded:+.{digits}f}" if sign else f"{rounded:.{digits}f}"
        return mean if self.half is None else f"{mean} ± {self.half:.{digits}f}"


def t_quantile(degrees):
    """The 0.975 quantile of Student's t; beyond the table by the first terms of Fisher's expansion."""
    if degrees < 1:
        raise ValueError("an interval needs at least two values")
    if degrees <= len(_T975):
        return _T975[degrees - 1]
    z = _Z975
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def interval(values):
    """Mean and 95 % t-interval of independent values; None without values."""
    values = list(values)
    if not values:
        return None
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(mean, None, count)
    variance = math.fsum((v - mean) ** 2 for v in values) / (count - 1)
    return Interval(mean, t_quantile(count - 1) * math.sqrt(variance / count), count)


def paired(first, second):
    """The interval of `first - second` over the seeds that both have; both map seeds to values. None without any."""
    return interval(first[seed] - second[seed] for seed in sorted(first.keys() & second.keys()))


def above(difference, margin):
    """Is the difference positive? Not supported once it is shown to lie below `margin`, the least that matters."""
    if difference is None:
        return NO_DATA
    if difference.half is None:
        return INCONCLUSIVE
    if difference.low > 0:
        return SUPPORTED
    return NOT_SUPPORTED if difference.high < margin else INCONCLUSIVE


def not_below(difference, margin):
    """Is the difference not below -margin? Not supported once it is shown to be."""
    if difference is None:
        return NO_DATA
    if difference.half is None:
        return INCONCLUSIVE
    if difference.low > -margin:
        return SUPPORTED
    return NOT_SUPPORTED if difference.high < -margin else INCONCLUSIVE


def within(difference, margin):
    """Does the difference lie between -margin and margin? Not supported once it is shown to lie outside."""
    if difference is None:
        return NO_DATA
    if difference.half is None:
        return INCONCLUSIVE
    if -margin < difference.low and difference.high < margin:
        return SUPPORTED
    return NOT_SUPPORTED if difference.low > margin or difference.high < -margin else INCONCLUSIVE


def together(verdicts):
    """The verdict on a claim with several parts: supported if all are, not supported if one is not, and otherwise
    inconclusive; no data if that is all there is."""
    verdicts = list(verdicts)
    if not verdicts or all(v == NO_DATA for v in verdicts):
        return NO_DATA
    if NOT_SUPPORTED in verdicts:
        return NOT_SUPPORTED
    return SUPPORTED if all(v == SUPPORTED for v in verdicts) else INCONCLUSIVE
