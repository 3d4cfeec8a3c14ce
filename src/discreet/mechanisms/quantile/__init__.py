"""Quantiles of rows that are counted at each step of a public grid: by choice of a step, or from a noisy tree.

    from discreet.mechanisms.quantile import RankSelection

    median = RankSelection(probability=0.5, l1=1, epsilon=0.1)
    median.release([[0, 3, 812, 790, 95]])     # [3], now and then [2]: one step for each group
    median.margin(5)                           # 47: the ranks that it is off by, at most, 95% of the time

Both take how far one unit moves what they read, over all groups at once, and both say in ranks how far off they
are: of n rows, the step that is released stands within so many ranks of the place q n.

    RankSelection   a step for each group, by how far its ranks are from q n: for one quantile or a few
    NoisyTree       noisy counts at every level of a tree over the steps: all quantiles at once

What is proved is in docs/proofs/mechanisms/quantile/.
"""

from discreet.mechanisms.quantile.exponential import RankSelection, share_below
from discreet.mechanisms.quantile.tree import NoisyTree, bisect_steps

__all__ = ["NoisyTree", "RankSelection", "bisect_steps", "share_below"]
