"""`dp.anonymity.risk_report`: how anonymous a file is, what generalisation costs, and what a private release gives."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.anonymity.classes.null_policies import NullPolicy
from discreet.anonymity.owners import SCHEMA, STAMP, OwnerResult, plain_data
from discreet.anonymity.report import charts, page, text
from discreet.anonymity.report.assessment import assess_source
from discreet.anonymity.report.findings import RiskFindings
from discreet.engines.progress import shown_while
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import whole
from discreet.home.durable_files import fits, write_file
from discreet.release.report.markup import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 80
SIZES = (2, 5, 10)
"""The k that generalisation is searched for unless the caller names others."""


@public_class
@dataclass(frozen=True, repr=False)
class RiskReport(OwnerResult):
    """Report on the re-identification risk of a file, for the owners of its data.

    Attributes:
        findings: The figures that every form of the report shows.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(2_000)
        >>> report = dp.anonymity.risk_report(people, ["zip_code", "birth_date", "sex"], person="person_id")
        >>> report.findings.counts.k
        1
    """

    kind = "re-identification risk"

    findings: RiskFindings

    def text(self, width: int = WIDTH) -> str:
        """The report for a terminal.

        Args:
            width: Number of columns of the terminal; at least 60 are used. Default 80.

        Returns:
            The text.
        """
        return text.text(self.findings, width)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.section()

    def _lines(self) -> list[str]:
        return self.text().splitlines()

    def plots(self) -> "dict[str, Figure]":
        """Pictures of the report: class sizes, the share of unique people, the cost of generalisation.

        Returns:
            A figure for each name; the cost only where a search was possible.

        Raises:
            UnsupportedError: If matplotlib is not installed.
        """
        return charts.all_figures(self.findings)

    def save_plots(self, directory: str | Path) -> list[Path]:
        """Write each picture as SVG, readable by you alone.

        Args:
            directory: A directory, which is created if it is not there; pictures of earlier reports are replaced.

        Returns:
            The paths of the files.

        Raises:
            ParameterError: If a file is at that path.
            UnsupportedError: If matplotlib is not installed.
        """
        place = Path(directory)
        if any(each.exists() and not each.is_dir() for each in (place, *place.parents)):
            raise ParameterError(
                f"plots in {str(directory)!r}", because="a file is there, not a directory", instead=repr("plots")
            )
        figures = self.plots()
        place.mkdir(parents=True, exist_ok=True)
        paths = [place / f"risk-{name}.svg" for name in figures]
        for path, figure in zip(paths, figures.values(), strict=True):
            charts.save_figure(figure, path)
        return paths

    def to_html(self) -> str:
        """The report as one HTML file that needs nothing else.

        Returns:
            The text of the page.
        """
        return page.page(self.findings)

    def section(self) -> Markup:
        """The report as a section of another page, such as the report of releases.

        Returns:
            HTML in which all data is escaped.
        """
        return page.section(self.findings)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file that you alone can read.

        Args:
            path: Path of the HTML file; an earlier report is replaced, a file of another kind is not.

        Returns:
            The path.

        Raises:
            ParameterError: If the name does not end in .html, the directory is not there, or a file of another kind is.
        """
        place = Path(path)
        if not fits(place):
            raise ParameterError(
                f"a file name of {len(os.fsencode(place.name)):,} bytes",
                because="the file system does not take a name or a path as long",
                instead=repr("risk.html"),
            )
        if place.suffix.lower() not in (".html", ".htm") or place.is_dir() or not place.parent.is_dir():
            raise ParameterError(
                f"a report at {str(path)!r}",
                because="a report is an HTML file in a directory that is there",
                instead=repr("risk.html"),
            )
        if place.exists() and page.MADE not in place.read_text(encoding="utf-8", errors="replace"):
            raise ParameterError(
                f"a report at {str(path)!r}",
                because="a file of another kind is there",
                instead=repr(str(place.with_name(f"{place.stem}-risk.html"))),
            )
        write_file(place, lambda file: file.write(self.to_html().encode()))
        return place

    def to_json(self) -> dict[str, Any]:
        """The findings as plain data, with the stamp.

        Returns:
            A dict for JSON.
        """
        found = self.findings
        figures = plain_data(asdict(found))
        for counts, each in (
            (figures["counts"], found.counts),
            *((known["counts"], each.counts) for known, each in zip(figures["growth"], found.growth, strict=True)),
        ):
            counts["unique_share"] = float(each.unique_share)
            counts["marketer_risk"] = counts.pop("marketer")
            counts["prosecutor_risk"] = float(each.prosecutor)
        figures["limits"] = [each.to_json() for each in found.limits]
        return json.loads(json.dumps({"schema": SCHEMA, "kind": self.kind, "audience": STAMP, "figures": figures}))  # type: ignore[no-any-return]


@short_traceback
def risk_report(
    source: object,
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    person: str | None = None,
    nulls: NullPolicy = "value",
    k: int | Sequence[int] = SIZES,
    hierarchies: Mapping[str, object] | None = None,
    table: str | None = None,
) -> RiskReport:
    """How anonymous a file is: what an attacker learns, what generalisation costs, what a private release gives.

    It reads rows exactly and charges nothing: the report is for the owners of the data.

    Args:
        source: What `dp.protect` takes: a path, a table in memory, or the address of a database.
        quasi: Quasi-identifiers: columns that an attacker may know.
        sensitive: Columns that an attacker wants to learn. Default: none.
        person: Column that identifies a person. Default: each row is a person.
        nulls: What a missing cell means: "value", "wildcard" (it matches every value) or "exclude". Default "value".
        k: Sizes of classes that generalisation is searched for. Default 2, 5 and 10.
        hierarchies: Generalisation hierarchies by column. Default: by the type of each column.
        table: Name of the table, where the source is a database. Default: the only one.

    Returns:
        The report: print it, or use `to_html`, `plots` and `to_json`.

    Raises:
        NameNotFoundError: If the source has no such column.
        ParameterError: If columns are not a list, or one is named twice.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(2_000)
        >>> report = dp.anonymity.risk_report(people, ["zip_code", "birth_date"], sensitive=["marital_status"])
        >>> print(report.text().splitlines()[0])
        Re-identification risk of the table
    """
    sizes = [whole(each, "k", least=2) for each in ([k] if isinstance(k, int) else k)]
    run = partial(
        assess_source,
        source,
        quasi,
        sensitive=sensitive,
        person=person,
        nulls=nulls,
        sizes=sorted(set(sizes)),
        hierarchies=hierarchies,
        table=table,
    )
    return RiskReport(shown_while(run, stages=None, may_show_stages=False, label="measuring the risk"))
