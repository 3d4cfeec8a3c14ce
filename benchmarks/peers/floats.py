"""numpy and diffprivlib: noise in doubles, and a NaN that passes the clipping."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from peers.fault import Fault, Found, audited

SAMPLES = 2_000


def _numpy_laplace() -> Found:
    random = np.random.default_rng()
    return audited(lambda x, n: x + random.laplace(0, 1, n), 0.0, 1.0, SAMPLES, epsilon=1, many=True)


def _drawn_by(make: Callable[[Any], Any], **claimed: float) -> Callable[[], Found]:
    """An audit of one of diffprivlib's mechanisms on the answers 0 and 1."""

    def show() -> Found:
        mechanism = make(__import__("diffprivlib.mechanisms").mechanisms)
        return audited(mechanism.randomise, 0.0, 1.0, SAMPLES, **claimed)

    return show


def _of_tools(name: str) -> Callable[[], Found]:
    def show() -> Found:
        tool = getattr(__import__("diffprivlib.tools").tools, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return audited(
                lambda rows: float(tool(np.array(rows), epsilon=1, bounds=(0, 1))),
                (0.5,) * 20,
                (0.5,) * 19 + (float("nan"),),
                100,
                epsilon=1,
            )

    return show


def _diffprivlib(name: str, where: str, show: Callable[[], Found]) -> Fault:
    return Fault("diffprivlib", name, where, show, ("diffprivlib",))


FAULTS = (
    Fault("numpy", "Laplace noise in doubles", "Mironov, CCS 2012", _numpy_laplace, ("numpy",)),
    _diffprivlib(
        "Laplace in doubles", "issues 19 and 94", _drawn_by(lambda m: m.Laplace(epsilon=1, sensitivity=1), epsilon=1)
    ),
    _diffprivlib(
        "LaplaceTruncated in doubles",
        "issues 19 and 94",
        _drawn_by(lambda m: m.LaplaceTruncated(epsilon=1, sensitivity=1, lower=-50, upper=50), epsilon=1),
    ),
    _diffprivlib(
        "LaplaceBoundedDomain in doubles",
        "issues 19 and 94",
        _drawn_by(lambda m: m.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=-50, upper=50), epsilon=1),
    ),
    _diffprivlib(
        "Staircase in doubles",
        "issues 19 and 94",
        _drawn_by(lambda m: m.Staircase(epsilon=1, sensitivity=1), epsilon=1),
    ),
    _diffprivlib(
        "GaussianAnalytic in doubles",
        "issues 19 and 94",
        _drawn_by(lambda m: m.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1), epsilon=1, delta=1e-6),
    ),
    _diffprivlib(
        "Snapping, which is made against this",
        "Mironov, CCS 2012",
        _drawn_by(lambda m: m.Snapping(epsilon=1, sensitivity=1, lower=-100, upper=100), epsilon=1),
    ),
    _diffprivlib("mean of a column with one NaN", "clipping passes NaN", _of_tools("mean")),
    _diffprivlib("sum of a column with one NaN", "clipping passes NaN", _of_tools("sum")),
    _diffprivlib("var of a column with one NaN", "clipping passes NaN", _of_tools("var")),
)
