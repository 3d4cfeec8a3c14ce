"""Random input for readers of untrusted text: every outcome is a value or an error of discreet, and errors are quick.

By hand, from the folder above, for as long as one likes:

    PYTHONPATH=src:tests python tests/query/sql/fuzz.py --minutes 4 --seed 1
    PYTHONPATH=src:tests python tests/catalog/fuzz.py --minutes 3 --seed 1
    PYTHONPATH=src:tests python tests/release/fuzz.py --minutes 3 --seed 1
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

from discreet.errors import DiscreetError
from loops import a_second

Read = Callable[[], object]
Attempt = Callable[[random.Random], tuple[str, Read]]

MOST_SECONDS = 0.1
"""Time of a processor that an error may take in a run by hand; a test allows a second of an ordinary machine."""
ODD = (
    *("", " ", "\n", "\t", "\r", "\x00", "\x1b[31m", "\x85", "\u2028", "\ufeff", "\u202e", "\udc80", "\U0001f600"),
    *("0", "-1", "1e999", "9" * 400, "0x1F", "nan", ".inf", "true", "null", "~", "''", '""', "'", '"', "`", "\\", "%"),
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        ": ",
        "- ",
        "#",
        "&a ",
        "*a",
        "!!python/object:os.system ",
        "<<: ",
        "|",
        ">",
    ),
    *(
        "[" * 40,
        "{a: " * 40,
        "(" * 40,
        "[" * 3_000,
        '{"a":' * 3_000,
        "- " * 400,
        "DECIDE",
        "../../etc/passwd",
        ";",
        "--",
        "/*",
    ),
)


def mutate(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """A text with parts dropped, doubled, moved, replaced by odd ones, or taken from another text."""
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice((0, 1, 1, 2, 5, 20, 100)))
        other = draw.choice(others)
        begin = draw.randrange(len(other) + 1)
        part = {
            0: "",
            1: text[start:end] * 2,
            2: draw.choice(ODD),
            3: draw.choice(ODD) + text[start:end] + draw.choice(ODD),
            4: other[begin : begin + draw.choice((1, 10, 80))],
            5: text[start:end].swapcase()[::-1],
        }[draw.randrange(6)]
        text = text[:start] + part + text[end:]
    return text


def run(
    attempt: Attempt, seconds: float, seed: int, most: int | None = None, most_seconds: float | None = None
) -> Counter[str]:
    """Try input for a while; anything but a value or an error of discreet is raised with the input beside it.

    "slow" counts errors that took more than `most_seconds` twice. By default that is measured with a plain loop, so
    that no test depends on the machine.
    """
    allowed = a_second() if most_seconds is None else most_seconds
    draw, found = random.Random(seed), Counter[str]()  # noqa: S311 - tests need no secret
    end = time.monotonic() + seconds
    while time.monotonic() < end and (most is None or found["accepted"] + found["refused"] < most):
        text, read = attempt(draw)
        try:
            is_refused, taken = _try(read)
            if is_refused and taken > allowed:
                taken = min(taken, _try(read)[1])
        except Exception as error:
            raise AssertionError(text[:5_000]) from error
        found["refused" if is_refused else "accepted"] += 1
        found["slow"] += is_refused and taken > allowed
    return found


def _try(read: Read) -> tuple[bool, float]:
    started = time.process_time()
    try:
        read()
    except DiscreetError:
        return True, time.process_time() - started
    return False, time.process_time() - started


def main(attempt: Attempt) -> None:
    """The command line of a fuzzer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(dict(run(attempt, 60 * given.minutes, given.seed, most_seconds=MOST_SECONDS)))
