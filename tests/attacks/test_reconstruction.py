"""Linear programming gives bits back from answers that are nearly right, and a ledger ends it."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest

import discreet as dp
from discreet.attacks import reconstruction
from discreet.attacks.outcome import best_guess
from discreet.errors import BudgetError, ParameterError

PEOPLE, QUESTIONS, CROWD = 64, 256, 256


@pytest.fixture
def generator():
    return dp.testing.generator(11)


@pytest.fixture
def bits(generator):
    return reconstruction.secret_bits(PEOPLE, generator=generator)


def clinic(bits, protect=dp.protect, **words):
    rows = pa.table({"person": np.arange(len(bits)), "positive": bits})
    given = {"budget": dp.Budget(epsilon=1), "ledger": ":memory:"} | words
    return rows, protect(rows, name="clinic", privacy_unit="person", max_rows=1, **given)


WORDS = {"table": "clinic", "person": "person", "value": "positive"}


def test_exact_answers_give_every_bit_back(bits, generator):
    outcome = reconstruction.against(reconstruction.exact(bits), bits, questions=QUESTIONS, generator=generator)
    assert (outcome.recovered, outcome.answered, outcome.refusal) == (PEOPLE, QUESTIONS, None)
    assert "64 of 64 bits (100%)" in outcome.inference


def test_the_solution_is_that_of_the_equations(generator):
    subsets = generator.integers(0, 2, (40, 12)).astype(bool)
    bits = generator.integers(0, 2, 12).astype(bool)
    assert reconstruction.solve(subsets, (subsets @ bits.astype(int)).tolist()).tolist() == bits.tolist()


def test_rounding_to_five_gives_the_bits_back():
    """Seeded and without noise, so it is the same every time."""
    generator = dp.testing.generator(2)
    bits = reconstruction.secret_bits(generator=generator)
    outcome = reconstruction.against(reconstruction.rounding(bits), bits, largest_error=2.5, generator=generator)
    assert outcome.people == 128
    assert outcome.answered == 640
    assert outcome.share == 1


@pytest.mark.statistical(false_alarm=1e-6)
def test_fresh_noise_for_every_answer_gives_the_bits_back(samples):
    """No bit of 2,560 was wrong in 20 runs; were one in 200 wrong, 13 of 128 would be with odds below 1e-11."""
    generator = dp.testing.generator(3)
    for _ in range(samples(1)):
        bits = reconstruction.secret_bits(generator=generator)
        outcome = reconstruction.against(reconstruction.noisy(bits, epsilon=1), bits, generator=generator)
        assert outcome.share > 0.9
        assert outcome.total_epsilon is None


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_total_epsilon_of_one_leaves_little_more_than_guessing(samples):
    """The mean of 4 runs of 128 bits: above 65% is six deviations from a guess, with odds below 1e-8."""
    curve = reconstruction.curve([1], runs=samples(4), generator=dp.testing.generator(4))
    ((total, share, spread),) = curve.points
    assert total == 1
    assert share <= 0.65
    assert spread > 0


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_ledger_stops_the_questions_of_an_impatient_attacker(generator, samples):
    """Ten answers about 256 bits, whose guesses depend on each other: shares of 60 runs had mean 51%, deviation 3.2%.

    70% is six deviations above, with odds below 1e-8.
    """
    rows, session = clinic(reconstruction.secret_bits(samples(CROWD), generator=generator))
    with session:
        outcome = reconstruction.against_session(
            session, rows, **WORDS, epsilon=0.1, questions=QUESTIONS, generator=generator
        )
        assert session.remaining().epsilon == 0
        with pytest.raises(BudgetError):
            session.release(dp.table("clinic").agg(n=dp.count()), epsilon=0.1)
    assert (outcome.asked, outcome.answered) == (QUESTIONS, 10)
    assert outcome.refusal.startswith("a charge of epsilon 0.1 on 'clinic'")
    assert outcome.share <= 0.7
    assert outcome.total_epsilon == pytest.approx(1)
    assert "query 11 of 256 was refused by the ledger" in outcome.inference
    assert "88% of cases, since another bit is a row removed and a row added" in outcome.with_epsilon


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_patient_attacker_gets_all_answers_and_little_from_them(generator, samples):
    """120 questions at a 120th of epsilon each: shares of 20 runs had mean 50% and deviation 2.5%.

    70% is more than six deviations above, also if the true one is 3.2%: odds below 1e-8.
    """
    rows, session = clinic(reconstruction.secret_bits(samples(CROWD), generator=generator))
    with session:
        outcome = reconstruction.against_session(
            session, rows, **WORDS, epsilon=dp.mechanisms.Laplace(sensitivity=1, epsilon=1).epsilon / 120, questions=120
        )
    assert (outcome.answered, outcome.refusal) == (120, None)
    assert outcome.share <= 0.7
    assert outcome.total_epsilon == pytest.approx(1)


def test_under_a_promise_with_a_delta_the_total_is_the_promise(bits, generator):
    rows, session = clinic(bits, budget=dp.Budget(epsilon=1, delta=1e-9))
    with session:
        outcome = reconstruction.against_session(session, rows, **WORDS, epsilon=0.1, questions=5, generator=generator)
    assert (outcome.total_epsilon, outcome.total_delta) == (1, 1e-9)


def test_a_session_for_tests_gives_everything_away_and_says_so(bits, generator):
    rows, session = clinic(bits, protect=dp.testing.protect, budget=dp.Budget(epsilon=10))
    with session:
        outcome = reconstruction.against_session(
            session, rows, **WORDS, epsilon=0.05, questions=150, generator=generator
        )
    assert outcome.share == 1
    assert outcome.total_epsilon is None
    assert "dp.testing" in outcome.has


def test_numbers_and_names_serve_as_well_as_booleans(generator):
    rows = pa.table({"person": ["a", "b", "c", "d"], "positive": [1, 0, 0, 1]})
    with dp.testing.protect(
        rows, name="clinic", privacy_unit="person", max_rows=1, budget=dp.Budget(epsilon=1)
    ) as session:
        outcome = reconstruction.against_session(
            session, rows, **WORDS, epsilon=0.01, questions=20, generator=generator
        )
    assert outcome.recovered == 4


@pytest.mark.parametrize("to", [1, 5])
def test_a_table_of_secrets_comes_back_from_rounded_counts(bits, generator, to):
    outcome = reconstruction.against_table(
        pa.table({"positive": bits}), value="positive", to=to, questions=QUESTIONS, generator=generator
    )
    assert outcome.share == 1 if to == 1 else outcome.share > 0.9
    assert ("exactly" in outcome.has) == (to == 1)


def test_a_refusal_before_the_first_answer_leaves_a_guess(bits):
    def refusing(_):
        raise BudgetError("a charge", because="nothing is left", instead="nothing")

    outcome = reconstruction.against(refusing, bits, questions=3)
    assert outcome.answered == 0
    assert outcome.refusal.startswith("a charge")


def test_an_error_bound_that_no_bits_fit_is_refused(generator):
    subsets = np.ones((2, 3), dtype=bool)
    with pytest.raises(ParameterError, match="largest_error"):
        reconstruction.solve(subsets, [0.0, 3.0], largest_error=0.5)


@pytest.mark.parametrize("cells", [[], [1, 2], [None, 1], ["yes"]])
def test_secrets_that_are_no_bits_are_refused(cells):
    with pytest.raises(ParameterError, match="secret"):
        reconstruction.against_table(pa.table({"s": pa.array(cells)}), value="s")


def grouped_by_person(bits, asked, **words):
    """What one release for epsilon 1, with a figure for each person, says of their bits; ties fall to either side."""
    _, session = clinic(bits, **words)
    with session:
        figures = np.array(session.release(asked(dp.table("clinic"), len(bits)), epsilon=1)["s"], dtype=float)
    return figures, np.mean(np.where(figures == 0, 0.5, (figures > 0) == bits))


def signed(table, people):
    grouped = table.derive(sgn=2 * table.positive - 1).group_by("person", keys={"person": range(people)})
    return grouped.agg(s=dp.sum("sgn", bounds=(-1, 1)))


def numbered(count):
    return reconstruction.secret_bits(count, generator=dp.testing.generator(6)).astype(int)


@pytest.mark.guarantee("no question gives a bit away more often than epsilon allows for a changed value")
@pytest.mark.statistical(false_alarm=1e-6)
def test_a_signed_sum_for_each_person_passes_the_bound_for_presence_and_keeps_that_for_a_changed_value(samples):
    """4,000 bits, each right with 81.6%, independently: six deviations are left with less than 1e-6, by Bernstein."""
    many = samples(4_000)
    _, share = grouped_by_person(numbered(many), signed)
    q = np.exp(-1)
    expected = 1 - q**2 / (1 + q) - 0.5 * q * (1 - q) / (1 + q)
    assert expected == pytest.approx(0.816, abs=1e-3)
    assert share == pytest.approx(expected, abs=6 * (expected * (1 - expected) / many) ** 0.5)
    assert best_guess(1) < share < best_guess(1, apart=2)


@pytest.mark.statistical(false_alarm=1e-6)
def test_where_people_are_replaced_the_same_question_keeps_the_smaller_bound(samples):
    """4,000 bits, each right with at most 73.1%, independently: six deviations above are below 1e-6, by Bernstein."""
    many, bound = samples(4_000), best_guess(1)
    _, share = grouped_by_person(numbered(many), signed, neighbours="replace_one")
    assert share <= bound + 6 * (bound * (1 - bound) / many) ** 0.5


@pytest.mark.statistical(false_alarm=1e-6)
def test_counts_of_those_who_have_it_give_a_bit_in_no_more_than_the_bound_for_presence(samples):
    """2,000 bits, each right with 73%, independently. False-alarm rate 1e-6."""
    bits = numbered(samples(2_000))

    def counts(table, people):
        grouped = table.where(table.positive == 1).group_by("person", keys={"person": range(people)})
        return grouped.agg(s=dp.count())

    figures, _ = grouped_by_person(bits, counts)
    assert binomtest(int(((figures >= 1) == bits).sum()), len(bits), best_guess(1)).pvalue > 1e-6


def test_where_people_are_replaced_the_outcome_states_the_smaller_bound(bits, generator):
    rows, session = clinic(bits, neighbours="replace_one")
    with session:
        outcome = reconstruction.against_session(session, rows, **WORDS, epsilon=0.2, questions=5, generator=generator)
    assert outcome.neighbours == "replace_one"
    assert outcome.bound == pytest.approx(best_guess(1))
    assert "73% of cases, since another bit is a row replaced" in outcome.with_epsilon


@pytest.mark.parametrize("secret", [[0, 1, 2], [], [[0, 1]], ["yes"], [[0], [1, 0]], [None, 1], 1, [0.5, 1]])
def test_a_secret_that_is_no_list_of_bits_is_refused(secret):
    with pytest.raises(ParameterError, match="a secret of type"):
        reconstruction.against(lambda _: 0, secret)


@pytest.mark.parametrize("publisher", [[1, 2], None, *(lambda _, a=a: a for a in (None, "3", [1], np.nan))])
def test_a_publisher_that_gives_no_number_is_refused(publisher):
    with pytest.raises(ParameterError, match="a publisher"):
        reconstruction.against(publisher, [0, 1, 1])


def test_what_is_no_session_is_refused():
    with pytest.raises(ParameterError, match="a session of type NoneType"):
        reconstruction.against_session(None, pa.table({"person": [1], "positive": [1]}), **WORDS, epsilon=1)
