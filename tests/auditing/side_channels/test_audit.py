"""Side channels: sessions that leak through each of them are caught in that one, and the library's own are not.

All of it is exact: no noise, no false alarms.
"""

import datetime as dt
import hashlib
import logging
import math
import os
import tempfile
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.auditing.finding import Verdict
from discreet.auditing.side_channels.audit import CLAIM, _is_farther, _rank_test, _reach, compare_calls
from discreet.auditing.side_channels.recorder import CHANNELS
from discreet.cli import app
from discreet.errors import ParameterError
from discreet.release.release import MeasuredColumn

T = dp.table("t")
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 2, "budget": dp.Budget(epsilon=1)}
TYPES = {"id": "text", "w": "text", "x": "real", "y": "integer", "t": "text", "d": "date"}
KEYS = {"w": ["A", "B", "C"]}
BY_WARD = T.group_by("w").agg(n=dp.count())
ROWS = pa.table({"id": ["a", "b", "c"], "w": ["A", "B", "B"]})
MORE = pa.table({"id": ["a", "b", "c", "d"], "w": ["A", "B", "B", "A"]})


def broken(findings):
    """The channels that are broken; of the others, none differs between runs on one dataset."""
    void = {finding.evidence for finding in findings if finding.verdict is Verdict.VOID}
    assert void <= {"values of no release"}
    return {finding.detail["channel"] for finding in findings if finding.is_broken}


def found(findings, channel):
    (finding,) = [finding for finding in findings if finding.detail["channel"] == channel]
    return finding


def compared(kind=dp.testing.Session, repeats=2, queries=(BY_WARD,), **more):
    def opened(rows):
        return kind.protect(rows, keys=KEYS, **WORDS)

    return compare_calls(opened, ROWS, MORE, queries, repeats=repeats, **more)


# Sessions that leak: what each does after it has the exact answers 1, 2, 0 or 2, 2, 0


class Leaky(dp.testing.Session):
    def release(self, query, **words):
        return self.leak(super().release(query, **words))

    def leak(self, release):
        raise NotImplementedError


def rows_of(release):
    return sum(release["n"])


class ErrorText(Leaky):
    def leak(self, release):
        raise ParameterError(f"a release over {rows_of(release)} rows", because="too few", instead="more")


class ErrorByData(Leaky):
    def leak(self, release):
        if rows_of(release) > 3:
            raise ParameterError("a release", because="too many", instead="fewer")
        return release


class ErrorInCause(Leaky):
    def leak(self, release):
        raise ParameterError("a release", because="no", instead="none") from ValueError("x" * rows_of(release))


class KeyByData(Leaky):
    def leak(self, release):
        (key,) = release.keys
        return replace(release, keys=(replace(key, values=(*key.values[:2], "C" if rows_of(release) == 3 else "D")),))


class OrderByData(Leaky):
    def leak(self, release):
        (key,), (output,) = release.keys, release.outputs
        order = sorted(range(3), key=lambda i: (-output.values[i], key.values[i]))
        moved = replace(output, values=tuple(output.values[i] for i in order))
        return replace(release, keys=(replace(key, values=tuple(key.values[i] for i in order)),), outputs=(moved,))


class EmptyGroupsLeftOut(Leaky):
    """The key that nobody has goes, as in a plain GROUP BY; here the second key goes where it has two rows."""

    def leak(self, release):
        kept = [i for i, value in enumerate(release["n"]) if value != 1]
        (key,), (output,), (measured,) = release.keys, release.outputs, release.measured
        pick = lambda column: tuple(column[i] for i in kept)  # noqa: E731
        return replace(
            release,
            keys=(replace(key, values=pick(key.values)),),
            outputs=(replace(output, values=pick(output.values), margins=pick(output.margins)),),
            measured=(replace(measured, steps=pick(measured.steps)),),
        )


class FloatWhereLarge(Leaky):
    def leak(self, release):
        (output,) = release.outputs
        kind = float if rows_of(release) > 3 else int
        return replace(release, outputs=(replace(output, values=tuple(map(kind, output.values))),))


