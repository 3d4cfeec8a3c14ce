"""Distances of a synthetic table from the noisy marginals that it was made from, as a result that can be printed."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from discreet.errors import public_class
from discreet.release.quality.shares import ColumnShares
from discreet.release.values import rendering

_LISTED = 5
_MEANING = (
    "Half the L1 distance of shares between drawn rows and noisy marginals; for exact rows it is that of noise alone.",
    "Far above the noise: the model misses a marginal. Not above it: no fault can be seen in what was measured.",
    "Marginals that were not measured are not judged.",
)

_FEW = (
    "Few rows were drawn, so distances also have the error of drawing: table.quality() draws as many as the data have."
)
_NOISY = (
    "The noise of a marginal is larger than its counts: it says nothing about the data, and needs a larger epsilon."
)


@dataclass(frozen=True)
class MarginalQuality:
    """One measured marginal.

    Attributes:
        columns: Its columns.
        distance: Half the L1 distance of shares between drawn rows and the noisy counts; noise can bring it above 1.
        noise: The expected distance of the exact rows, from noise alone.
        drawing: About the expected distance that is due to drawing fewer rows than the data have; 0 for as many.
    """

    columns: tuple[str, ...]
    distance: float
    noise: float
    drawing: float = 0.0

    @property
    def excess(self) -> float:
        """What the distance has beyond that of noise and drawing; below 0 where the model follows the noise."""
        return self.distance - self.noise - self.drawing


@public_class
@dataclass(frozen=True, repr=False)
class MeasuredQuality:
    """Distances between rows of a synthetic table and the noisy marginals of its release: public, and free.

    Attributes:
        rows: The number of rows that were drawn.
        marginals: The measured marginals, in the order of measuring.
        columns: Shares of single columns, noisy and drawn.
        dataset: Name of the dataset.
        guarantee: The guarantee of the release, as a sentence.
        private: False for a table of `dp.testing`, which was made without noise.

    Example:
        >>> from discreet.release.measured_quality import MarginalQuality, MeasuredQuality
        >>> print(str(MeasuredQuality(100, (MarginalQuality(("age",), 0.03, 0.02),))).splitlines()[1])
          1-way: 1 marginal, distance 0.0300, noise alone 0.0200
    """

    rows: int
    marginals: tuple[MarginalQuality, ...]
    columns: tuple[ColumnShares, ...] = ()
    dataset: str = ""
    guarantee: str = ""
    private: bool = True

    @property
    def stamp(self) -> tuple[str, ...]:
        """The mark of figures that are not private, or of generated data."""
        return tuple(
            rendering.stamp(
                "quality of a synthetic table made without noise", private=self.private, dataset=self.dataset
            )
        )

    def __str__(self) -> str:
        lines = [f"quality of {self.rows:,} drawn rows against {len(self.marginals):,} measured marginals"]
        for order in sorted({len(each.columns) for each in self.marginals}):
            own = [each for each in self.marginals if len(each.columns) == order]
            distance, noise = fmean(each.distance for each in own), fmean(each.noise for each in own)
            noun = "marginal" if len(own) == 1 else "marginals"
            drawing = _drawing(fmean(each.drawing for each in own))
            lines.append(
                f"  {order}-way: {len(own):,} {noun}, distance {distance:.4f}, noise alone {noise:.4f}{drawing}"
            )
        worst = sorted(self.marginals, key=lambda each: -each.excess)[:_LISTED]
        lines += [
            f"  {_names(each)}: distance {each.distance:.4f}, noise alone {each.noise:.4f}{_drawing(each.drawing)}"
            for each in worst
        ]
        return "\n".join([*self.stamp, *lines, *self.meaning])

    @property
    def meaning(self) -> tuple[str, ...]:
        """What distances mean, and where few rows or much noise leave nothing to say."""
        few = (_FEW,) if any(each.drawing > 0 for each in self.marginals) else ()
        return (*_MEANING, *few, *((_NOISY,) if any(each.noise > 1 for each in self.marginals) else ()))

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data.

        Returns:
            A dict for JSON.
        """
        marginals = [
            {"columns": list(each.columns), "distance": each.distance, "noise": each.noise, "drawing": each.drawing}
            for each in self.marginals
        ]
        return {"rows": self.rows, "private": self.private, "marginals": marginals}

    def to_html(self) -> str:
        """The figures with pictures as one HTML page that needs nothing else; noisy figures alone, so it is public.

        The page of a table of `dp.testing` is marked NOT PRIVATE.

        Returns:
            The text of the page.
        """
        # the page is made of parts of the report of releases, which stands above results
        home: Any = import_module("discreet.release.quality.measured_page")
        text: str = home.measured_html(self, self.meaning)
        return text

    def save(self, path: str | Path) -> Path:
        """Write the page of `to_html` to a file.

        Args:
            path: Path of the HTML file; an earlier page is replaced, a file of another kind is not.

        Returns:
            The path.

        Raises:
            ParameterError: If the name does not end in .html, the directory is not there, or a file of another kind is.
        """
        home: Any = import_module("discreet.release.quality.files")
        place: Path = home.require_page_place(path)
        place.write_text(MeasuredQuality.to_html(self), encoding="utf-8", newline="")
        return place


def _drawing(distance: float) -> str:
    return f", drawing {distance:.4f}" if distance else ""


def _names(marginal: MarginalQuality) -> str:
    """The columns in quotes; names could move a terminal's cursor, so unseen characters are written as codes."""
    return ", ".join(ascii(name) if not name.isprintable() else repr(name) for name in marginal.columns)
