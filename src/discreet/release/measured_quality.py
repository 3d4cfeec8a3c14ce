"""Distances of a synthetic table from the noisy marginals that it was made from, as a result that can be printed."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from discreet.errors import public_class

_LISTED = 5
_MEANING = (
    "Half the L1 distance of shares between drawn rows and noisy marginals; for exact rows it is that of noise alone.",
    "Far above the noise: the model misses a marginal. Not above it: no fault can be seen in what was measured.",
    "Marginals that were not measured are not judged.",
)


@dataclass(frozen=True)
class MarginalQuality:
    """One measured marginal.

    Attributes:
        columns: Its columns.
        distance: Half the L1 distance of shares between drawn rows and the noisy counts; noise can bring it above 1.
        noise: The expected distance of the exact rows, from noise alone.
    """

    columns: tuple[str, ...]
    distance: float
    noise: float

    @property
    def excess(self) -> float:
        """What the distance has beyond that of noise alone; below 0 where the model follows the noise."""
        return self.distance - self.noise


@public_class
@dataclass(frozen=True, repr=False)
class MeasuredQuality:
    """Distances between rows of a synthetic table and the noisy marginals of its release: public, and free.

    Attributes:
        rows: The number of rows that were drawn.
        marginals: The measured marginals, in the order of measuring.

    Example:
        >>> from discreet.release.measured_quality import MarginalQuality, MeasuredQuality
        >>> print(str(MeasuredQuality(100, (MarginalQuality(("age",), 0.03, 0.02),))).splitlines()[1])
          1-way: 1 marginal, distance 0.0300, noise alone 0.0200
    """

    rows: int
    marginals: tuple[MarginalQuality, ...]

    def __str__(self) -> str:
        lines = [f"quality of {self.rows:,} drawn rows against {len(self.marginals):,} measured marginals"]
        for order in sorted({len(each.columns) for each in self.marginals}):
            own = [each for each in self.marginals if len(each.columns) == order]
            distance, noise = fmean(each.distance for each in own), fmean(each.noise for each in own)
            noun = "marginal" if len(own) == 1 else "marginals"
            lines.append(f"  {order}-way: {len(own):,} {noun}, distance {distance:.4f}, noise alone {noise:.4f}")
        worst = sorted(self.marginals, key=lambda each: -each.excess)[:_LISTED]
        lines += [f"  {_names(each)}: distance {each.distance:.4f}, noise alone {each.noise:.4f}" for each in worst]
        return "\n".join([*lines, *_MEANING])

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dict for JSON.
        """
        marginals = [
            {"columns": list(each.columns), "distance": each.distance, "noise": each.noise} for each in self.marginals
        ]
        return {"rows": self.rows, "marginals": marginals}


def _names(marginal: MarginalQuality) -> str:
    """The columns in quotes; names could move a terminal's cursor, so unseen characters are written as codes."""
    return ", ".join(ascii(name) if not name.isprintable() else repr(name) for name in marginal.columns)
