"""Selection: which candidate has a high score, for the privacy cost of one answer, over any number of candidates.

    from discreet.mechanisms.selection import Exponential

    ward = Exponential(sensitivity=1, epsilon=0.1, monotone=True)
    ward.release([812, 95, 790])        # 0, now and then 2, hardly ever 1
    ward.utility(3, beta=0.05)          # 41: but for 5 in 100, the ward chosen has at most 41 fewer than the fullest

A selection is a frozen value that keeps this contract: it takes how far one unit moves a score (`sensitivity`),
whether all scores move one way (`monotone`), and what a release may cost (`epsilon`). `release(scores)` takes one exact
score for each public candidate and gives places in that list, never a score; `pmf(scores)` and `brackets(scores)` are
the probabilities of what it may give; `event()` says what was done; `utility(candidates, beta)` says how far below the
best the chosen may be, and depends on no score.

    Exponential      one candidate; losses within an interval of length epsilon: the least rho
    PermuteAndFlip   one candidate; never worse than the exponential mechanism of the same epsilon
    NoisyMax         the same two by their noise, and Laplace noise, with the gap to the runner-up
    TopK             k candidates at once

Under a pure privacy budget take PermuteAndFlip. Under a privacy budget with a delta take Exponential: of the same rho
it has twice the epsilon. A score moves one way where units are added or removed and each only adds to it: counts, and
sums of what is never negative. Where a unit is replaced it does not. The claims about scores are proved in
docs/proofs/mechanisms/selection/scores.md, and the rest beside it.
"""

from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.noisy_max import ChosenWithGap, NoisyMax
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.scores import Bracket, SelectionMechanism
from discreet.mechanisms.selection.top_k import TopK

__all__ = ["Bracket", "ChosenWithGap", "Exponential", "NoisyMax", "PermuteAndFlip", "SelectionMechanism", "TopK"]