class MarginByData(Leaky):
    def leak(self, release):
        (output,) = release.outputs
        return replace(release, outputs=(replace(output, margins=output.values),))


class TextByData(Leaky):
    """The session itself is printed with what it last saw."""

    def leak(self, release):
        self._last = rows_of(release)
        return release

    def __str__(self):
        return f"{super().__str__()}, last of {vars(self).get('_last', 'no')} rows"

    __repr__ = __str__


class LogByData(Leaky):
    def leak(self, release):
        logging.getLogger("engine").debug("scanned %d rows", rows_of(release))
        return release


class DigestInLog(Leaky):
    """A fingerprint of the data: it looks as random as a receipt, and comes again."""

    def leak(self, release):
        logging.getLogger("engine").info("table %s", hashlib.sha256(b"%d" % rows_of(release)).hexdigest())
        return release


class WarningByData(Leaky):
    def leak(self, release):
        if rows_of(release) > 3:
            warnings.warn("a large group", stacklevel=1)
        return release


class PrintedByData(Leaky):
    def leak(self, release):
        print("." * rows_of(release))
        return release


class PrintedBelowPython(Leaky):
    def leak(self, release):
        os.write(2, b"." * rows_of(release))
        return release


class FileForEachGroup(Leaky):
    def leak(self, release):
        for value, name in zip(release["n"], KEYS["w"], strict=True):
            if value > 1:
                Path(tempfile.gettempdir(), f"group-{name}").touch()
        return release


class FileOfRows(Leaky):
    def leak(self, release):
        Path(tempfile.gettempdir(), "rows").write_bytes(b"." * rows_of(release))
        return release


class CostByData(Leaky):
    def leak(self, release):
        if rows_of(release) > 3 and not release.repeated:
            dp.testing.Session.release(self, BY_WARD, epsilon=1e-3, fresh=True)
        return release


class RejectedByData(Leaky):
    """Nothing more is spent, and the history has a line more."""

    def leak(self, release):
        if rows_of(release) > 3:
            try:
                dp.testing.Session.release(self, BY_WARD, epsilon=2, fresh=True)
            except dp.errors.BudgetError:
                return release
        return release


class TimeByData(Leaky):
    def leak(self, release):
        time.sleep(0.05 if rows_of(release) > 3 else 0)
        return release


class TenTimesPipeline(dp.testing.ExactPipeline):
    def randomize(self, plan, exact):
        return [[10 * step for step in column] for column in plan.combine(exact)]


class TenTimesTheSensitivity(dp.testing.Session):
    _pipeline_class = TenTimesPipeline


LEAKS = {
    ErrorText: {"error"},
    ErrorByData: {"status", "error", "keys", "shape", "margins", "text"},
    ErrorInCause: {"error"},
    KeyByData: {"keys", "text"},
    OrderByData: {"keys", "text"},
    EmptyGroupsLeftOut: {"keys", "shape", "margins", "text", "values"},
    FloatWhereLarge: {"shape"},
    MarginByData: {"margins"},
    TextByData: {"text"},
    LogByData: {"log"},
    WarningByData: {"warnings"},
    PrintedByData: {"printed"},
    PrintedBelowPython: {"printed"},
    FileForEachGroup: {"files"},
    FileOfRows: {"files"},
    CostByData: {"cost", "ledger"},
    RejectedByData: {"ledger"},
    TenTimesTheSensitivity: {"values"},
}


FOLLOWING = {CostByData: {"status", "error", "keys", "shape", "margins", "text"}, RejectedByData: {"shape", "text"}}
"""What follows from a leak through the ledger: the budget ends sooner, and receipts have other numbers."""


@pytest.mark.parametrize("kind", LEAKS, ids=lambda kind: kind.__name__)
def test_a_leaky_session_is_caught_in_the_channel_that_it_leaks_through(kind):
    findings = compared(kind)
    assert broken(findings) - FOLLOWING.get(kind, set()) == LEAKS[kind]
    for channel in LEAKS[kind]:
        finding = found(findings, channel)
        assert finding.evidence.startswith(channel)
        assert finding.detail["differences"]


