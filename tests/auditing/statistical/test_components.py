"""Each component of the statistical audit finds a control that is missed without it.

A component is a feature of outcomes, a relation between a feature and a level, a choice of events, or a test. It is
taken away by a patch. The draws of the controls are seeded, so every run has the same verdicts, times aside. The alarm
is 1e-6: that is the largest chance that one audit calls a true claim broken.
"""

import math
import string
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest

from discreet.auditing.claims import Claim, claim
from discreet.auditing.finding import Verdict
from discreet.auditing.statistical import audit as statistical
from discreet.auditing.statistical import e_values, events, features, samples
from discreet.auditing.statistical.audit import audit
from discreet.testing import generator

ALARM = 1e-6
ONE = claim(epsilon=1)
WIDTH = 1_000
POOL = [f"key {number}" for number in range(60)]

LETTERS = str.maketrans("0123456789", "ghijklmnop")

Rng = np.random.Generator


def random_words(rng: Rng, number: int, length: int = 8) -> list[str]:
    text = rng.bytes(number * length).hex().translate(LETTERS)
    return [text[start : start + length] for start in range(0, number * length, length)]


def shuffled(rng: Rng, items: list[Any]) -> list[Any]:
    return [items[place] for place in rng.permutation(len(items))]


def some_of(rng: Rng, items: list[Any], number: int) -> list[Any]:
    return shuffled(rng, items)[:number]


def each(make: Callable[[Rng, int], Any]) -> Callable[[Rng], Any]:
    """Outcomes that are made one by one."""
    return lambda rng: lambda x, count: [make(rng, x) for _ in range(count)]


def integers(rng: Rng, deviation: float, size: Any) -> Any:
    return rng.normal(0, deviation, size).round()


def spread(change: Callable[[Any, Any, int], None]) -> Callable[[Rng], Any]:
    """Many integers, some of which are changed at places that are new in every run."""

    def made(rng: Rng) -> Any:
        def run(x: int, count: int) -> Any:
            rows = integers(rng, 1_000, (count, WIDTH))
            for row in rows:
                change(row, rng.permutation(WIDTH), x)
            return rows

        return run

    return made


def low(row: Any, places: Any, x: int) -> None:
    row[places[0]] -= 20_000 * x
    row[places[1:41]] += 500 * x


def high(row: Any, places: Any, x: int) -> None:
    row[places[0]] += 20_000 * x
    row[places[1:41]] -= 500 * x


def one_or_two(cell: float) -> Callable[[Rng], Any]:
    def put(row: Any, places: Any, x: int) -> None:
        row[places[: 1 + x]] = cell

    return spread(put)


def raising(name: Callable[[Rng, int], tuple[str, str]]) -> Callable[[Rng], Any]:
    """A mechanism of one argument that fails with an error of this class and text."""

    def made(rng: Rng) -> Any:
        def run(x: int) -> None:
            kind, text = name(rng, x)
            raise type(kind, (Exception,), {})(text)

        return run

    return made


def tail(rng: Rng, x: int, sign: int) -> int | None:
    """Mostly nothing, else a number; for one dataset it is now and then far out."""
    if rng.random() < 0.6:
        return None
    far = x and rng.random() < 0.1
    return sign * int(rng.integers(10**6, 2 * 10**6)) if far else int(integers(rng, 1_000, ()))


def with_or_without(rng: Rng, x: int) -> dict[str, float]:
    keys = [*random_words(rng, int(rng.integers(20, 60))), "a" if x else random_words(rng, 1)[0]]
    return dict.fromkeys(shuffled(rng, keys), math.nan)


def as_many_keys(rng: Rng, x: int) -> dict[str, str]:
    """Every known key is there half of the time: each by itself, or most of them together."""
    number = int(rng.binomial(60, rng.choice([0.2, 0.8]) if x else 0.5))
    keys = shuffled(rng, [*some_of(rng, POOL, number), *random_words(rng, 5)])
    return dict(zip(keys, random_words(rng, len(keys)), strict=True))


def as_many_new_keys(rng: Rng, x: int) -> dict[str, str]:
    """Always 40 keys, 20 of them known on average: about 20 each time, or few or most of them."""
    number = int(rng.binomial(40, rng.choice([0.2, 0.8]) if x else 0.5))
    keys = shuffled(rng, [*some_of(rng, POOL, number), *random_words(rng, 40 - number)])
    return dict(zip(keys, random_words(rng, len(keys)), strict=True))


