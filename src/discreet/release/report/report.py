"""`dp.report`: a report of releases that a data protection officer can read, sign and check."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.catalog import strict_json
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.release.estimate import Estimate
from discreet.release.forms import json_place
from discreet.release.found_slots import FoundSlots
from discreet.release.model import ModelRelease
from discreet.release.release import Release
from discreet.release.report import plain, registry
from discreet.release.report.about import read_about
from discreet.release.report.facts import Facts, gather
from discreet.release.report.markup import Markup, inline
from discreet.release.report.page import MADE, page
from discreet.release.report.wording import guarantee, span, unit
from discreet.release.selection import Selection
from discreet.release.sql_release import SqlRelease
from discreet.release.synthetic import SyntheticTable

Reportable = Release | Selection | Estimate | ModelRelease | SyntheticTable | FoundSlots | SqlRelease | str | Path
AboutSource = str | Path | Mapping[str, Any]


@public_class
@dataclass(frozen=True, repr=False)
class ReleaseReport:
    """A report of releases: a page to read, a page for reviewers, plain data, and a registry entry.

    It is made from the releases alone and costs nothing. The same releases give the same report.

    Attributes:
        facts: What the report is made of.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     release = session.release(dp.table("people").agg(n=dp.count()), epsilon=0.5)
        >>> dp.report(release).to_json()["guarantees"][0]["epsilon"]
        '1/2'
    """

    facts: Facts

    def to_html(self, *, sections: Sequence[Markup] = ()) -> str:
        """The report as one HTML file that needs nothing else.

        Args:
            sections: Further sections, such as `dp.anonymity.risk_report(...).section()`, which is for owners only.
                Text that is not markup of discreet is escaped. Default: none.

        Returns:
            The text: two A4 pages for an ordinary release.
        """
        return page(self.facts, sections) if sections else self._page

    def to_json(self) -> dict[str, Any]:
        """The report as plain data.

        Returns:
            A dictionary for `json.dumps`, of schema `discreet.release-report/1`.
        """
        return plain.plain(self.facts)

    def registry(self) -> str:
        """The registry entry.

        Returns:
            YAML text of schema `discreet.registry/1`; facts that nobody stated read "not stated".
        """
        return registry.entry_text(self.facts)

    def save(self, path: str | Path) -> list[Path]:
        """Write the report, and beside it `report.json` and `report.registry.yaml` with the same stem.

        Args:
            path: Path of the HTML file. Earlier reports are replaced; a file of another kind is not.

        Returns:
            The paths of the three files.

        Raises:
            ParameterError: If the name does not end in .html, the directory is not there, or a file of another kind is.
        """
        place = Path(path)
        places = [place, place.with_suffix(".json"), place.with_suffix(".registry.yaml")]
        self._require_places(places)
        texts = [self.to_html(), json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", self.registry()]
        for each, text in zip(places, texts, strict=True):
            each.write_text(text, encoding="utf-8", newline="")
        return places

    def __str__(self) -> str:
        lines = [f"{guarantee(each)}, {unit(each)}, {span(each)}" for each in self.facts.protections]
        names = ", ".join(each.name for each in self.facts.reported)
        return "\n".join([f"report of {names}", *lines])

    __repr__ = __str__

    @cached_property
    def _page(self) -> str:
        return page(self.facts)

    def _require_places(self, places: Sequence[Path]) -> None:
        """Refuse a place whose files would replace something other than an earlier report."""
        place = places[0]
        if place.suffix.lower() not in (".html", ".htm") or place.is_dir() or not place.parent.is_dir():
            raise ParameterError(
                f"a report at {str(place)!r}",
                because="a report is an HTML file in a directory that is there",
                instead=repr("report.html"),
            )
        sources = [each.path for each in self.facts.reported if each.path is not None]
        inputs = {path.resolve() for source in sources for path in (source, json_place(source))}
        taken = [each for each in places if each.resolve() in inputs or not _is_ours(each)]
        if taken:
            raise ParameterError(
                f"a report at {str(place)!r}",
                because=f"{taken[0].name!r} is there, and is not a report",
                instead=repr(str(place.with_name(f"{place.stem}-report.html"))),
            )


@short_traceback
def report(releases: Reportable | Sequence[Reportable], *, about: AboutSource | None = None) -> ReleaseReport:
    """A report of releases for readers who do not know differential privacy, and for reviewers who do.

    Charges to the same dataset for the same unit add up; a receipt that several releases share is counted once.

    Args:
        releases: Releases, selections, estimates, models, tables of statements, or paths of files that hold them.
        about: What releases cannot know, as a dictionary or the path of a YAML file: deployment, curator, purpose,
            data_product, period, justification, contact, unit_name, public_key. Default: none of it is stated.

    Returns:
        The report, to save or to show.

    Raises:
        ParameterError: If a file holds no release, a receipt is damaged, or `about` has another field.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(1_000)
        >>> with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        ...     release = session.release(dp.table("people").agg(n=dp.count()), epsilon=0.5)
        >>> report = dp.report(release, about={"curator": "Statistics office"})
        >>> "curator: Statistics office" in report.registry()
        True
    """
    found = releases if isinstance(releases, list | tuple) else [releases]
    return ReleaseReport(gather(found, read_about(about)))  # type: ignore[arg-type]


def _is_ours(path: Path) -> bool:
    """Whether a path is free, or holds an earlier report."""
    if not path.exists():
        return True
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            data = strict_json.loads(text)
            return isinstance(data, dict) and data.get("schema") == plain.SCHEMA
    except (OSError, ValueError, RecursionError):
        return False
    return text.startswith(f"schema: {registry.SCHEMA}\n") if path.suffix == ".yaml" else inline(MADE) in text
