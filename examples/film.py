"""Three films by their ratings: people rate many films, and no rating leaves.

Theorem. A person rates each film at most once (only one of their ratings of a film counts), with 0 to 5 stars. A film's
score is the sum of its stars: somebody who comes or goes moves every film's score by at most 5, all one way, *however
many films they rated*. So one selection of epsilon is epsilon-DP for everything that somebody ever rated, where a table
of all sums would have to divide epsilon by the number of films that one person may count for. The top k of m films at
epsilon are k selections at epsilon/k, drawn at once: with probability at least 1 - beta, for every j the j-th chosen is
within (5 k/epsilon) (ln m + ln k/beta) of the j-th best.

A sum is large for films that many have seen. For films that people like, score stars minus 3 with bounds (-3, 2): films
with many bad ratings then fall behind. Such scores move both ways: the noise is that of 2 x 3 stars in place of 5.
"""

import numpy as np
import pyarrow as pa

import discreet as dp


def best_films(
    ratings: pa.Table, films: list[str], *, epsilon: float, top: int = 3, likes: bool = False
) -> dp.Selection:
    """The films with the most stars (or, by likes, with the most above three), for one epsilon per person."""
    with dp.protect(
        ratings,
        name="ratings",
        privacy_unit="person",
        max_rows_per_group=1,
        budget=dp.Budget(epsilon=epsilon),
        ledger=":memory:",
    ) as session:
        rows = dp.table("ratings")
        judged = rows.derive(points=rows.stars - 3 if likes else rows.stars)
        stars = dp.sum("points", bounds=(-3, 2) if likes else (0, 5))
        return session.release(judged.choose(films, score=dp.score(by="film", of=stars), top=top), epsilon=epsilon)


def invented_ratings(people: int, films: list[str], *, seed: int) -> pa.Table:
    """Everybody rates one to forty films; the first of the list are seen by most, and every third is disliked."""
    rng = dp.testing.generator(seed)
    persons = np.repeat(np.arange(people), rng.integers(1, 41, people))
    seen = np.minimum(rng.geometric(0.05, len(persons)) - 1, len(films) - 1)
    stars = np.where(seen % 3 == 0, rng.integers(0, 4, len(persons)), rng.integers(2, 6, len(persons)))
    return pa.table({"person": persons, "film": np.array(films)[seen], "stars": stars})


def main() -> None:
    """Two thousand people and a hundred films."""
    films = [f"film {number}" for number in range(1, 101)]
    ratings = invented_ratings(2_000, films, seed=4)
    print("most stars:", best_films(ratings, films, epsilon=1))
    print("most liked:", best_films(ratings, films, epsilon=1, likes=True))


if __name__ == "__main__":
    main()