def at_the_edge(rng: Rng, x: int, place: int) -> dict[str, int]:
    keys = shuffled(rng, list(string.ascii_lowercase[1:13]))
    keys.insert(place if x else int(rng.integers(1, 12)), "a")
    return dict.fromkeys(keys, 1)


def one_place(rng: Rng) -> Any:
    moved = np.zeros(WIDTH)
    moved[700] = 2_500
    return lambda x, count: integers(rng, 1_000, (count, WIDTH)) + x * moved


def late(_: Rng) -> Any:
    """A number that is now and then far out, which the first 200 runs of this seed do not show."""
    rng = generator(95)

    def run(x: int, count: int) -> Any:
        rows = integers(rng, 1_000, (count, 100))
        rows[np.arange(count), rng.integers(1, 100, count)] += rng.integers(10**7, 2 * 10**7, count)
        rows[:, 0] += 10**6 * (rng.random(count) < 0.015 * x)
        return rows

    return run


def opposed(rng: Rng) -> Any:
    """Numbers of which half move up and half down by a quarter of a deviation: their sum says nothing."""
    moved = np.where(np.arange(64) % 2, 250, -250)
    return lambda x, count: integers(rng, 1_000, (count, 64)) + x * moved


def gaussian(rng: Rng) -> Any:
    """Gaussian noise of mu 3, claimed rho 1."""
    return lambda x, count: integers(rng, 100, count) + 300 * x


def rare(rng: Rng) -> Any:
    """A bit that says nothing, but in one run of a hundred the data."""
    return lambda x, count: np.where(rng.random(count) < 0.01 * x, 5, rng.integers(0, 2, count))


def seldom_another(rng: Rng, x: int) -> dict[str, Any]:
    """A text that one dataset alone may change, beside a number with noise for epsilon 0.8."""
    text = "a" * 8 if x or rng.random() < 0.9 else random_words(rng, 1)[0]
    return {"text": text, "number": int(100 * (x + rng.laplace(0, 1 / 0.8)))}


def slow(rng: Rng) -> Any:
    return lambda x: time.sleep(0.05 * x)


def without_features(*names: str) -> AbstractContextManager[Any]:
    """The audit reads outcomes without these features; a name with * is a beginning."""
    read = features.Vocabulary.read

    def is_left(name: str) -> bool:
        return not any(name == gone or (gone[-1] == "*" and name.startswith(gone[:-1])) for gone in names)

    def fewer(self: features.Vocabulary, *given: Any, **words: Any) -> features.Columns:
        whole = read(self, *given, **words)
        numbers, categories = (
            {name: column for name, column in columns.items() if is_left(name)}
            for columns in (whole.numbers, whole.categories)
        )
        return features.Columns(numbers, categories, whole.count)

    return mock.patch.object(features.Vocabulary, "read", fewer)


def without_relation(relation: str) -> AbstractContextManager[Any]:
    made = events.Candidates._from.__func__  # type: ignore[attr-defined]

    def fewer(cls: type, counted: list[Any], *rest: Any) -> Any:
        return made(cls, [levels for levels in counted if levels.relation != relation], *rest)

    return mock.patch.object(events.Candidates, "_from", classmethod(fewer))


def without_score() -> AbstractContextManager[Any]:
    return mock.patch.object(
        events.Candidates, "of_score", lambda sides: events.Candidates._from([], sides.one.count, None)
    )


def without_farthest() -> AbstractContextManager[Any]:
    return mock.patch.object(events.Candidates, "farthest", return_value=None)


def without_highest() -> AbstractContextManager[Any]:
    return mock.patch.object(events.Candidates, "highest_bound", return_value=None)


def without_vocabulary() -> AbstractContextManager[Any]:
    """The first places are looked at, and not those that differ most."""
    return mock.patch.object(features, "_apart", lambda one, _: np.zeros(one.shape[1]))


def without_learning_again() -> AbstractContextManager[Any]:
    return mock.patch.object(samples, "_LEARN_AGAIN", math.inf)


def without_e_values() -> AbstractContextManager[Any]:
    return mock.patch.multiple(e_values.Wealth, refutes=False, lower_bound=0.0)


def without_bounds() -> AbstractContextManager[Any]:
    return mock.patch.object(statistical._Audit, "_bound", return_value=None)


@dataclass(frozen=True)
class Component:
    """A control, and how the component that finds it is taken away."""

    control: Callable[[Rng], Any]
    without: Callable[[], AbstractContextManager[Any]]
    samples: int = 300
    claim: Claim = ONE
    many: bool = True
    times: bool = False

    def verdict(self) -> Verdict:
        words = {"samples": self.samples, "alarm": ALARM, "many": self.many, "times": self.times}
        return audit(self.control(generator(7)), 0, 1, claim=self.claim, **words).verdict


