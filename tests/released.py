"""Releases made by hand for tests, with real noise on known truths."""

from fractions import Fraction

from discreet.catalog.catalog import ColumnType
from discreet.mechanisms import Gaussian, Laplace
from discreet.release.release import Release
from discreet.release.values.columns import Key, MeasuredColumn, OutputColumn

NOISES = {
    "discrete Laplace": Laplace.with_scale(scale=12.5, sensitivity=2),
    "discrete Gaussian": Gaussian.with_sigma(sigma=15.0, sensitivity=2),
}
WARDS = (("A", "x"), ("A", "y"), ("B", "x"), ("B", "y"))


def measured(steps, mechanism="discrete Laplace", grid=Fraction(1), **changes) -> MeasuredColumn:
    noise = NOISES[mechanism]
    scale = noise.scale if isinstance(noise, Laplace) else noise.sigma
    facts = {"measure": "{}", "l1": 2, "l2_squared": 4, "grid": grid, "steps": tuple(steps)}
    return MeasuredColumn(mechanism=mechanism, scale=scale, **facts | changes)


def keys(rows=WARDS, names=("ward", "sex")) -> tuple[Key, ...]:
    return tuple(Key(name, ColumnType.TEXT, tuple(row[i] for row in rows)) for i, name in enumerate(names))


def release(
    counts, sums=None, *, rows=WARDS, names=("ward", "sex"), receipt="a", mechanism="discrete Laplace", **changes
):
    """Counts n; with sums also their total and the mean of values clamped to [0, 100]."""
    one, bounds = Fraction(1), (Fraction(0), Fraction(100))
    outputs = [OutputColumn("n", "count", tuple(counts), (40,) * len(counts), parts=((0, one),))]
    columns = [measured(counts, mechanism)]
    if sums is not None:
        columns.append(measured(sums, mechanism, measure="sum"))
        means = tuple(s / max(1, n) for s, n in zip(sums, counts, strict=True))
        outputs += [
            OutputColumn("total", "sum", tuple(sums), (40,) * len(counts), parts=((1, one),), bounds=bounds),
            OutputColumn(
                "mean", "mean", means, (9.0,) * len(counts), parts=((1, one),), over=((0, one),), bounds=bounds
            ),
            OutputColumn("median", "median", means, (9,) * len(counts), "ranks"),
        ]
    facts = {
        "dataset": "visits",
        "version": 1,
        "keys": keys(rows, names) if names else (),
        "outputs": tuple(outputs),
        "measured": tuple(columns),
        "confidence": Fraction(19, 20),
        "guarantee": "epsilon 1, for one id, added or removed",
        "unit": "one id, added or removed",
        "columns_read": ("id",),
        "post_processing": ("mean: clamped to its bounds",),
        "receipt": {"hash": receipt * 64},
    }
    return Release(**facts | changes)


def noisy(truth, mechanism="discrete Laplace") -> list[int]:
    return [int(y) for y in NOISES[mechanism].release(list(truth))]
