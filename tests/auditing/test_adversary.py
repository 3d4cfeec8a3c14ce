"""What an adversary found in the audits. Each is expected to fail until it is mended, and loses its mark then."""

import hashlib
import logging

import numpy as np
import pyarrow as pa
import pytest

from discreet import testing
from discreet.accounting.filters import Budget
from discreet.auditing import audit, audit_function, check_masses, compare_calls
from discreet.auditing.contracts.clauses import require
from discreet.auditing.contracts.contract import _check_independence
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.sensitivity.lists import neighbouring_lists
from discreet.auditing.statistical.features import Vocabulary
from discreet.auditing.statistical.outcomes import Outcomes
from discreet.mechanisms import Laplace
from discreet.query import frame

found = pytest.mark.xfail(strict=True, reason="found by an adversary, not mended yet")

LONG = [0] * 10_001
DRAWN = testing.generator(3)
ONE, OTHER = pa.table({"u": [1, 2, 3], "x": [1, 2, 3]}), pa.table({"u": [1, 2], "x": [1, 2]})
QUERY = frame.table("v").agg(n=frame.count())


def test_a_long_outcome_reads_the_same_in_any_company():
    words = Vocabulary(("value[0]",))
    alone, beside = (words.read(Outcomes([LONG, other])).numbers["length"][0] for other in (LONG, None))
    assert alone == beside


def test_a_true_claim_of_long_outcomes_is_not_called_broken():
    drawn = testing.generator(1)

    def mechanism(data):
        return None if data and drawn.random() < 0.02 else LONG

    assert not audit(mechanism, True, False, epsilon=1, delta=0.02, samples=400).is_broken


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(hex, id="hexadecimal text"),
        pytest.param(lambda d: {hex(d): 1}, id="hexadecimal key"),
        pytest.param(lambda d: "x" * 200 + str(d), id="text beyond 200 characters"),
        pytest.param(lambda d: 2**60 + 1 + 2 * d, id="whole numbers beyond 2^53"),
        pytest.param(lambda d: [[[[[d]]]]], id="five lists deep"),
        pytest.param(lambda d: (x for x in [d]), id="generator"),
        pytest.param(lambda d: {"a": 1, "b": 1} if d else {"b": 1, "a": 1}, id="order of keys"),
        pytest.param(lambda d: -0.0 if d else 0.0, id="sign of zero"),
        pytest.param(lambda d: np.complex128(d * 1j), id="imaginary part"),
        pytest.param(lambda d: {"a": None} if d else {}, id="a key without a value"),
        pytest.param(lambda d: f"{d + DRAWN.normal(0, 1e-3):.9f}", id="number in a text"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_tells_two_datasets_apart_is_not_passed_over_in_silence(mechanism):
    assert audit(mechanism, 1, 0, epsilon=1, samples=400).verdict is not Verdict.NOTHING_FOUND


def test_the_evidence_of_a_leaking_error_is_not_that_there_was_nothing_to_judge():
    def mechanism(data):
        raise ValueError(f"salary {data}")

    finding = audit(mechanism, 1, 0, epsilon=1, samples=400)
    assert finding.is_broken
    assert "nothing was released" not in finding.evidence


def test_a_pmf_that_is_not_that_of_its_event_is_seen_at_every_step():
    class Wrong:
        sensitivity = grid = 1

        def event(self):
            return Laplace(sensitivity=1, epsilon=1).event()

        def pmf(self, y):
            right = Laplace(sensitivity=1, epsilon=1).pmf
            return float(right(y)) + {4: -0.9, 5: 0.9}.get(y, 0) * float(right(4))

    assert any(finding.is_broken for finding in check_masses(Wrong()))


def test_fresh_noise_whose_mode_is_not_zero_is_called_fresh():
    drawn = testing.generator(2)

    class TwoPeaks:
        grid = 1

        def pmf(self, y):
            return {0: 1e-9, 1: 0.5, -1: 0.5}.get(y, 0.0)

        def release(self, values):
            return [value + int(step) for value, step in zip(values, drawn.choice([-1, 1], len(values)), strict=True)]

    assert not any(_check_independence(TwoPeaks(), 1e-6) for _ in range(300))


def test_a_function_that_answers_by_a_generator_is_not_refuted_by_an_artefact():
    pairs = neighbouring_lists(count=20)
    assert not audit_function(lambda numbers: (n for n in [len(numbers)]), pairs, sensitivity=1).is_broken


def test_a_fault_between_the_ends_of_the_bounds_is_found():
    def weighted(numbers):
        return sum(2 if 0.6 < number < 0.7 else 1 for number in numbers)

    assert audit_function(weighted, neighbouring_lists((0, 1)), sensitivity=1).is_broken


def protect(rows):
    return testing.protect(
        rows,
        name="v",
        privacy_unit="u",
        max_rows=1,
        bounds={"x": (0, 10)},
        budget=Budget(epsilon=5, reason="made up"),
    )


def compared(call, repeats=2):
    last = []

    def make(rows):
        last.append(rows)
        return protect(rows)

    return compare_calls(make, ONE, OTHER, [QUERY], calls={"extra": lambda _: call(last[-1])}, repeats=repeats)


def test_sessions_that_cannot_be_made_are_not_said_to_look_the_same():
    def broken(rows):
        raise ValueError("never")

    assert any(finding.verdict is Verdict.VOID for finding in compare_calls(broken, ONE, OTHER, [QUERY]))


def test_a_hexadecimal_number_in_a_log_is_no_address():
    findings = compared(lambda rows: logging.getLogger("mine").warning("0x%012x", rows.num_rows))
    assert any(finding.is_broken for finding in findings)


def test_a_hash_of_the_data_is_seen_or_not_vouched_for_in_one_run():
    def hashed(rows):
        logging.getLogger("mine").warning(hashlib.sha256(bytes(rows.num_rows)).hexdigest())

    logged = [finding for finding in compared(hashed, repeats=1) if finding.detail["channel"] == "log"]
    assert logged[0].verdict is not Verdict.NOTHING_FOUND


def test_the_line_at_which_an_error_was_raised_is_compared():
    def raised(rows):
        if rows.num_rows == ONE.num_rows:
            raise ValueError("no")
        raise ValueError("no")

    assert any(finding.is_broken for finding in compared(raised))


def test_what_is_void_is_not_enough_for_a_contract():
    void = Finding(subject="log", layer="side channels", claim="the same", verdict=Verdict.VOID, evidence="it varies")
    with pytest.raises(AssertionError):
        require([void])
