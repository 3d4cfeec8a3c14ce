"""The report of an audit: every finding, what was claimed and found, and what all of it proves, as text, JSON or HTML.

A report says "nothing found", never "private": an audit can refute a claim and cannot prove one.
"""

import html
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import plots
from discreet.auditing import figures
from discreet.auditing.finding import Finding, Verdict
from discreet.errors import ParameterError, UnsupportedError, public_class
from discreet.version import __version__

FORMAT = "discreet.audit/1"
_BAD = (Verdict.BROKEN, Verdict.VOID)
_REMARKABLE = (*_BAD, Verdict.SKIPPED)
_MOST_ROWS = 50
_STYLE = """body { font: 16px/1.5 "DejaVu Sans", system-ui, sans-serif; color: #1a1a1a; max-width: 72rem;
  margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; margin: 1.5rem 0 } caption { text-align: left; font-weight: bold }
th, td { border-bottom: 1px solid #d5d5d5; padding: .4rem .6rem; text-align: left; vertical-align: top }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.bad { color: #a33c00; font-weight: bold } section { margin: 2.5rem 0 } h2 { font-size: 1.1rem }
@media (max-width: 50rem) { table { display: block; overflow-x: auto } }"""
_NUMBERS, _NUMBER = {"found", "samples", "false alarm"}, ' class="number"'
_COLUMNS = ("subject", "layer", "claim", "found", "samples", "false alarm", "verdict")


@public_class
@dataclass(frozen=True)
class Report:
    """Findings, with the date and the version of the library. Print it to read it.

    Attributes:
        findings: The findings.
        title: Title of the report. Default "audit".
        about: Command or code that shows them again. Default: none.
        time: Time of the report. Default: now.
        library: Version of the library. Default: this one.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5)
        >>> dp.auditing.Report.of(dp.auditing.check_masses(laplace)).ok
        True
    """

    findings: tuple[Finding, ...]
    title: str = "audit"
    about: str = ""
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    library: str = __version__

    @classmethod
    def of(cls, findings: Iterable[Finding], title: str = "audit", about: str = "") -> "Report":
        """Report of some findings, dated now.

        Args:
            findings: The findings.
            title: Title of the report. Default "audit".
            about: Command or code that shows them again. Default: none.

        Returns:
            The report.
        """
        return cls(tuple(findings), title, about)

    @property
    def ok(self) -> bool:
        """Whether no claim was broken and no control was missed."""
        return not any(finding.verdict in _BAD for finding in self.findings)

    @property
    def alarm(self) -> float:
        """The chance that any true claim in the report is called broken: at most the sum over its findings."""
        return min(1.0, math.fsum(finding.alarm for finding in self.findings))

    def __str__(self) -> str:
        is_long = len(self.findings) > _MOST_ROWS
        shown = [each for each in self.findings if not is_long or each.verdict in _REMARKABLE]
        rows = _align([_COLUMNS, *map(_row, shown)]) if shown else []
        told = [
            f"  {finding.subject}: {finding.evidence}"
            for finding in shown
            if finding.verdict in (*_BAD, Verdict.SKIPPED) or len(self.findings) == 1
        ]
        parts = [self._by_layer() if is_long else [], rows, told, [self.conclusion()]]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _by_layer(self) -> list[str]:
        """How many findings of each verdict there are in each layer."""
        verdicts = [verdict for verdict in Verdict if any(f.verdict is verdict for f in self.findings)]
        counts = Counter((f.layer, f.verdict) for f in self.findings)
        layers = dict.fromkeys(finding.layer for finding in self.findings)
        rows = [(layer, *(str(counts[layer, verdict] or "") for verdict in verdicts)) for layer in layers]
        return _align([("layer", *map(str, verdicts)), *rows])

    def conclusion(self) -> str:
        """One sentence on all findings.

        Returns:
            The sentence.
        """
        count = {verdict: sum(f.verdict is verdict for f in self.findings) for verdict in Verdict}
        parts = [f"{number} {verdict}" for verdict, number in count.items() if number]
        alarm = f"a true claim is called broken with a chance of at most {self.alarm:.2g}" if self.alarm else ""
        return "; ".join(part for part in (", ".join(parts) or "nothing was examined", alarm) if part)

    def to_json(self) -> str:
        """The report as JSON; numbers that JSON cannot express are text.

        Returns:
            The text.
        """
        findings = [asdict(finding) for finding in self.findings]
        data = {
            "format": FORMAT,
            "title": self.title,
            "about": self.about,
            "time": self.time,
            "library": self.library,
            "ok": self.ok,
            "alarm": self.alarm,
            "findings": findings,
        }
        return json.dumps(_sayable(data), ensure_ascii=False, indent=1, allow_nan=False)

    def to_html(self) -> str:
        """The report as one HTML page; figures need matplotlib, and are left out without it.

        Returns:
            The text.
        """
        title = html.escape(self.title)
        sections = "".join(_section(finding) for finding in self.findings)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
            f"<h1>{title}</h1><p>Made by discreet {html.escape(self.library)} at {html.escape(self.time)}.</p>"
            f"{_about(self.about)}<p>{html.escape(self.conclusion())}.</p>"
            "<p>An audit can refute a claim; it cannot prove one.</p>"
            f"{_table(self.findings)}{sections}{_without_pictures(self.findings)}</body></html>\n"
        )

    def save(self, path: str | Path) -> None:
        """Write the report to a file.

        Args:
            path: Path that ends in .json or .html.

        Raises:
            ParameterError: If the ending is another one, or there is no such directory.
        """
        target = writable(path)
        made = self.to_json() if target.suffix == ".json" else self.to_html()
        target.write_text(made, encoding="utf-8")