def test_every_channel_that_is_judged_has_a_session_that_leaks_through_it():
    assert set().union(*LEAKS.values()) == {*CHANNELS, "values"}


def test_a_session_of_the_library_is_the_same_in_every_channel():
    findings = compared(repeats=2, queries=(BY_WARD, T.agg(n=dp.count()), T.agg(s=dp.sum("w"))), name="wards")
    assert {finding.detail["channel"] for finding in findings} == {*CHANNELS, "values", "time"}
    assert {finding.verdict for finding in findings[:-1]} == {Verdict.NOTHING_FOUND}
    assert {(each.subject, each.layer, each.samples) for each in findings} == {("wards", "side channels", 2)}
    assert [each.claim for each in findings] == [CLAIM.format(each.detail["channel"]) for each in findings]
    assert found(findings, "values").detail["furthest"] == 0.5
    assert all(finding.seconds > 0 for finding in findings)


def test_what_is_different_is_quoted_briefly():
    (difference,) = found(compared(LogByData), "log").detail["differences"][:1]
    assert difference == {"call": "release 0", "one": '"scanned 3 rows"', "other": '"scanned 4 rows"'}


def test_a_fingerprint_of_the_data_is_told_from_a_random_name_by_running_twice():
    once = compared(DigestInLog, repeats=1)
    assert not any(finding.is_broken for finding in once)
    assert found(once, "log").verdict is Verdict.VOID
    assert found(once, "log").evidence.endswith("one run cannot tell: use repeats=2")
    assert broken(compared(DigestInLog)) == {"log"}


def test_a_channel_that_varies_on_one_dataset_and_never_shows_what_the_other_does_is_broken():
    class RandomWhereLarge(Leaky):
        def leak(self, release):
            told = time.perf_counter() if rows_of(release) > 3 else "nothing"
            logging.getLogger("engine").info("draw %s", told)
            return release

    assert broken(compared(RandomWhereLarge, repeats=2)) == {"log"}


def test_an_address_in_memory_is_not_a_finding_and_a_number_written_like_one_is():
    class Object:
        """Kept for good: it has its own place in memory in every run on one dataset, and comes again by chance."""

    kept = {3: Object(), 4: Object()}

    class AddressInLog(Leaky):
        def leak(self, release):
            logging.getLogger("engine").info("%r", kept[rows_of(release)])
            return release

    class NumberInLog(Leaky):
        def leak(self, release):
            logging.getLogger("engine").info("0x%08x", rows_of(release))
            return release

    assert found(compared(AddressInLog, repeats=2), "log").verdict is Verdict.VOID
    assert broken(compared(NumberInLog, repeats=2)) == {"log"}


def test_nothing_is_vouched_for_where_no_session_was_made_or_nothing_was_released():
    def never(rows):
        raise ParameterError("a table", because="no", instead="none")

    findings = compare_calls(never, ROWS, MORE, [BY_WARD])
    assert {finding.verdict for finding in findings[:-1]} == {Verdict.VOID}
    assert found(compared(queries=(T.agg(s=dp.sum("w")),)), "values").verdict is Verdict.VOID


def test_values_are_held_exactly_to_what_they_may_move():
    still = MeasuredColumn("n", "laplace", 1.0, l1=0, l2_squared=0, grid=Fraction(1), steps=(5, 5))
    assert not _is_farther([still], [still])
    assert _reach([still], [still]) == 0
    assert _is_farther([still], [replace(still, steps=(5, 6))])
    assert _reach([still], [replace(still, steps=(5, 6))]) == math.inf
    far = MeasuredColumn("n", "laplace", 1.0, l1=2**80, l2_squared=2**160, grid=Fraction(1), steps=(0,))
    assert not _is_farther([far], [replace(far, steps=(2**80,))])
    assert _is_farther([far], [replace(far, steps=(2**80 + 1,))])


