"""Tasks."""

import copy
import hashlib
import json
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down
from discreet.local import SlotDomain, Task
from discreet.local.client import Client
from discreet.local.oracles import DuchiResponse, KaryResponse, LocalHashing, ProjectiveGeometryResponse
from grids import over

EMOJI = Task.choose(domain=1024, epsilon=1, n=1_000_000, name="emoji", question="Which emoji?")
TASKS = (
    EMOJI,
    Task.choose(domain=["yes", "no"], epsilon="1/3", n=10),
    Task.choose(domain={"low": 0, "high": "0.1", "steps": 256}, epsilon=1, n=10**6, repeat="memoised", max_values=4),
    Task.choose(domain=100, epsilon=2, n=10**5, repeat="two_stage", epsilon_second=1, max_values=4),
    Task.choose(domain=100, epsilon=2, n=10**5, trust="shuffle", max_bytes=32),
)


@pytest.mark.guarantee("local.task")
@over("task", TASKS)
def test_a_task_states_at_least_the_loss_of_its_oracle(task):
    assert task.oracle.ratio <= exp_down(Fraction(task.epsilon))
    assert task.event() == dp.events.PureEvent(Fraction(task.epsilon))
    assert task.oracle.epsilon <= task.event().epsilon


def test_an_oracle_that_loses_more_than_epsilon_is_refused():
    domain, coins = SlotDomain(size=2), KaryResponse.two_coin()
    assert Task(domain, "1.0987", coins).oracle == coins
    for epsilon in ("1.0986", "1", "0", "-1"):
        with pytest.raises(ParameterError, match="likelihood ratio"):
            Task(domain, epsilon, coins)
    response = LocalHashing(100, 4, Fraction(3))
    two = {"repeat": "two_stage", "second": {"ratio": [3, 1]}}
    assert Task(SlotDomain(size=100), "1.1", response, epsilon_second="1.1", **two).decoder.ratio < 3
    with pytest.raises(ParameterError, match="fresh stage"):
        Task(SlotDomain(size=100), "1.1", response, epsilon_second="1", **two)


@over("task", TASKS)
def test_a_task_is_read_from_its_json_with_the_same_hash(task, tmp_path):
    document = task.to_json()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert task.hash == hashlib.sha256(text.encode()).hexdigest()
    assert task.id == bytes.fromhex(task.hash[:16])
    task.save(tmp_path / "task.json")
    for again in (Task.from_json(document), Task.from_json(text), Task.load(tmp_path / "task.json")):
        assert (again, again.hash, hash(again)) == (task, task.hash, hash(task))


def test_the_hash_of_a_task_never_changes():
    assert Task(SlotDomain(size=2), "1.0987", KaryResponse.two_coin(), question="Smoker?", name="smoking").hash == (
        "d507bdaae9f5b92254ab26941a8cb389e850fab5fb6dbc1faec97e6800bbdd0f"
    )


@over(
    ("field", "value"),
    (
        ("format", "discreet.local.task/2"),
        ("epsilon", "1.0"),
        ("epsilon", 1),
        ("cohorts", 0),
        ("cohorts", True),
        ("default", 1024),
        ("repeat", "never"),
        ("trust", "nobody"),
        ("max_bytes", 32),
        ("max_values", 0),
        ("question", None),
        ("second", {"ratio": [3, 1]}),
        ("extra", 1),
        ("domain", {"size": 1000}),
        ("oracle", {"kind": "krr", "size": 1024, "ratio": [6, 2]}),
        ("oracle", {"kind": "krr", "size": 1024, "ratio": [3, 1]}),
        ("oracle", {"kind": "krr", "size": 1024}),
        ("oracle", {"kind": "unknown"}),
        ("oracle", 3),
    ),
)
def test_documents_that_are_not_tasks_are_refused(field, value):
    with pytest.raises(ParameterError):
        Task.from_json({**EMOJI.to_json(), field: value})


@over("document", (b"", "[]", "null", b"\xff", {}, '{"format": "discreet.local.task/1"}'))
def test_other_documents_are_refused(document):
    with pytest.raises(ParameterError, match="not a task"):
        Task.from_json(document)


def _four(epsilon="1.2", ratio=3, **fields):
    return Task(SlotDomain(size=4), epsilon, KaryResponse(4, Fraction(ratio)), **fields)


TWO = {"repeat": "two_stage", "epsilon_second": "1.1"}


@pytest.mark.guarantee("local.task")
def test_a_task_never_changes_with_what_it_was_made_of_or_what_it_gave():
    pair = [3, 1]
    task = _four(second={"ratio": pair}, **TWO)
    document = task.to_json()
    pair[0] = 10**6
    task.to_json()["second"]["ratio"][0] = 10**6
    task.assignment()["task"]["second"]["ratio"][0] = 10**6
    with pytest.raises(TypeError):
        task.second["ratio"] = [10**6, 1]
    with pytest.raises(TypeError):
        task.second["ratio"][0] = 10**6
    assert task.to_json() == document
    assert task.decoder.ratio == task.oracle.compose({"ratio": [3, 1]}).ratio
    assert (copy.deepcopy(task), pickle.loads(pickle.dumps(task)), replace(task)) == (task, task, task)  # noqa: S301


