"""Range queries worth answering: any number of ranges for one price, and numbers for those that hold many people.

Most ranges that anybody thinks of hold few people, and a noisy count of few says nothing. AboveThreshold tells, range
by range, whether it holds about `threshold` people or more, and gives the count of those, until c were given. The price
does not depend on how many ranges are asked.

Theorem. One person moves every count by at most 1, all of them one way under add_remove, so a sparse vector of epsilon
is epsilon-DP in all, c counts included. With probability at least 1 - beta, over k ranges: every range that is answered
holds at least threshold - alpha people, every one that is passed over holds fewer than threshold + alpha, and
alpha = vector.accuracy(k, 1 - beta), of order c^(2/3) (c^(1/3) ln(k/beta) + ln(1/beta))/epsilon. Half of epsilon
goes into the counts that are given: noise of scale 2c/epsilon on each. To answer all k ranges would put noise of scale
k/epsilon on each.

Reference: Dwork, Naor, Reingold, Rothblum and Vadhan, On the Complexity of Differentially Private Data Release, STOC
2009; Lyu, Su and Li, Understanding the Sparse Vector Technique for Differential Privacy, PVLDB 10(6), 2017.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import discreet as dp
from discreet.mechanisms.threshold import Above

Range = tuple[int, int]


@dataclass(frozen=True)
class Found:
    """The ranges that were worth answering, how many were looked at, and how near the threshold one may be wrong."""

    counts: dict[Range, int | Fraction]
    asked: int
    accuracy: int | Fraction


def intervals(low: int, high: int, step: int) -> Iterator[Range]:
    """All ranges with ends on a grid, the narrow ones first: a wide range is of interest where no narrow one is."""
    for width in range(step, high - low + 1, step):
        for start in range(low, high - width + 1, step):
            yield start, start + width


def worth_answering(
    session: dp.Session,
    table: str,
    column: str,
    ranges: Iterable[Range],
    *,
    threshold: int,
    epsilon: float,
    answers: int,
    confidence: float = 0.95,
) -> Found:
    """The first so many ranges [start, end) that hold about the threshold or more, with their counts."""
    counts: dict[Range, int | Fraction] = {}
    listed, rows = list(ranges), dp.table(table)
    with session.above_threshold(
        table, threshold=threshold, epsilon=epsilon, answers=answers, monotone=True, with_answers=True
    ) as vector:
        for start, end in listed:
            if any(start <= a and b <= end for a, b in counts):
                continue
            inside = rows.where((rows[column] >= start) & (rows[column] < end))
            reply = vector.ask(inside.agg(n=dp.count()))
            if isinstance(reply, Above) and reply.answer is not None:
                counts[start, end] = reply.answer
            if not vector.left:
                break
        return Found(counts, vector.asked, vector.accuracy(len(listed), confidence))


def main() -> None:
    """Where hours of work crowd together: ranges of hours of 20,000 invented people, for epsilon 1 in all."""
    people = dp.datasets.people(20_000)
    with dp.protect(
        people,
        name="people",
        privacy_unit="person_id",
        max_rows=1,
        budget=dp.Budget(epsilon=1),
        ledger=":memory:",
    ) as session:
        ranges = list(intervals(2, 90, 2))
        found = worth_answering(
            session, "people", "hours_per_week", ranges, threshold=2_000, epsilon=1, answers=3, confidence=0.99
        )
    print(f"{found.asked} of {len(ranges):,} ranges looked at; a range within {found.accuracy} of 2,000 may be missed")
    for (start, end), count in found.counts.items():
        print(f"{start} to {end} hours: about {count:,} people")


if __name__ == "__main__":
    main()
