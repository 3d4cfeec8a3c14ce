"""What every library is asked: the four privacy guarantees, and the public facts of the twenty questions."""

ROWS = 10_000
GROUPS = 20
BOUNDS = (0, 100)
STEPS = 100
QUARTILES = (0.25, 0.5, 0.75)
BINS = 50
LEVELS = 4
CANDIDATES = 100
TOP = 5
SHARE_OF_BOUNDS = 0.25
RUNS = 40
SEED = 1

DELTA = 1e-6
SETTINGS = {
    "pure 1": (1.0, 0.0),
    "pure 0.1": (0.1, 0.0),
    "approximate 1": (1.0, DELTA),
    "approximate 0.1": (0.1, DELTA),
}
"""Epsilon and delta of the question by name. A tenth of a budget with a delta has its delta, as with discreet."""

Answer = list[float | None]
"""The numbers of one answer, in the order of the question; None where a library states no such number."""

Figures = dict[str, dict[str, Answer | None]]
"""Answers by number of the question and by setting; None where there is no answer."""