def writable(path: str | Path) -> Path:
    """Where a report can be written; refused before an audit has run for it."""
    target = Path(path)
    if target.suffix not in (".json", ".html"):
        raise ParameterError(
            f"a report in {target.name!r}", because="its ending says neither JSON nor HTML", instead="audit.html"
        )
    if not target.parent.is_dir():
        raise ParameterError(
            f"a report in {str(target)!r}", because="there is no such directory", instead=repr(target.name)
        )
    return target


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _about(text: str) -> str:
    return f"<p><code>{html.escape(text)}</code></p>" if text else ""


def _without_pictures(findings: Iterable[Finding]) -> str:
    """A line on a page that would have pictures, where matplotlib is not installed."""
    first = next((finding for finding in findings if finding.detail.get("histogram")), None)
    try:
        _ = first and figures.figure(first)
    except UnsupportedError as error:
        return f"<p>Pictures are left out: {html.escape(error.because)}. {html.escape(error.instead)}</p>"
    return ""


def _row(finding: Finding) -> tuple[str, ...]:
    return (
        finding.subject,
        finding.layer,
        finding.claim,
        "" if finding.found is None else f"{finding.found:.3g}",
        f"{finding.samples:,}" if finding.samples else "",
        f"{alarm:.1g}" if (alarm := finding.detail.get("alarm", finding.alarm)) else "exact",
        finding.verdict.value,
    )


def _table(findings: Iterable[Finding]) -> str:
    heads = "".join(f'<th scope="col"{_NUMBER if name in _NUMBERS else ""}>{name}</th>' for name in _COLUMNS)
    lines = ["".join(_cell(finding, name, cell) for name, cell in _cells(finding)) for finding in findings]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>Findings</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cells(finding: Finding) -> Iterable[tuple[str, str]]:
    return zip(_COLUMNS, _row(finding), strict=True)


def _cell(finding: Finding, name: str, text: str) -> str:
    is_bad = name == "verdict" and finding.verdict in _BAD
    kind = _NUMBER if name in _NUMBERS else ' class="bad"' if is_bad else ""
    return f"<td{kind}>{html.escape(text)}</td>"


def _section(finding: Finding) -> str:
    picture = _picture(finding)
    if not picture and finding.verdict not in _BAD:
        return ""
    words = f"<h2>{html.escape(finding.subject)}</h2><p>{html.escape(finding.evidence)}.</p>"
    return f"<section>{words}{picture}</section>"


def _picture(finding: Finding) -> str:
    try:
        figure = figures.figure(finding)
    except UnsupportedError:
        return ""
    return "" if figure is None else plots.html(figure)


def _sayable(value: Any) -> Any:
    """The same in terms of JSON: infinities and NaN as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _sayable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(each) for each in value]
    return value