@over("name", ("default", "cohorts", "max_values", "reports", "max_bytes"))
def test_numbers_of_numpy_are_kept_as_integers(name):
    value = 40 if name == "max_bytes" else 2
    task = _four(**{name: np.int64(value)})
    assert (type(getattr(task, name)), task) == (int, _four(**{name: value}))
    assert Task.from_json(json.dumps(task.to_json())) == task


@over(
    ("name", "value"),
    (
        *((name, True) for name in ("default", "cohorts", "max_values", "reports", "max_bytes")),
        ("default", 0.5),
        ("default", 1.0),
        ("default", Fraction(1)),
        ("default", "1"),
        ("default", None),
        ("default", -1),
        ("question", "\ud800"),
        ("second", {"ratio": [3, True]}),
        ("second", {"ratio": [3.0, 1]}),
        ("second", {"ratio": [np.int64(3), 1]}),
    ),
)
def test_fields_of_other_types_are_refused(name, value):
    with pytest.raises(ParameterError):
        _four(**{name: value}, **(TWO if name == "second" else {}))


@over(
    "make",
    (
        lambda: _four("65", 10**9),
        lambda: _four("60", 2**70),
        lambda: _four(Fraction(3, 2) + Fraction(1, 2**100)),
        lambda: _four(reports=2**53),
        lambda: _four(max_bytes=2**53),
        lambda: _four(max_values=2**53),
        lambda: _four(second={"ratio": [2**53, 1]}, repeat="two_stage", epsilon_second="40"),
        lambda: Task(SlotDomain(size=4), "2", ProjectiveGeometryResponse(4, 65_537, 2, Fraction(3))),
    ),
)
def test_what_a_client_would_refuse_on_every_device_is_refused_by_the_task(make):
    with pytest.raises(ParameterError):
        make()


@over("task", [task for task in TASKS if task.trust != "dap"])
def test_clients_accept_every_task(task):
    for cohort in {0, task.cohorts - 1}:
        assert len(Client(task.assignment(cohort), state={}).report(_value(task))) == task.report_bytes


def _value(task):
    value = task.domain.label(0)
    return float(value) if task.domain.is_numeric else value


def test_an_oracle_of_a_mean_needs_a_range_and_has_one_stage():
    oracle = DuchiResponse(1, Fraction(2))
    with pytest.raises(ParameterError, match="slots"):
        Task(SlotDomain(size=2), "1", oracle)
    with pytest.raises(ParameterError, match="two stages"):
        Task(
            SlotDomain(low=0, high=1, steps=1),
            "1",
            oracle,
            repeat="two_stage",
            second={"ratio": [2, 1]},
            epsilon_second="1",
        )


def test_an_assignment_has_one_of_the_cohorts():
    task = next(task for task in TASKS if task.cohorts > 1)
    assert task.assignment(task.cohorts - 1) == {"task": task.to_json(), "cohort": task.cohorts - 1}
    for cohort in (-1, task.cohorts):
        with pytest.raises(ParameterError, match="cohort"):
            task.assignment(cohort)


def test_local_hashing_knows_its_task():
    task = TASKS[3]
    assert (task.oracle.task_id, task.oracle.cohorts) == (task.id, task.cohorts)
    assert task.decoder.task_id == task.id


def test_a_million_reports_locally_are_wrong_by_1920_and_with_an_aggregator_by_1_4():
    task = Task.choose(domain=1024, epsilon=1, n=1_000_000, max_bytes=200)
    assert task.expected_error == pytest.approx(1_920, rel=0.005)
    assert EMOJI.expected_error == pytest.approx(1_939, rel=0.001)
    assert task.central_error() == pytest.approx(1.4, abs=0.05)
    assert task.central_error("replace_one") == pytest.approx(2.8, abs=0.05)
    with pytest.raises(ParameterError, match="neighbours is add_remove or replace_one"):
        task.central_error("neither")


def test_as_many_reports_as_required_give_the_accuracy():
    needed = EMOJI.required_n(0.01)
    task = replace(EMOJI, reports=needed)
    assert 1.95996 * task.expected_error / needed == pytest.approx(0.01, rel=1e-4)
    assert EMOJI.required_n(0.01, confidence=0.99) > needed
    mean = TASKS[2]
    enough = replace(mean, reports=mean.required_n("0.001"))
    assert 1.95996 * enough.expected_error == pytest.approx(0.001, rel=1e-3)


def test_as_many_aggregated_reports_as_required_give_the_accuracy():
    for domain, share in ((1024, 1), ({"low": 0, "high": 1, "steps": 64}, 0)):
        task = Task.choose(domain=domain, epsilon=1, n=1_000_000, trust="dap")
        enough = replace(task, reports=task.required_n(0.01))
        error = enough.expected_error / (enough.reports if share else 1)
        assert 1.95996 * error == pytest.approx(0.01, rel=0.01)
        assert enough.reports < 1_000


def test_the_decoder_is_made_once():
    task = TASKS[3]
    assert task.decoder is task.decoder
    assert task.decoder is not task.oracle


def test_an_accuracy_that_hash_functions_prevent_is_refused():
    for task, margin in ((EMOJI, 0), (TASKS[3], 1e-6)):
        with pytest.raises(ParameterError, match="margin"):
            task.required_n(margin)


def test_the_central_error_of_a_mean_is_that_of_a_noisy_sum():
    mean = TASKS[2]
    assert mean.central_error() == pytest.approx(0.1 * 2**0.5 / 1e6, rel=0.01)
    assert mean.central_error("replace_one") == mean.central_error()
