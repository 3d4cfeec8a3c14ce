"""Cells as people write them, for tests of readers that infer a column's type from all of them.

A *shape* gives the few different cells that a column of other people has; `HOSTILE` are cells of one person who may
have anything. Ids of one person are never an id of another, however a reader spells it: two spellings of one id are
one privacy unit, and a pair that gives an existing unit more rows would be no pair of neighbours.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

Cell = Any
Shape = Callable[["Pick"], list[Cell]]

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "-NaN", "null", "NULL", "Null", "None", "none", "<NA>", "#N/A"),
    *("#NA", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "na", "Nan", "nil", "-", "?", ".", "NaT", "nat"),
)
NUMBERS = (
    *("-999", "1e400", "-1e400", "1e308", "1e-320", "99999999999999999999", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "9" * 42),
    *(
        "9007199254740992",
        "9007199254740993",
        "-9007199254740993",
        "0x1F",
        "0X1f",
        "0xFFFFFFFFFFFFFFFF",
        "0b11",
        "0o17",
    ),
    *("1_000", "1e5", "1E+5", "1e-5", "-0", "-0.0", "+5", "5.", ".5", "007", "0007.50", " 7", "7 ", " 7 ", "\t3"),
    *("0.1234567890123455", "0.12345678901234567890123", "123456789012345.678", "1.5", "2.5", "0.30000000000000004"),
    *("inf", "-inf", "+inf", "Inf", "Infinity", "-Infinity", "INF", "infinity", "1d5", "1.5f", "10%", "$5", "1.2.3"),
    *("1e", "e1", "--1", "+-1", "1-", "0x", "1e5.5", "1 000", "\u0661\u0662", "\uff11", "\u00bd", "\u22125", "\u00a05"),
)
TRUTHS = (
    "true",
    "false",
    "True",
    "FALSE",
    "T",
    "f",
    "t",
    "F",
    "yes",
    "no",
    "Yes",
    "NO",
    "y",
    "N",
    "on",
    "off",
    " true",
)
TIMES = (
    *("9999-12-31", "0001-01-01", "1600-01-01", "2020-02-30", "31/12/2020", "12/31/2020", "13/13/2020", "1/2/20"),
    *("2020-01-01T00:00:00Z", "2020-01-01 00:00:00+02:00", "2020-01-01 10:00", "2020-01-01T10:00:00.123456789"),
    *("12:00", "23:59:59", "24:00:00", "10:30 AM", "20200101", "2020/01/01", "01.02.2020", "01-02-2020", "2020-01"),
    *("1 Jan 2020", "Jan 1, 2020", "2020-W01-1", "infinity", "epoch", "now", "today", "P1D", "1 day", "99999-01-01"),
)
JUNK = (
    "hello",
    "x y",
    "abc",
    "A",
    "\u00e9",
    "e\u0301",
    "\U0001f600",
    "unknown",
    "[1]",
    "{}",
    "a;b",
    "a|b",
    "a\tb",
    "#",
    "\\N",
)
TEXTS = tuple(dict.fromkeys(text for text in (*MISSING_WORDS, *NUMBERS, *TRUTHS, *TIMES, *JUNK) if "," not in text))

BROKEN = ("\udcff", "a\udcc3", "\udced\udca0\udc80", "2020-01-01\udcfe", "%_\\", "2020-01-01 00:00-14:00")
"""Text that is not UTF-8, as Python escapes its bytes, patterns, and a time with a zone; for files that we read."""

MORNING, SENTINEL = map(dt.datetime.fromisoformat, ("2020-01-01 10:30", "9999-12-31"))
IN_JSON = (
    *(None, True, False, 0, 1, 7, -1, 1.5, 2.0, -0.0, 1e300, 5e-324, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**70),
    *(-(2**63), -(2**70), [], [1], ["a", 1], {}, {"a": 1}, [[1], None], 0.1234567890123455, 123456789012345.678),
)
IN_MEMORY = (
    *(float("nan"), float("inf"), -float("inf"), Decimal("1.5"), Decimal("NaN"), Decimal(10) ** 30, b"x", b"\xff"),
    *(dt.date(9999, 12, 31), dt.date(2020, 1, 1), MORNING, SENTINEL, dt.time(10)),
    *(dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.timedelta(1), np.int64(3), np.float32(0.1), np.bool_(True), (1, 2)),
    *(np.datetime64("2020-01-01"), np.uint64(2**63), np.str_("z"), complex(1, 2)),
)


class Pick:
    """Choices of one seed."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def one(self, things: Sequence[Any]) -> Any:
        """One of them."""
        return things[int(self._rng.integers(len(things)))]

    def some(self, things: Sequence[Any], number: int) -> list[Any]:
        """So many of them, each once."""
        order = self._rng.permutation(len(things))[:number]
        return [things[int(i)] for i in order]

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self._rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """Whether something happens that happens so often."""
        return bool(self._rng.random() < share)


def _flags(pick: Pick) -> list[Cell]:
    words = [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("T", "F"), ("t", "f"), ("yes", "no"), ("Y", "N")]
    return list(pick.one([*words, ("0", "1"), (0, 1), (True, False), (True, False), ("on", "off"), ("1", "true")]))


def _counts(pick: Pick) -> list[Cell]:
    return pick.some(range(pick.one([2, 6, 10, 300])), 3)


def _wide(pick: Pick) -> list[Cell]:
    start = pick.one([2**53 - 2, 2**53, 2**60, 2**63 - 4, 2**63 - 1, 2**64 - 3, 10**20, -(2**53) - 1])
    return [start + i for i in range(3)]


