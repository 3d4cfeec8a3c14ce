"""One number about a whole table: by a method whose noise follows the data, or by a function of blocks of rows."""

import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, ParameterError, Refusal, UnboundedError, UnsupportedError
from discreet.sandbox import Limits

T = dp.table("t")
AGES = [20 + i % 41 for i in range(2_000)]
ROWS = pa.table({"id": list(range(2_000)), "age": AGES, "cost": [age / 8 for age in AGES]})
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 1}
MEAN = T.agg(age=dp.mean("age", bounds=(0, 100)))
MEDIAN = T.agg(age=dp.median("age", bounds=(0, 100)))
WIDTH = T.agg(age=dp.interquartile_range("age", bounds=(0, 100)))
RESERVED = dp.Budget(epsilon=2, delta=2e-9, reserved_delta=1e-9)


@pytest.fixture
def session():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=10), **WORDS) as opened:
        yield opened


@pytest.fixture
def reserved():
    with dp.protect(ROWS, budget=RESERVED, **WORDS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (MEAN, sum(AGES) / 2_000),
        (MEDIAN, sorted(AGES)[999]),
        (WIDTH, sorted(AGES)[1499] - sorted(AGES)[499]),
        (T.agg(cost=dp.median("cost", bounds=(0, 10))), sorted(AGES)[999] / 8),
        (T.where(T.age < 0).agg(age=dp.median("age", bounds=(0, 100))), 0),
        (T.where(T.age < 0).agg(age=dp.mean("age", bounds=(0, 100))), 50),
    ],
    ids=["mean", "median", "quartiles", "real", "nobody", "mean of nobody"],
)
def test_without_noise_they_are_exact(query, expected):
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=1), **WORDS) as exact:
        made = exact.release(query, epsilon=0.5, method=dp.SmoothSensitivity())
    assert made.value == pytest.approx(expected, abs=0.01)
    assert not made.private


def test_a_number_is_charged_once_has_no_margin_and_a_repeat_is_free(session):
    first, again = (
        session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()),
        session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()),
    )
    assert (first.value, first.margin) == (again.value, None)
    assert (first.repeated, again.repeated) == (False, True)
    assert float(session.remaining()) == 9
    assert 0 <= first.value <= 100
    assert "Pareto" in first.made


def test_nothing_about_the_size_of_the_noise_is_stored_or_shown(session):
    made = session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity())
    about = {"schema", "library", "private", "dataset", "name", "confidence", "made", "guarantee", "receipt"}
    assert set(made.to_json()) == about | {"value", "margin", "document", "signature"}
    assert made.to_json()["margin"] is None


def test_a_promise_with_a_delta_gets_pareto_noise_at_the_cost_of_the_epsilon_asked_for(reserved):
    made = reserved.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity())
    assert "Pareto" in made.made
    assert "epsilon 0.5, delta 1e-09" in made.guarantee
    budget = reserved.ledger.budget(made.dataset)
    assert 0.999 * budget.rho(0.5) * 10**15 <= reserved.ledger.spent(made.dataset).renyi <= budget.rho(0.5) * 10**15


def test_noise_of_a_rho_may_ask_for_the_whole_promise(reserved):
    made = reserved.release(MEAN, epsilon=2, method=dp.SmoothSensitivity(noise="laplace_log_normal"))
    assert "epsilon 2, delta 1e-09" in made.guarantee
    assert float(reserved.remaining()) == 0


def test_laplace_noise_takes_its_delta_from_what_was_reserved(reserved):
    made = reserved.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace", delta=1e-10))
    assert "delta 1.1e-09" in made.guarantee
    with pytest.raises(BudgetError):
        reserved.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace", delta=1e-9))
    with pytest.raises(ParameterError):
        reserved.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace"))


def test_a_pure_promise_takes_no_noise_with_a_delta(session):
    with pytest.raises(BudgetError):
        session.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace", delta=1e-9))
    with pytest.raises(BudgetError):
        session.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace_log_normal"))


