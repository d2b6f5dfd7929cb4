"""Means with t-intervals, corrected for how many there are, the effects that could have been found, and verdicts. Nothing
but arithmetic."""

import functools
import math
from dataclasses import dataclass
from typing import Optional

SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE, NO_DATA = "supported", "not supported", "inconclusive", "no data"
NOT_TESTABLE = "not testable here"

# The chance that a simultaneous interval misses, and that an effect of the stated size is found.
ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True)
class Interval:
    """A mean over `n` seeds; `half` is half the width of its interval, None with fewer than two seeds."""

    mean: float
    half: Optional[float]
    n: int
    # The least true difference that would be told from 0 with a chance of POWER.
    detectable: Optional[float] = None

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


def t_tail(t, degrees):
    """The chance that Student's t is above `t`, which is not negative: half of the regularised incomplete beta function at
    degrees / (degrees + t^2), by its continued fraction (DLMF 8.17.22)."""
    x, a, b = degrees / (degrees + t * t), degrees / 2, 0.5
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) if t else 0
    if x > (a + 1) / (a + b + 2):
        return 0.5 * (1 - front * _fraction(b, a, 1 - x) / b)
    return 0.5 * front * _fraction(a, b, x) / a


def _fraction(a, b, x):
    """The continued fraction of the incomplete beta function, from its far end."""
    value = 0.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        value = even / (1 + odd / (1 + value))
    return 1 / (1 - (a + b) * x / (a + 1) / (1 + value))


@functools.lru_cache(maxsize=None)
def t_quantile(degrees, tail):
    """The value that Student's t exceeds with the chance `tail`, which is below one half."""
    if degrees < 1:
        raise ValueError("an interval needs at least two values")
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > tail:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return high


def interval(values, count=1):
    """Mean and t-interval of independent values, one of `count` that hold together with a chance of 1 - ALPHA (Bonferroni);
    None without values."""
    values = list(values)
    if not values:
        return None
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return Interval(mean, None, n)
    error = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    half = t_quantile(n - 1, ALPHA / 2 / count) * error
    return Interval(mean, half, n, half + t_quantile(n - 1, 1 - POWER) * error)


def paired(first, second, count=1):
    """The interval of `first - second` over the seeds that both have; both map seeds to values. None without any."""
    return interval((first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())), count)


def _decided(difference, supported, refuted):
    if difference is None:
        return NO_DATA
    if difference.half is None:
        return INCONCLUSIVE
    if supported(difference):
        return SUPPORTED
    return NOT_SUPPORTED if refuted(difference) else INCONCLUSIVE


def above(difference, margin):
    """Is it positive? Not supported once it is shown to lie below `margin`, the least that matters."""
    return _decided(difference, lambda d: d.low > 0, lambda d: d.high < margin)


def below(difference, margin):
    """Is it negative? Not supported once it is shown to lie above -margin."""
    return _decided(difference, lambda d: d.high < 0, lambda d: d.low > -margin)


def not_below(difference, margin):
    """Is it not below -margin? Not supported once it is shown to be."""
    return _decided(difference, lambda d: d.low > -margin, lambda d: d.high < -margin)


def not_above(difference, margin):
    """Is it not above margin? Not supported once it is shown to be."""
    return _decided(difference, lambda d: d.high < margin, lambda d: d.low > margin)


def together(verdicts):
    """The verdict on a claim with several parts, of those that could be tested: supported if all are, not supported if one is
    not, and otherwise inconclusive; no data if that is all there is."""
    told = list(verdicts)
    verdicts = [verdict for verdict in told if verdict != NOT_TESTABLE]
    if told and not verdicts:
        return NOT_TESTABLE
    if not verdicts or all(v == NO_DATA for v in verdicts):
        return NO_DATA
    if NOT_SUPPORTED in verdicts:
        return NOT_SUPPORTED
    return SUPPORTED if all(v == SUPPORTED for v in verdicts) else INCONCLUSIVE