def feature(name: str, control: Callable[[Rng], Any], **words: Any) -> Component:
    return Component(control, lambda: without_features(name), **words)


COMPONENTS = {
    "value": feature("value", lambda rng: lambda x, n: integers(rng, 500, n) + 1_000 * x, samples=1_000),
    "value - origin": feature("value - *", each(lambda rng, x: 2**70 + int(rng.integers(-3, 4)) + 9 * x)),
    "sum": feature("sum", lambda rng: lambda x, n: integers(rng, 1_000, (n, WIDTH)) + 150 * x),
    "smallest": feature("smallest", spread(low)),
    "largest": feature("largest", spread(high)),
    "lowest bit": feature("lowest bit", lambda rng: lambda x, n: x + rng.laplace(0, 1, n), samples=2_000),
    "decimals": feature(
        "decimals", lambda rng: lambda x, n: rng.normal(0, 3_000, n).round(1 + x), samples=1_000, claim=claim(epsilon=3)
    ),
    "NaNs": feature("NaNs", one_or_two(math.nan)),
    "+infinities": feature("+infinities", one_or_two(math.inf)),
    "-infinities": feature("-infinities", one_or_two(-math.inf)),
    "negative zeros": feature("negative zeros", lambda _: lambda x, n: np.full(n, -0.0 if x else 0.0)),
    "length": feature("length", each(as_many_keys)),
    "elsewhere": feature("elsewhere", each(as_many_new_keys)),
    "present": feature("present*", each(with_or_without)),
    "length of a text": feature("length of*", each(lambda rng, x: random_words(rng, 1, 5 + 2 * x)[0])),
    "text": feature("text of*", each(lambda rng, x: "ab" if x == (rng.random() < 0.95) else "ba")),
    "error": feature("error", raising(lambda rng, x: ("Late" if x else "Early", random_words(rng, 1)[0])), many=False),
    "error text": feature(
        "error text", raising(lambda rng, x: ("Failed", "ab" if x == (rng.random() < 0.95) else "ba")), many=False
    ),
    "type": feature("type", lambda _: lambda x, n: [np.float32(1) if x else 1.0] * n),
    "structure": feature("structure", each(lambda _, x: dict.fromkeys("acbd" if x else "abcd", 1))),
    "first place": feature("first place", each(lambda rng, x: at_the_edge(rng, x, 0)), samples=400),
    "last place": feature("last place", each(lambda rng, x: at_the_edge(rng, x, 12)), samples=400),
    "seconds": feature("seconds", slow, samples=100, many=False, times=True),
    "==": Component(
        lambda rng: lambda x, n: np.where(rng.random(n) < 0.03 * x, 123, integers(rng, 10_000, n)),
        lambda: without_relation("=="),
        samples=4_000,
    ),
    "!=": Component(each(seldom_another), lambda: without_relation("!="), samples=1_500),
    "<": Component(each(lambda rng, x: tail(rng, x, -1)), lambda: without_relation("<"), samples=4_000),
    ">=": Component(each(lambda rng, x: tail(rng, x, 1)), lambda: without_relation(">="), samples=4_000),
    "likelihood score": Component(opposed, without_score, samples=2_000),
    "highest bound": Component(gaussian, without_highest, samples=2_000, claim=claim(rho=1)),
    "farthest event": Component(rare, without_farthest, samples=9_000),
    "e-values": Component(
        lambda rng: lambda x, n: (100 * (x + rng.laplace(0, 1 / 1.5, n))).round(), without_e_values, samples=2_500
    ),
    "confidence bounds": Component(gaussian, without_bounds, samples=2_000, claim=claim(rho=1)),
    "vocabulary": Component(one_place, without_vocabulary, samples=500),
    "vocabulary, learned again": Component(late, without_learning_again, samples=6_000, claim=claim(epsilon=0.1)),
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_finds_a_control_that_is_missed_without_it(name):
    component = COMPONENTS[name]
    assert component.verdict() is Verdict.BROKEN
    with component.without():
        assert component.verdict() is not Verdict.BROKEN


def test_outcomes_that_show_nothing_are_void_and_without_the_feature_they_would_pass():
    def hidden(_: int, count: int) -> list[object]:
        return [object() for _ in range(count)]

    assert audit(hidden, 0, 1, claim=ONE, samples=100, many=True).verdict is Verdict.VOID
    with without_features("unseen"):
        assert audit(hidden, 0, 1, claim=ONE, samples=100, many=True).verdict is Verdict.NOTHING_FOUND