def test_a_proposed_bound_has_a_public_margin_and_costs_the_same_where_the_test_fails(reserved):
    """A bound of 5 is 1,900 units away and the threshold 40 or so: passing fails in fewer than 1e-100 of runs."""
    made = reserved.release(MEAN, epsilon=1, method=dp.ProposedBound(bound=5, delta=1e-10))
    assert made.margin > 0
    before = float(reserved.remaining())
    too_small = reserved.release(MEAN, epsilon=1, fresh=True, method=dp.ProposedBound(bound=0.001, delta=1e-10))
    assert too_small.value is None
    assert "nothing" in str(too_small)
    assert too_small.margin is None
    assert float(reserved.remaining()) < before
    assert 0 <= made.value <= 100


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (T.agg(n=dp.count()), UnsupportedError),
        (T.agg(a=dp.mean("age", bounds=(0, 1)), b=dp.mean("age", bounds=(0, 2))), UnsupportedError),
        (T.agg(m=dp.median("age")), UnboundedError),
        (T.agg(m=dp.median("age", bounds=(0, 10**6), grid=1)), ParameterError),
        (T.group_by("age", keys={"age": [1]}).agg(m=dp.median("cost", bounds=(0, 10))), UnsupportedError),
    ],
)
def test_what_has_no_noise_that_fits_is_refused(session, query, error):
    with pytest.raises(error):
        session.release(query, epsilon=1, method=dp.SmoothSensitivity())


def test_a_default_grid_is_as_coarse_as_the_bounds_are_wide():
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=1), **WORDS) as exact:
        made = exact.release(T.agg(m=dp.median("age", bounds=(0, 10**6))), epsilon=0.5, method=dp.SmoothSensitivity())
    assert made.value == 0


def test_a_distance_between_quartiles_in_a_release_is_refused_with_the_call_that_answers_it(session):
    asked = T.agg(width=dp.interquartile_range("age", bounds=(0, 100)))
    with pytest.raises(UnsupportedError, match=r"method=dp.SmoothSensitivity\(\)"):
        session.release(asked, epsilon=1)


def test_the_same_median_may_be_released_with_a_margin_or_have_noise_that_fits(session):
    assert session.release(MEDIAN, epsilon=1).outputs[0].margin_of == "ranks"
    assert session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()).margin is None


@pytest.mark.parametrize(
    ("method", "margin"),
    [(dp.SmoothSensitivity(), None), (dp.ProposedBound(bound=5, delta=1e-10), "public")],
    ids=["smooth", "proposed"],
)
def test_a_method_is_explained_for_free_as_it_is_charged(reserved, method, margin):
    """A bound of 5 is 1,900 units away and the threshold 40 or so: the test fails in fewer than 1e-100 of runs."""
    explained = reserved.explain(MEAN, epsilon=1, method=method)
    (output,) = explained.outputs
    assert reserved.remaining().epsilon == 2
    assert (output.name, output.kind, explained.groups, explained.fits) == ("age", "estimate", 1, True)
    made = reserved.release(MEAN, epsilon=1, method=method)
    assert vars(reserved.ledger.spent("t")) == explained.units
    assert "epsilon 1 at delta" in explained.cost
    if margin is None:
        assert output.margin is made.margin is None
        assert "not public: it follows the smooth sensitivity" in str(explained)
    else:
        assert float(output.margin) == pytest.approx(made.margin)
    assert not reserved.explain(MEAN, epsilon=2, method=method).fits


def test_the_least_epsilon_of_a_method_meets_the_margin_where_it_is_public(reserved):
    proposed = dp.ProposedBound(bound=5, delta=1e-10)
    epsilon = reserved.epsilon_for(MEDIAN, margin=20, method=proposed)
    assert reserved.explain(MEDIAN, epsilon=epsilon, method=proposed).outputs[0].margin <= 20
    assert reserved.explain(MEDIAN, epsilon=0.99 * epsilon, method=proposed).outputs[0].margin > 20
    with pytest.raises(ParameterError, match="margin is not public in advance"):
        reserved.epsilon_for(MEDIAN, margin=20, method=dp.SmoothSensitivity())
    assert reserved.remaining().epsilon == 2


