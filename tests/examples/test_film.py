"""Three films are chosen near the three best, and nobody counts for more than one rating of a film."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from examples import film

FILMS = [f"film {number}" for number in range(1, 41)]
BETA = 1e-6


@pytest.fixture(scope="module")
def ratings():
    return film.invented_ratings(3_000, FILMS, seed=9)


def stars_of(ratings):
    """The most that each film can sum to and the least, as a person's ratings of one film count once."""
    frame = ratings.to_pandas().groupby(["film", "person"])["stars"]
    return frame.max().groupby("film").sum(), frame.min().groupby("film").sum()


def test_each_chosen_film_is_within_the_theorem_of_the_best(ratings):
    """It fails with probability at most 1e-6; of several ratings of one film by one person any may be the one."""
    chosen = film.best_films(ratings, FILMS, epsilon=1)
    most, least = stars_of(ratings)
    best = sorted(least, reverse=True)
    within = dp.mechanisms.TopK(k=3, sensitivity=5, epsilon=1, monotone=True).utility(len(FILMS), BETA)
    for place, name in enumerate(chosen.values):
        assert most[name] >= best[place] - within
    assert len(set(chosen.values)) == 3


def test_without_noise_the_three_best_are_chosen_in_order(ratings, monkeypatch):
    monkeypatch.setattr(dp, "protect", dp.testing.protect)
    once = pa.Table.from_pandas(ratings.to_pandas().drop_duplicates(["person", "film"]), preserve_index=False)
    sums = once.to_pandas().groupby("film")["stars"].sum().sort_values(ascending=False)
    assert list(film.best_films(once, FILMS, epsilon=1).values) == list(sums.index[:3])
    points = once.to_pandas().assign(points=lambda rows: rows["stars"] - 3)
    liked = points.groupby("film")["points"].sum().sort_values(ascending=False)
    assert list(film.best_films(once, FILMS, epsilon=1, likes=True).values) == list(liked.index[:3])


def test_somebody_who_rates_one_film_ten_thousand_times_counts_once(ratings, monkeypatch):
    monkeypatch.setattr(dp, "protect", dp.testing.protect)
    rater = pa.table({"person": np.full(10_000, 10**6), "film": ["film 40"] * 10_000, "stars": np.full(10_000, 5)})
    assert "film 40" not in film.best_films(pa.concat_tables([ratings, rater]), FILMS, epsilon=1).values


def test_the_price_does_not_depend_on_how_many_films_one_person_rates(ratings):
    """One epsilon, a top 3, and the utility of scores that move one way; likes move both ways."""
    chosen = film.best_films(ratings, FILMS, epsilon=1)
    liked = film.best_films(ratings, FILMS, epsilon=1, likes=True)
    stars = dp.mechanisms.TopK(k=3, sensitivity=5, epsilon=1, monotone=True)
    points = dp.mechanisms.TopK(k=3, sensitivity=3, epsilon=1)
    assert chosen.within == stars.utility(len(FILMS), 0.05)
    assert liked.within == points.utility(len(FILMS), 0.05)
    assert "epsilon 1, for one person" in chosen.guarantee


def test_the_account_is_short(capsys):
    film.main()
    assert len(capsys.readouterr().out.splitlines()) == 8
