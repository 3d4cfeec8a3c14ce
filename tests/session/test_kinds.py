"""Every question is of exactly one kind, and so is every plan of an answer."""

import inspect
import pkgutil
from importlib import import_module

import pytest

import discreet as dp
from discreet import planner
from discreet.planner.batch import BatchPlan
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.session.batches import Batches
from discreet.session.estimates import Applications, SmoothEstimates
from discreet.session.kind import Request
from discreet.session.kinds import KINDS, SINGLE, kind_of
from discreet.session.models import Models
from discreet.session.selections import Selections
from discreet.session.tables import Tables
from trainable import CountEstimator

T = dp.table("t")
QUERY = T.agg(m=dp.mean("x", bounds=(0, 1)))
CHOICE = T.choose(["A"], score=dp.score(by="x"))
FOUND = T.choose(dp.discover(delta=1e-9), score=dp.score(by="x"))
APPLICATION = T.apply("def f(table): return 1", columns=["x"], blocks=2, bounds=(0, 1))
MODEL = T.fit(CountEstimator(size=10), target="x")

REQUESTS = {
    "query": (Request(QUERY, Price(1)), Tables),
    "histogram": (Request(T.histogram("x", bins=[0, 1]), Price(1)), Tables),
    "choice": (Request(CHOICE, Price(1)), Selections),
    "keys that are found": (Request(FOUND, Price(1)), Selections),
    "smooth sensitivity": (Request(QUERY, Price(1), dp.SmoothSensitivity()), SmoothEstimates),
    "proposed bound": (Request(QUERY, Price(1), dp.ProposedBound(bound=1, delta=1e-9)), SmoothEstimates),
    "function": (Request(APPLICATION, Price(1)), Applications),
    "model": (Request(MODEL, Price(1)), Models),
    "batch": (Request((QUERY, CHOICE, APPLICATION, MODEL), Price(1)), Batches),
    "batch of one": (Request((CHOICE,), Price(1)), Batches),
}


@pytest.mark.parametrize(("request_", "kind"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_of_one_kind(request_, kind):
    assert [type(each) for each in KINDS if each.accepts(request_)] == [kind]
    assert type(kind_of(request_)) is kind


def test_a_batch_has_no_batch_in_it():
    assert KINDS[:-1] == SINGLE
    assert not any(isinstance(kind, Batches) for kind in SINGLE)


def answer_plans():
    """The classes of plans that are answered once and have no subclass."""
    for module in pkgutil.walk_packages(planner.__path__, "discreet.planner."):
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(kind, AnswerPlan) and not inspect.isabstract(kind):
                yield kind


def test_every_plan_of_an_answer_is_of_one_kind():
    """A batch finds the kind of each part by its plan."""
    plans = set(answer_plans())
    assert len(plans) >= 10
    for plan in plans:
        assert len([kind for kind in SINGLE if issubclass(plan, kind.plans)]) == 1, plan
    assert KINDS[-1].plans == (BatchPlan,)


def test_every_kind_says_how_it_is_stored_and_restored():
    assert [inspect.isabstract(type(kind)) for kind in KINDS] == [False] * len(KINDS)