def test_two_methods_and_two_bounds_are_different_questions(reserved):
    methods = [
        dp.SmoothSensitivity(),
        dp.SmoothSensitivity(noise="laplace", delta=1e-10),
        dp.ProposedBound(bound=5, delta=1e-10),
        dp.ProposedBound(bound=6, delta=1e-10),
    ]
    for method in methods:
        assert not reserved.release(MEDIAN, epsilon=0.1, method=method).repeated
    assert all(reserved.release(MEDIAN, epsilon=0.1, method=method).repeated for method in methods)


# A function of blocks

PAIRS = pa.table({"id": [i // 2 for i in range(400)], "x": [40 + i % 21 for i in range(400)]})
PAIRED = {"name": "t", "privacy_unit": "id", "max_rows": 2}
BLOCKS = {"columns": ["x"], "blocks": 8, "bounds": (0, 100), "limits": Limits(seconds=5, constant_time=False)}


@pytest.fixture
def sampled():
    with dp.protect(PAIRS, budget=dp.Budget(epsilon=20, ceiling=20, reason="a test"), **PAIRED) as opened:
        yield opened


def mean(table):
    column = table["x"].to_pylist()
    return sum(column) / len(column)


def raising(table):
    raise ValueError(table["x"].to_pylist())


@pytest.mark.parametrize("aggregate", ["mean", "median", "mean with bounds of its own"])
def test_without_noise_the_answers_of_blocks_are_aggregated(aggregate):
    with dp.testing.protect(PAIRS, budget=dp.Budget(epsilon=1), **PAIRED) as exact:
        made = exact.release(T.apply(mean, aggregate=aggregate, **BLOCKS), epsilon=0.5)
    assert 45 < made.value < 55
    assert not made.private


def test_a_mean_of_blocks_has_the_margin_of_its_noise_and_its_receipt(sampled):
    """Noise of scale 100/(8 20) = 0.6: within 12 of 50 but for 1e-8."""
    made = sampled.release(T.apply(mean, **BLOCKS), epsilon=20)
    assert made.name == "mean"
    assert made.value == pytest.approx(50, abs=13)
    assert 0 < made.margin < 3
    assert "8 chunks, each in a process of its own" in made.made
    assert float(sampled.remaining()) == 0


def test_a_function_that_fails_everywhere_gives_its_default_and_no_word_of_why(sampled, caplog, capfd):
    """The default is 70 in all 8 blocks; noise of scale 1.25 stays within 20 of it but for 1e-6."""
    made = sampled.release(T.apply(raising, default=70, **BLOCKS), epsilon=10)
    assert made.value == pytest.approx(70, abs=20)
    assert "ValueError" not in caplog.text + "".join(capfd.readouterr())


def test_two_functions_are_two_questions(sampled):
    sampled.release(T.apply(mean, **BLOCKS), epsilon=1)
    assert not sampled.release(T.apply(raising, **BLOCKS), epsilon=1).repeated
    assert float(sampled.remaining()) == 18


@pytest.mark.parametrize(
    "words",
    [
        {"columns": "x"},
        {"columns": []},
        {"columns": ["nothing"]},
        {"blocks": 1},
        {"bounds": (1, 1)},
        {"aggregate": "max"},
    ],
    ids=lambda words: next(iter(words)),
)
def test_what_cannot_be_sampled_is_refused_before_anything_is_charged(sampled, words):
    with pytest.raises(Refusal):
        sampled.release(T.apply(mean, **BLOCKS | words), epsilon=1)
    assert float(sampled.remaining()) == 20


def test_the_owner_allows_modules_when_the_session_is_opened_and_no_question_can_add_one():
    def counted(table):
        import csv  # noqa: PLC0415 - it travels

        return csv.QUOTE_ALL + len(table["x"])

    budget = dp.Budget(epsilon=1)
    with dp.protect(PAIRS, budget=budget, ledger=":memory:", **PAIRED) as session:
        with pytest.raises(ParameterError, match="needs the module 'csv'") as refusal:
            session.release(T.apply(counted, **BLOCKS), epsilon=1)
        assert 'dp.protect(..., modules=("csv",))' in refusal.value.instead
        with pytest.raises(TypeError, match="modules"):
            T.apply(counted, modules=("csv",), **BLOCKS)
        with pytest.raises(TypeError, match="modules"):
            session.release(T.apply(counted, **BLOCKS), epsilon=1, modules=("csv",))
        assert float(session.remaining()) == 1
    with dp.testing.protect(PAIRS, budget=budget, modules=("csv",), **PAIRED) as exact:
        assert exact.release(T.apply(counted, **BLOCKS), epsilon=1).value == 51
    with pytest.raises(ParameterError, match="modules="):
        dp.testing.protect(PAIRS, budget=budget, modules=("venv.__main__",), **PAIRED)


def test_a_text_is_a_function_with_the_name_of_its_def_and_one_that_is_broken_is_not_charged(sampled):
    text = "def half(table):\n    import numpy as np\n    return np.mean(table['x'].to_numpy()) / 2"
    with pytest.raises(ParameterError, match="SyntaxError"):
        sampled.release(T.apply(text + ")", **BLOCKS), epsilon=1)
    assert float(sampled.remaining()) == 20
    made = sampled.release(T.apply(text, **BLOCKS), epsilon=20)
    assert made.name == "half"
    assert made.value == pytest.approx(25, abs=13)
    assert sampled.release(T.apply(text, **BLOCKS), epsilon=20).repeated


@pytest.mark.parametrize("function", ["mean", 7, None])
def test_a_function_is_asked_for(sampled, function):
    with pytest.raises(Refusal):
        sampled.release(T.apply(function, **BLOCKS), epsilon=1)
    assert float(sampled.remaining()) == 20


def test_other_limits_are_another_question_and_sqlite_files_are_sampled_too(tmp_path):
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE t (id INTEGER, x INTEGER)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(i, 50) for i in range(40)])
    with dp.testing.protect(path, table="t", budget=dp.Budget(epsilon=1), **PAIRED) as exact:
        assert exact.release(T.apply(mean, **BLOCKS), epsilon=0.1).value == 50
        other = exact.release(T.apply(mean, **BLOCKS | {"limits": Limits(seconds=6, constant_time=False)}), epsilon=0.1)
        assert not other.repeated


def test_a_function_is_explained_for_free_as_it_is_charged(sampled):
    question = T.apply(mean, **BLOCKS)
    explained = sampled.explain(question, epsilon=2)
    (output,) = explained.outputs
    assert float(sampled.remaining()) == 20
    assert (output.name, output.kind, explained.groups, explained.fits) == ("mean", "estimate", 1, True)
    assert explained.columns_read == ("id", "x")
    made = sampled.release(question, epsilon=2)
    assert vars(sampled.ledger.spent("t")) == explained.units
    assert float(output.margin) == pytest.approx(made.margin)
    assert not sampled.explain(question, epsilon=19).fits


def test_the_least_epsilon_of_a_function_meets_the_margin(sampled):
    question = T.apply(mean, **BLOCKS)
    epsilon = sampled.epsilon_for(question, margin=10)
    assert sampled.explain(question, epsilon=epsilon).outputs[0].margin <= 10
    assert sampled.explain(question, epsilon=0.99 * epsilon).outputs[0].margin > 10
    with pytest.raises(ParameterError, match="margin is not public in advance"):
        sampled.epsilon_for(T.apply(mean, aggregate="median", **BLOCKS), margin=10)
    assert float(sampled.remaining()) == 20


def test_a_function_that_the_sandbox_cannot_run_is_refused_by_explain_too(sampled):
    with pytest.raises(ParameterError, match="SyntaxError"):
        sampled.explain(T.apply("def half(table):\n    return 1)", **BLOCKS), epsilon=1)


def test_laplace_noise_without_a_delta_is_refused_with_a_call_that_works(reserved):
    with pytest.raises(dp.errors.ParameterError, match="without a delta of its own") as refusal:
        reserved.explain(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace"))
    assert 'dp.SmoothSensitivity(noise="laplace", delta=1e-10)' in refusal.value.instead
    assert reserved.explain(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace", delta=1e-10)).fits
