"""Choosing a clipping bound privately, then the mean of a skewed column.

A mean needs bounds, because one person could move it without limit otherwise. Too wide, and the noise, which grows with
the bound, drowns the answer; too narrow, and clipping bends it; and nobody should read the bound off the data. Here it
is chosen with a part of the budget, among candidates that each are a quarter above the last: the one that about so many
values lie below as there are people, less a few that can be told from nobody.

Theorem. Of epsilon, a tenth goes into a count n', a fifth into the choice, the rest into the mean, and they add. The
score of a candidate is minus the distance of the number of values below it from the target n' - 3w; one person moves it
by at most 1, so but for a probability of beta the chosen candidate is at most w = (10/epsilon) (ln m + ln 1/beta)
farther from the target than the best of m is. So if some candidate is within w of the target, and n' is off by less
than w, the chosen one has at least n - 6w values below it, and fewer than n: it is not beyond the data, where all
bounds look alike and the noise is as wide as one likes. The mean is clipped at twice the chosen candidate, since those
above it may lie far out, and twice the noise is still little: of scale bound/(0.7 epsilon n), about.

A target of, say, 99% of n is a mistake where 1% of people are fewer than w: bounds beyond all data are then as good.
Missing values lie below no bound: they must not be in the count either.
"""

from dataclasses import dataclass
from fractions import Fraction

import discreet as dp


@dataclass(frozen=True)
class Clipped:
    """A mean, the candidate that was chosen for it, the target of the choice, and how far from it is still good."""

    mean: float
    chosen: int
    target: int
    within: Fraction

    @property
    def bound(self) -> int:
        """What values were clipped to."""
        return 2 * self.chosen


def candidates(highest: int) -> list[int]:
    """Bounds from 1 on, each a quarter above the last, rounded up."""
    bounds = [1]
    while bounds[-1] < highest:
        bounds.append(bounds[-1] * 5 // 4 + 1)
    return bounds


def clipped_mean(
    session: dp.Session, table: str, column: str, *, highest: int, epsilon: float, beta: float = 0.05
) -> Clipped:
    """The mean of a column of values from 0 on, clipped to a bound that is found on the way."""
    rows, bounds, total = dp.table(table), candidates(highest), Fraction(str(epsilon))
    known = rows.where(~rows[column].is_missing())
    choosing = dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=total / 5)
    within = choosing.utility(len(bounds), beta)
    count = session.release(known.agg(n=dp.count()), epsilon=total / 10).value()
    target = max(0, round(count - 3 * within))
    score = dp.score(by=column, side="below", near=target)
    chosen = int(session.release(known.choose(bounds, score=score), epsilon=total / 5).value)
    mean = fixed_mean(session, table, column, bound=2 * chosen, epsilon=total * 7 / 10)
    return Clipped(mean, chosen, target, within)


def fixed_mean(session: dp.Session, table: str, column: str, *, bound: int, epsilon: float | Fraction) -> float:
    """The same with a bound that somebody knows, or guesses."""
    return float(session.release(dp.table(table).agg(m=dp.mean(column, bounds=(0, bound))), epsilon=epsilon).value())


def main() -> None:
    """Incomes of 20,000 invented people at epsilon 0.5: a bound found on the way, and two that were guessed."""
    people = dp.datasets.people(20_000)
    incomes = people["income"].to_pylist()
    print(f"the mean income is {sum(incomes) / len(incomes):,.0f}")
    for guess in (None, 2**14, 2**30):
        with dp.protect(
            people,
            name="people",
            privacy_unit="person_id",
            max_rows=1,
            budget=dp.Budget(epsilon=0.5),
            ledger=":memory:",
        ) as session:
            if guess is None:
                found = clipped_mean(session, "people", "income", highest=2**30, epsilon=0.5)
                print(f"bound {found.bound:,}, found: {found.mean:,.0f}")
            else:
                mean = fixed_mean(session, "people", "income", bound=guess, epsilon=0.5)
                print(f"bound {guess:,}, guessed: {mean:,.0f}")


if __name__ == "__main__":
    main()
