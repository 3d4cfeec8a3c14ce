"""The style of all plots: colours, marks, canvases without a window, and numbers as people write them."""

import base64
import html as markup
import io
import math
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    UnsupportedError,
    short_traceback,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1a1a1a"
FAINT = "#d5d5d5"
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072b2", "#d55e00", "#009e73", "#9c4f7f", "#e69f00", "#56b4e9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))

STYLE: Any = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "hatch.linewidth": 1.0,
    "text.color": INK,
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


@short_traceback
def html(figure: "Figure") -> str:
    """The figure as an HTML image with its description as alternative text.

    Args:
        figure: The figure.

    Returns:
        The HTML text.

    Example:
        >>> import discreet as dp
        >>> with dp.plots.canvas(4, 3, "Visits") as (figure, axes):
        ...     figure.set_label("visits by ward")
        >>> dp.plots.html(figure).startswith('<img alt="visits by ward"')
        True
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=144)
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    words = markup.escape(str(figure.get_label()), quote=True)
    return f'<img alt="{words}" style="max-width: 100%" src="data:image/png;base64,{data}">'


@short_traceback
@contextmanager
def canvas(width: float, height: float, title: str | None, panels: int = 1) -> "Iterator[tuple[Figure, list[Axes]]]":
    """A figure without a window, and its axes, in the style of discreet.

    Args:
        width: Width in inches.
        height: Height in inches.
        title: Title, or None.
        panels: Number of axes, below one another. Default 1.

    Yields:
        The figure and its axes, from the top.

    Raises:
        UnsupportedError: If matplotlib is not installed.

    Example:
        >>> import discreet as dp
        >>> with dp.plots.canvas(4, 3, None, panels=2) as (figure, axes):
        ...     len(axes)
        2
    """
    kind = figure_class()
    import matplotlib as mpl  # noqa: PLC0415 - optional
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - optional

    with mpl.rc_context(STYLE):
        figure = kind(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        if title:
            figure.suptitle(wrap(title, width), x=0.01, ha="left")
        yield figure, [figure.add_subplot(panels, 1, place + 1) for place in range(panels)]
        figure.draw_without_rendering()  # ticks are made when first drawn, and must be made in this style


@cache
def figure_class() -> "type[Figure]":
    """A figure that notebooks show with its description, whether or not pyplot was set up there."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise UnsupportedError(
            "a plot without matplotlib",
            because="matplotlib is an optional extra and is not installed here",
            instead='pip install "discreet[plots]"',
        ) from None

    class Drawing(Figure):
        def _repr_html_(self) -> str:
            return html(self)

    return Drawing


@short_traceback
@contextmanager
def listing(
    names: list[str], notes: list[list[str]], title: str | None, *, height: float
) -> "Iterator[tuple[Figure, list[Axes]]]":
    """A figure with one line for each name, and its numbers at the right end.

    Args:
        names: The names, from the top.
        notes: For each panel, the text beside each name.
        title: Title, or None.
        height: Height of a line in inches.

    Yields:
        The figure and its axes, one for each panel.

    Raises:
        UnsupportedError: If matplotlib is not installed.

    Example:
        >>> import discreet as dp
        >>> with dp.plots.listing(["A", "B"], [["120", "340"]], None, height=0.3) as (figure, axes):
        ...     len(axes)
        1
    """
    width = 6.0 + 0.075 * (max(map(len, names)) + max(len(note) for panel in notes for note in panel))
    tall = 0.8 + len(notes) * (0.8 + height * len(names))
    with canvas(width, tall, title, len(notes)) as (figure, drawn):
        yield figure, drawn
        for axes, panel in zip(drawn, notes, strict=True):
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.set_axisbelow(True)
            _fit_ticks(axes.xaxis)
            for line, note in enumerate(panel):
                axes.text(1.02, line, note, transform=axes.get_yaxis_transform(), va="center", ha="left")


def _fit_ticks(axis: Any) -> None:
    """As many ticks as fit side by side with their numbers written out, on an axis of five inches."""
    shown = tick_format(axis)
    axis.set_major_formatter(shown)
    for count in range(8, 1, -1):
        axis.axes.locator_params(axis=axis.axis_name, nbins=count)
        if sum(0.25 + 0.075 * len(shown(tick, 0)) for tick in axis.get_majorticklocs()) <= 5:
            return


def tick_format(axis: Any) -> Callable[[float, float], str]:
    """Numbers with as many decimals as the step from tick to tick has, so that no two ticks read the same."""

    def format_tick(number: float, _: float) -> str:
        ticks = axis.get_majorticklocs()
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
        places = next((p for p in range(12) if abs(step * 10**p - round(step * 10**p)) < 1e-6 * step * 10**p), 12)
        return f"{number + 0.0:,.{places}f}"

    return format_tick


def wrap(text: str, inches: float) -> str:
    """Text broken into lines that fit, at the width that bold letters of the title take."""
    return textwrap.fill(text, max(20, int(inches * 8.5)))


@short_traceback
def plain(number: float | Real) -> str:
    """A number as people write it: with thousands separators, and without powers of ten.

    Args:
        number: The number.

    Returns:
        The text.

    Example:
        >>> import discreet as dp
        >>> dp.plots.plain(12345.6), dp.plots.plain(0.25)
        ('12,346', '0.25')
    """
    size = float(number)
    if size == 0 or abs(size) >= 1000:
        return f"{size:,.0f}"
    text = f"{size:.{max(0, 3 - math.floor(math.log10(abs(size))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """A share as people say it, with more digits near nothing and near everything."""
    nearest = min(share, 1 - share)
    if 0 < nearest < 5e-5:
        return "under 0.01%" if share < 0.5 else "over 99.99%"
    text = f"{100 * share:.{0 if nearest >= 0.1 else 1 if nearest >= 0.001 else 2}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def pluralize(number: int, one: str, several: str | None = None) -> str:
    """A number with the word that goes with it."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
