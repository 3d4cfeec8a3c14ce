"""Audits of synthetic tables: charged ones reveal no more than they state, and tables with too little noise are caught.

False alarms of a table that keeps its claim have a probability of at most 1e-4 each. The controls are caught: exact
counts always, a seventh of the noise with a power above 1 - 1e-6 (of 1,000 guesses 993 are right on average, and 940
are enough), and half of the noise by the variance of 1,000 residuals, whose deviation is 4.5% of what is stated.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import discreet as dp
from discreet.auditing.canaries import session_canaries
from discreet.auditing.claims import claim
from discreet.auditing.finding import Verdict
from discreet.auditing.synthesis import audit_synthesis, count_scores, row_scores
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.synthesis.core.private_counts import PrivateCounts

PEOPLE = 400
ROWS = pa.table(
    {
        "id": [f"p{i}" for i in range(PEOPLE)],
        "ward": ["a", "b"] * (PEOPLE // 2),
        "age": [i % 80 for i in range(PEOPLE)],
        "sex": ["F", "M"] * (PEOPLE // 2),
    }
)
SYNTHESIZERS = [getattr(dp.synthesis, name) for name in sorted(dir(dp.synthesis)) if name.endswith("Synthesizer")]
RHO, CANARIES, ALARM = 0.1, 1000, 1e-4
WORDS = {"privacy_unit": "id", "group": "ward", "values": {"sex": "F", "age": 7}}


def synthesis(kind, columns=("ward",), protect=dp.protect, **price):
    """A function that releases one synthetic table of rows in a session of its own."""

    def synthesize(rows, keys):
        most = 2 if kind is dp.synthesis.TwoLevelSynthesizer else 1  # two levels need persons with several rows
        facts = {"privacy_unit": "id", "max_rows": most, "bounds": {"age": (0, 80)}}
        facts |= {"keys": {"ward": ["a", "b", *keys], "sex": ["F", "M"]}, "budget": dp.Budget(epsilon=10, delta=1e-9)}
        with protect(rows, name="people", ledger=":memory:", **facts) as session:
            query = dp.table("people").synthesize(kind(), columns=list(columns))
            return session.release(query, **(price or {"epsilon": 1}))

    return synthesize


def with_less_noise(monkeypatch, times):
    """Noise of a part of its standard deviation, under the whole charge and the stated sigma."""
    honest = PrivateCounts._add_noise

    def add(counts, exact, noise):
        moved, rows = counts.contribution.l2_squared, counts.contribution.rows
        return honest(counts, exact, Gaussian(squared_sensitivity=moved, rho=times**2 * noise.rho, dimension=2 * rows))

    monkeypatch.setattr(PrivateCounts, "_add_noise", add)


@pytest.mark.parametrize("kind", SYNTHESIZERS)
def test_exact_counts_under_a_charge_are_caught(kind):
    exact = synthesis(kind, ("ward", "sex"), dp.testing.protect)
    found = audit_synthesis(exact, ROWS, claim=claim(epsilon=1, delta=1e-9), canaries=200, **WORDS)
    assert found.is_broken
    assert "noisy counts: 200 of 200 guesses" in found.evidence


def test_a_model_that_holds_rows_is_caught_by_the_rows_that_it_draws():
    kind = dp.synthesis.IndependentSynthesizer

    def leaky(rows, keys):
        honest, exact = (synthesis(kind, protect=each)(rows, keys) for each in (dp.protect, dp.testing.protect))
        parts = {part: exact.state[part] for part in ("model", "total")}
        return replace(honest, state=honest.state | parts)

    found = audit_synthesis(leaky, ROWS, claim=claim(epsilon=1, delta=1e-9), canaries=500, **WORDS)
    assert found.is_broken
    assert found.evidence.startswith("drawn rows: ")


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("kind", SYNTHESIZERS)
def test_a_charged_table_reveals_no_more_than_it_states(kind):
    for columns in (("ward",), ("ward", "sex", "age")):
        words = {"claim": claim(rho=RHO), "canaries": CANARIES, "alarm": ALARM} | WORDS
        found = audit_synthesis(synthesis(kind, columns, rho=RHO), ROWS, **words)
        assert found.verdict is Verdict.NOTHING_FOUND, found.evidence
        assert 0 <= found.found <= RHO


@pytest.mark.full
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("kind", [kind for kind in SYNTHESIZERS if kind is not dp.synthesis.TwoLevelSynthesizer])
def test_a_seventh_of_the_noise_is_caught(kind, monkeypatch):
    """Canaries have one row, so two levels, with the noise of two rows and a share of the cost, hide them better."""
    with_less_noise(monkeypatch, 7)
    words = {"claim": claim(rho=RHO), "canaries": CANARIES, "alarm": ALARM} | WORDS
    found = audit_synthesis(synthesis(kind, rho=RHO), ROWS, **words)
    assert found.is_broken, found.evidence
    assert found.found > RHO


def residuals(kind):
    """The squared residuals of the canaries' counts by the stated variance, in sum: chi-square but for rounding."""
    planted = session_canaries(ROWS, CANARIES, privacy_unit="id", group="ward")
    state = synthesis(kind, rho=RHO)(planted.table_with(planted.canaries[::2]), planted.keys).state
    measured = next(each for each in state["measurements"] if each["columns"] == ["ward"])
    exact = np.arange(CANARIES) % 2 == 0
    return float(np.sum((np.array(measured["values"])[2:-1] - exact) ** 2) / measured["sigma"] ** 2)


