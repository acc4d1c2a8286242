"""Whether one set of answers is better than another on the same tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aworld_cli.report.metrics import Estimate

_Z = 1.959963984540054  # the normal quantile of a two-sided 95 % interval


def paired_difference(differences: Sequence[float]) -> Estimate:
    """Return the mean of per-task differences in [-1, 1], and its 95 % interval.

    The interval is the adjusted Wald interval for matched proportions of Agresti and Min 2005 ("Simple improved
    confidence intervals for comparing matched proportions", Statistics in Medicine 24): half a pair is added to each of
    the four cells, which adds 2 to the number of pairs and 1 to the sum of squared differences. With several samples a
    task the differences are of means; the same sums then give the interval of the paired means (Miller 2024, "Adding
    Error Bars to Evals", section 4.2, with that adjustment). Tasks are independent, samples of one task need not be.
    """
    count = len(differences)
    if count == 0:
        return Estimate(0.0, -1.0, 1.0, 0)
    total = math.fsum(differences)
    squares = math.fsum(value * value for value in differences) + 1.0
    pairs = count + 2
    centre = total / pairs
    half = _Z * math.sqrt(max(squares - total * total / pairs, 0.0)) / pairs
    mean = total / count
    return Estimate(mean, max(min(centre - half, mean), -1.0), min(max(centre + half, mean), 1.0), count)


def sign_test(better: int, worse: int) -> float:
    """Return the exact two-sided p that as uneven a split of the tasks that differ comes by chance.

    With one sample a task it is McNemar's exact test: binomial with p = 1/2 over the discordant pairs.
    """
    count = better + worse
    if count == 0:
        return 1.0
    tail = sum(math.comb(count, k) for k in range(min(better, worse) + 1))
    return min(1.0, tail / (1 << (count - 1)))