def test_a_channel_that_varies_by_itself_is_void():
    class Random(Leaky):
        def leak(self, release):
            logging.getLogger("engine").info("draw %f", time.perf_counter())
            return release

    verdicts = {finding.detail["channel"]: finding.verdict for finding in compared(Random, repeats=2)}
    assert verdicts.pop("log") is Verdict.VOID
    assert verdicts.pop("time") is Verdict.SKIPPED
    assert set(verdicts.values()) == {Verdict.NOTHING_FOUND}


def test_a_session_that_opens_on_one_dataset_only_is_caught():
    def opened(rows):
        if len(rows) > 3:
            raise ParameterError("a table", because="it is too long", instead="a shorter one")
        return dp.testing.protect(rows, keys=KEYS, **WORDS)

    findings = compare_calls(opened, ROWS, MORE, [BY_WARD], repeats=2)
    assert broken(findings) == {"status", "error", "text", "files"}
    assert 'protect shows "returned Session" and "raised ParameterError"' in found(findings, "status").evidence
    assert found(findings, "status").detail["differences"][1]["other"] == '"not called"'


def test_time_is_reported_and_not_judged():
    findings = compared(TimeByData, repeats=2)
    assert broken(findings) == set()
    told = found(findings, "time")
    assert told.verdict is Verdict.SKIPPED
    assert told.evidence.startswith("not judged: ")
    assert told.detail["medians"]["release 0"][1] >= 0.05
    assert 0.1 < told.detail["chances"]["release 0"] <= 1


def test_the_rank_test_is_that_of_mann_and_whitney():
    from scipy.stats import mannwhitneyu  # noqa: PLC0415 - slow to import

    draws = dp.testing.generator(11)
    for shift in (0, 0.3, 2):
        one, other = draws.normal(size=30), draws.normal(size=40) + shift
        asymptotic = mannwhitneyu(one, other, method="asymptotic", use_continuity=False).pvalue
        assert _rank_test(one, other) == pytest.approx(asymptotic)


def test_a_session_with_noise_shows_nothing_else_and_its_ledger_neither():
    """What `discreet ledger show` and `history` print, and the real ledger's files."""

    def printed(*arguments):
        def call(_):
            done = CliRunner().invoke(app, ["ledger", *arguments], env={"COLUMNS": "200"})
            assert done.exit_code == 0
            return done.output

        return call

    calls = {" ".join(words): printed(*words) for words in (["show"], ["show", "t", "--json"], ["history", "t"])}
    findings = compared(dp.Session, repeats=2, calls=calls)
    assert broken(findings) == set()
    assert found(findings, "values").verdict is Verdict.SKIPPED
    assert {each.verdict for each in findings if each.detail["channel"] in CHANNELS} == {Verdict.NOTHING_FOUND}


# The library, on hostile neighbours

PEOPLE = [
    {"id": f"p{i}", "w": "ABC"[i % 3], "x": i / 4, "y": i, "t": str(i), "d": dt.date(2020, 1 + i % 12, 1)}
    for i in range(30)
]
SOMEBODY = {"id": "new", "w": "A", "x": 1.0, "y": 1, "t": "1", "d": dt.date(2020, 2, 29)}
SCHEMA = pa.schema(
    {"id": pa.string(), "w": pa.string(), "x": pa.float64(), "y": pa.int64(), "t": pa.string(), "d": pa.date32()}
)
QUESTIONS = (
    T.group_by("w").agg(n=dp.count(), m=dp.mean("y", bounds=(0, 9))),
    T.where((T.t.cast("integer") > 5) | (T.d > "2020-06-01")).agg(s=dp.sum(T.x * T.x / T.y, bounds=(0, 4))),
    T.agg(s=dp.sum("x")),
)
NO_NUMBERS = [SOMEBODY | {"x": math.nan, "t": "nan"}, SOMEBODY | {"x": -math.inf, "y": 0, "t": "-Infinity"}]
TOO_LARGE = {"x": 1e308, "y": 2**63 - 1, "t": "99999999999999999999", "d": dt.date(9999, 12, 31)}
HOSTILE = {
    "no numbers": NO_NUMBERS,
    "overflow and a new category": [SOMEBODY | TOO_LARGE, SOMEBODY | {"w": "a category that nobody declared"}],
    "all missing": [dict.fromkeys(SOMEBODY) | {"id": "new"}],
    "many rows": [SOMEBODY | {"x": float(i % 7), "t": f"HIV+ {i}"} for i in range(3_000)],
}
HOSTILE_TEXT = {
    "odd cells": b"new,A,HIV+,12 apples,0x10,2020-13-45\nnew,A,1e999,-99999999999999999999,1e400,99999999-01-01\n",
    "invalid UTF-8": b"new,\xff\xfe,1,1,\xc3\x28,2020-01-01\n",
    "short row": b"new,A\n",
}