@pytest.mark.parametrize("kind", SYNTHESIZERS)
def test_half_of_the_noise_is_caught_by_residuals_and_all_of_it_is_not(kind, monkeypatch):
    low, high = chi2.ppf([1e-7, 1 - 1e-7], CANARIES)
    assert low < residuals(kind) < high
    with_less_noise(monkeypatch, 2)
    assert residuals(kind) < low / 2


def test_the_score_of_a_canary_is_the_likelihood_ratio_of_its_own_cells():
    planted = session_canaries(ROWS, 2, privacy_unit="id", group="ward", values={"sex": "F", "age": 7}, rows_each=2)
    table = synthesis(dp.synthesis.IndependentSynthesizer)(ROWS, planted.keys)
    column = {"name": "ward", "type": "text", "edges": [], "values": ["a", *planted.keys]}
    sex = {"name": "sex", "type": "text", "edges": [], "values": ["M", "F"]}
    age = {"name": "age", "type": "integer", "edges": [0, 5, 10, 80], "values": []}
    measurements = [
        {"columns": ["ward"], "values": [9, 3, 0, 0], "sigma": 2.0},
        {"columns": ["sex", "ward"], "values": [5, 5, 5, 5, 9, 2, 1, 0, 5, 5, 5, 5], "sigma": 1.0},
        {"columns": ["ward", "age"], "values": [*range(8)], "sigma": 1.0, "groups": {"ward": [0, 1, 0, 0]}},
        {"columns": ["sex"], "values": [7, 7, 7], "sigma": 0.1},
    ]
    state = table.state | {"columns": [column, sex, age], "measurements": measurements}
    found = count_scores(replace(table, state=state), planted)
    assert found.tolist() == [2 * (3 - 1) / 4 + 2 * (2 - 1) + 2 * (5 - 1), 2 * (0 - 1) / 4 + 0]
    assert row_scores(table, planted).shape == (2,)


def test_keys_that_are_not_declared_make_an_audit_void():
    kind = dp.synthesis.IndependentSynthesizer
    found = audit_synthesis(
        lambda rows, _: synthesis(kind)(rows, ["c"]), ROWS, claim=claim(epsilon=1), canaries=50, **WORDS
    )
    assert found.verdict is Verdict.VOID
    assert "declare their keys" in found.evidence


def test_an_error_of_a_synthesis_makes_an_audit_void_and_another_result_is_refused():
    def broken(rows, keys):
        raise ValueError("a cell")

    found = audit_synthesis(broken, ROWS, claim=claim(epsilon=1), canaries=50, **WORDS)
    assert found.verdict is Verdict.VOID
    assert "a cell" not in found.evidence
    with pytest.raises(ParameterError, match="a synthetic table with the column 'ward'"):
        audit_synthesis(lambda rows, _: rows, ROWS, claim=claim(epsilon=1), canaries=50, **WORDS)


def test_the_same_coins_and_the_same_table_give_the_same_finding():
    table = synthesis(dp.synthesis.IndependentSynthesizer)(
        ROWS, session_canaries(ROWS, 50, privacy_unit="id", group="ward").keys
    )
    words = {"claim": claim(epsilon=1, delta=1e-9), "canaries": 50} | WORDS
    found = [
        audit_synthesis(lambda *_: table, ROWS, generator=dp.testing.generator(3), **words).evidence for _ in range(2)
    ]
    assert found[0] == found[1]