def _money(pick: Pick) -> list[Cell]:
    def amount() -> str:
        places = pick.one([1, 2, 2, 3, 8, 15, 16, 17])
        digits = str(pick.whole(0, 10**places - 1)).zfill(places)
        return f"{pick.one(['', '', '-', '+'])}{pick.one([0, 0, 1, pick.whole(0, 10**6)])}.{digits}"

    return [amount() for _ in range(3)]


def _halves(pick: Pick) -> list[Cell]:
    """Decimals in the middle between two that have a digit less: the last bit decides which of them is nearer."""
    places = pick.one([1, 3, 14, 15, 16, 17])
    return [f"{pick.one([0, 0, 1, 12])}.{str(pick.whole(0, 10**places - 1)).zfill(places)}5" for _ in range(3)]


def _fractions(pick: Pick) -> list[Cell]:
    return [pick.one([0.5, 1.5, 2.25, 0.1, 0.30000000000000004, 1 / 3, 1e-7, 1e16, 123456.789]) for _ in range(3)]


def _zips(pick: Pick) -> list[Cell]:
    return [f"{pick.whole(0, 1) * 70_000 + pick.whole(1, 4_000):05}" for _ in range(3)]


def _hexes(pick: Pick) -> list[Cell]:
    return [pick.one(["0x{:x}", "0X{:X}", "{:x}e2", "{:x}"]).format(pick.whole(1, 400)) for _ in range(3)]


def _blanks(pick: Pick) -> list[Cell]:
    return [pick.one([" {}", "{} ", " {} ", "  {}", "{}"]).format(pick.one([*range(8), "a", "b"])) for _ in range(3)]


def _dates(pick: Pick) -> list[Cell]:
    forms = ["2020-{1:02}-{0:02}", "{0:02}/{1:02}/2020", "{1:02}/{0:02}/2020", "{0}.{1}.2020", "2020/{1:02}/{0:02}"]
    form = pick.one([*forms, "2020{1:02}{0:02}", "{0:02}-{1:02}-20", "2020-{1:02}-{0:02}T10:00:00", "2020-{1:02}"])
    return [form.format(pick.whole(1, 28), pick.whole(1, 12)) for _ in range(3)]


def _times(pick: Pick) -> list[Cell]:
    form = pick.one(
        ["{0:02}:{1:02}", "{0:02}:{1:02}:00", "{0}:{1:02}", "2020-01-01 {0:02}:{1:02}:00", "{0:02}:{1:02}Z"]
    )
    return [form.format(pick.whole(0, 23), pick.whole(0, 59)) for _ in range(3)]


def _categories(pick: Pick) -> list[Cell]:
    words = [("a", "b", "c"), ("low", "high", "mid"), ("1", "2", "x"), ("NA", "EU", "US"), ("None", "few", "many")]
    return list(
        pick.one([*words, ("A", "a", "\u00e9"), ("M", "F", "N"), ("1", "1.0", "2"), ("1a", "1e", "e1"), ("-", "+")])
    )


def _anything(pick: Pick) -> list[Cell]:
    return pick.some(TEXTS, 3)


def _typed(pick: Pick) -> list[Cell]:
    """Values that are no text, for records."""
    return pick.some([cell for cell in IN_JSON if not isinstance(cell, list | dict)], 3)


def _moments(pick: Pick) -> list[Cell]:
    start = pick.one([dt.date(2020, 1, 1), MORNING, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)])
    return [start + dt.timedelta(days=i) for i in range(3)]


SHAPES: dict[str, Shape] = {
    "flags": _flags,
    "counts": _counts,
    "wide": _wide,
    "money": _money,
    "halves": _halves,
    "fractions": _fractions,
    "zips": _zips,
    "hexes": _hexes,
    "blanks": _blanks,
    "dates": _dates,
    "times": _times,
    "categories": _categories,
    "anything": _anything,
}
IN_RECORDS: dict[str, Shape] = {"typed": _typed}
ONLY_IN_MEMORY: dict[str, Shape] = {"moments": _moments}

IDS: dict[str, Callable[[int], Cell]] = {
    "text": lambda i: f"p{i}",
    "small": lambda i: 100 + i,
    "across 2^53": lambda i: 2**53 - 8 + i,
    "above 2^53": lambda i: 2**60 + i,
    "above 2^63": lambda i: 2**63 + i,
    "padded": lambda i: f"{100 + i:06}",
    "hexadecimal": lambda i: f"0x{160 + i:X}",
    "like an exponent": lambda i: f"{100 + i}e1",
    "with blanks": lambda i: f" {100 + i}" if i % 2 else f"{100 + i} ",
    "mixed": lambda i: f"{100 + i}" if i % 3 else f"q{i}",
    "decimal": lambda i: f"{100 + i}.25",
    "negative": lambda i: -100 - i,
}
HOSTILE_IDS = (
    *("zoe", "", "NA", "null", "None", "nan", "90001", "90001.5", " 90001", "090001", "0xBEEF", "9e4", "true", "no"),
    *("9999-12-31", "31/12/2020", "12:00", "1e400", "99999999999999999999", "18446744073709551615", "-7", "-7.0"),
    *("9007199254740992", "\u0667\u0667\u0667\u0667", "inf", "\u00e9", "z z", "9e", "1_0_0_1", "0.0001", "1e-5"),
)
HOSTILE_IDS_IN_JSON = (None, True, 90_001, 90_001.5, [1], {"a": 1}, 2**53 + 1, 2**64, -7.0)


def written(cell: Cell) -> str:
    """A cell as a line of CSV text holds it."""
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def as_number(cell: Cell) -> Cell:
    """A cell of digits as a number of JSON, where it is one."""
    if not isinstance(cell, str):
        return cell
    for kind in (int, float):
        try:
            return kind(cell) if cell.isascii() and "_" not in cell and cell == cell.strip() else cell
        except ValueError:
            continue
    return cell