def opened(kind=dp.testing.Session):
    def make(source):
        return kind.protect(source, keys=KEYS, types=TYPES, **WORDS)

    return make


def as_csv(rows, path, more=b""):
    pyarrow.csv.write_csv(pa.Table.from_pylist(rows, SCHEMA), path)
    path.write_bytes(path.read_bytes() + more)
    return path


def brought(form, rows, directory):
    """The rows of a dataset, as a file of the same name for both neighbours or as a frame."""
    directory.mkdir()
    frame = pa.Table.from_pylist(rows, SCHEMA)
    if form == "csv":
        return as_csv(rows, directory / "people.csv")
    if form == "parquet":
        pq.write_table(frame, directory / "people.parquet")
        return directory / "people.parquet"
    return {"arrow": frame, "polars": pl.DataFrame(frame)}[form]


def agree(make, one, other, **more):
    *judged, time_of_calls = compare_calls(make, one, other, QUESTIONS, repeats=2, **more)
    assert [str(finding) for finding in judged if finding.verdict is not Verdict.NOTHING_FOUND] == []
    assert time_of_calls.detail["channel"] == "time"


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("form", ["csv", pytest.param("parquet", marks=pytest.mark.nightly), "arrow"])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_hostile_unit_shows_in_any_channel(form, hostile, tmp_path):
    one, other = brought(form, PEOPLE, tmp_path / "1"), brought(form, PEOPLE + HOSTILE[hostile], tmp_path / "2")
    agree(opened(), one, other)


@pytest.mark.parametrize("form", ["csv", "parquet", "polars"])
def test_one_person_alone_is_as_nobody(form, tmp_path):
    agree(opened(), brought(form, [], tmp_path / "1"), brought(form, [SOMEBODY], tmp_path / "2"))


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("text", HOSTILE_TEXT)
def test_no_hostile_text_shows_in_any_channel(text, tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one, other = (tmp_path / side / "people.csv" for side in "12")
    agree(opened(), as_csv(PEOPLE, one), as_csv(PEOPLE, other, HOSTILE_TEXT[text]))


def test_the_known_limit_of_broken_quotes_is_found(tmp_path):
    """docs/limits.md, critical: an opening quote swallows the rows of others."""
    one, other = brought("csv", PEOPLE, tmp_path / "1"), brought("csv", PEOPLE, tmp_path / "2")
    header, rows = other.read_bytes().split(b"\n", 1)
    other.write_bytes(header + b'\nnew,A,"oops,1,1,2020-01-01\n' + rows)
    assert broken(compare_calls(opened(), one, other, QUESTIONS, repeats=2)) == {"values"}


def test_a_hostile_unit_shows_in_no_channel_of_a_session_with_noise(tmp_path):
    one, other = brought("csv", PEOPLE, tmp_path / "1"), brought("csv", PEOPLE + NO_NUMBERS, tmp_path / "2")
    findings = compare_calls(opened(dp.Session), one, other, QUESTIONS, repeats=2)
    assert broken(findings) == set()
