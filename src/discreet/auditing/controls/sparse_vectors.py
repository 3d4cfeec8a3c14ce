"""Controls of the sparse vector technique: which of many queries have answers above a threshold.

Lyu, Su and Li, Understanding the Sparse Vector Technique for Differential Privacy, VLDB 2017, set six published forms
side by side. Two are right; four spend more than they say, three of them without limit. All ask queries of
sensitivity 1 against a threshold of 0, and are written here from that paper's description:

    1  Lyu, Su and Li    noise 2/epsilon on the threshold, 4 c/epsilon on answers; ends after c above
    2  Dwork and Roth    2 c/epsilon, drawn again after each above, and 4 c/epsilon; ends after c
    3  Roth              2/epsilon and 2 c/epsilon; ends after c; shows the noisy answers that are above
    4  Lee and Clifton   4/epsilon and 4/(3 epsilon), which does not grow with c; ends after c
    5  Stoddard et al.   2/epsilon, and none on answers; never ends
    6  Chen et al.       2/epsilon and 2/epsilon; never ends

The second form is also our own with one threshold for each answer, where c stages of epsilon each are charged as such:
c epsilon^2/2 in rho. Charged as one stage, it is broken.

The datasets are the answers to the queries. They are neighbours that pull apart: the first half of the queries is
larger by 1 on one side, the second half on the other. What is judged is made of the output alone: how many more were
above in the second half than in the first, or, of the third form, the number shown for the last query.
"""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.auditing.claims import claim
from discreet.auditing.controls.control import Booleans, Control, Floats, Integers, laplace, on_grid

_HALF = 50
_MOST = 25
_STAGES = 400


def _halves(above: Booleans) -> Integers:
    """How many more are above in the second half than in the first."""
    half = above.shape[1] // 2
    more: Integers = above[:, half:].sum(axis=1) - above[:, :half].sum(axis=1)
    return more


def _until(above: Booleans, most: int) -> Booleans:
    """What is still answered when a run ends after so many above."""
    before: Integers = np.cumsum(above, axis=1) - above
    return above & (before < most)


def _sparse(threshold: float, answer: float, most: int | None) -> Callable[[Sequence[float], int], Integers]:
    """A form with noise of these scales; `most` is after how many above it ends."""

    def run(answers: Sequence[float], count: int) -> Integers:
        noisy = np.asarray(answers) + laplace(answer, (count, len(answers)))
        above = noisy >= laplace(threshold, (count, 1))
        return _halves(above if most is None else _until(above, most))

    return run


def _drawn_again(epsilon: float, most: int) -> Callable[[Sequence[float], int], Integers]:
    """Dwork and Roth's form: the threshold has new noise after each answer above it; epsilon is that of one stage."""

    def run(answers: Sequence[float], count: int) -> Integers:
        threshold, found = laplace(2 / epsilon, count), np.zeros(count, dtype=int)
        above = np.zeros((count, len(answers)), dtype=bool)
        for place, answer in enumerate(answers):
            above[:, place] = (answer + laplace(4 / epsilon, count) >= threshold) & (found < most)
            found += above[:, place]
            threshold = np.where(above[:, place], laplace(2 / epsilon, count), threshold)
        return _halves(above)

    return run


def _last_answer(epsilon: float) -> Callable[[Sequence[float], int], Floats]:
    """Roth's form with c = 1: the noisy answer to the last query, NaN where another was above or none was."""

    def run(answers: Sequence[float], count: int) -> Floats:
        noisy = np.asarray(answers) + laplace(2 / epsilon, (count, len(answers)))
        above = noisy >= laplace(2 / epsilon, (count, 1))
        reached = above[:, -1] & ~above[:, :-1].any(axis=1)
        return np.where(reached, on_grid(noisy[:, -1]), np.nan)

    return run


def _apart(half: int, first: float, second: float) -> tuple[float, ...]:
    return (first,) * half + (second,) * half


BROKEN = (
    Control(
        name="sparse vector of Roth's notes, which shows noisy answers",
        mechanism=_last_answer(3),
        one=(0.0,) * 5 + (1.0,),
        other=(1.0,) * 5 + (0.0,),
        claim=claim(epsilon=3),
        samples=40_000,
        why="a shown answer bounds the noise of the threshold, which all the queries before it share",
    ),
    Control(
        name="sparse vector of Lee and Clifton",
        mechanism=_sparse(4, 4 / 3, _MOST),
        claim=claim(epsilon=1),
        samples=2_000,
        why="the noise on answers does not grow with how many may be above: (1 + 6 c)/4 times the claim",
        one=_apart(_HALF, 0, 1),
        other=_apart(_HALF, 1, 0),
    ),
    Control(
        name="sparse vector of Stoddard and others",
        mechanism=_sparse(2, 0, None),
        claim=claim(epsilon=1),
        samples=2_000,
        why="no noise on answers: below then above happens on one side only",
        one=_apart(1, 0, 1),
        other=_apart(1, 1, 0),
    ),
    Control(
        name="sparse vector of Chen and others",
        mechanism=_sparse(2, 2, None),
        claim=claim(epsilon=1),
        samples=2_000,
        why="it never ends, so every answer above costs as much as the first",
        one=_apart(_HALF, 0, 1),
        other=_apart(_HALF, 1, 0),
    ),
    Control(
        name="sparse vector in stages, charged as one of them",
        mechanism=_drawn_again(1, _STAGES),
        claim=claim(epsilon=1),
        samples=2_000,
        why="each stage has a threshold of its own, and costs as much as the first",
        one=_apart(_STAGES // 2, 0, 1),
        other=_apart(_STAGES // 2, 1, 0),
    ),
)

RIGHT = (
    Control(
        name="sparse vector of Lyu, Su and Li",
        mechanism=_sparse(2, 4 * _MOST, _MOST),
        claim=claim(epsilon=1),
        samples=4_000,
        why="the noise on answers grows with how many may be above",
        is_broken=False,
        one=_apart(_HALF, 0, 1),
        other=_apart(_HALF, 1, 0),
    ),
    Control(
        name="sparse vector of Dwork and Roth",
        mechanism=_drawn_again(1, 1),
        claim=claim(epsilon=1),
        samples=10_000,
        why="it ends at the first answer above",
        is_broken=False,
        one=_apart(5, 0, 1),
        other=_apart(5, 1, 0),
    ),
    Control(
        name="sparse vector in stages, charged for all of them",
        mechanism=_drawn_again(0.05, _STAGES),
        claim=claim(rho=0.5),
        samples=4_000,
        why="400 stages of epsilon 0.05 have a rho of 0.5",
        is_broken=False,
        one=_apart(_STAGES // 2, 0, 1),
        other=_apart(_STAGES // 2, 1, 0),
    ),
)
