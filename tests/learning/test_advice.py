"""Advice about models works when it is pasted: in the model, in the fit, in dp.protect or as a call of a session."""

import re

import pyarrow as pa
import pytest

import discreet as dp

T = dp.table("adult")
ROWS = pa.table(
    {
        "id": [*range(90)],
        "age": [*range(90)],
        "sex": ["FM"[i % 2] for i in range(90)],
        "town": ["NS"[i % 2] for i in range(90)],
        "well": [i % 3 == 0 for i in range(90)],
        "grade": [i % 4 for i in range(90)],
        "cost": [i / 7 for i in range(90)],
    }
)
FACTS = {
    "name": "adult",
    "privacy_unit": "id",
    "max_rows": 1,
    "population": 90,
    "budget": dp.Budget(epsilon=2, delta=1e-6),
    "bounds": {"age": (0, 90)},
    "keys": {"sex": ["F", "M"]},
    "ledger": ":memory:",
}


def explained(model=dp.learning.LogisticRegression, own=None, facts=None, **words):
    """The explanation of a fit; `own` are arguments of the model, `facts` of dp.protect."""
    known = FACTS | {
        name: FACTS.get(name, {}) | each if name in ("bounds", "keys") else each for name, each in (facts or {}).items()
    }
    with dp.protect(ROWS, **known) as session:
        return session.explain(T.fit(model(**(own or {})), **words), epsilon=1)


def keywords(text):
    return eval(f"dict({text})", {"dp": dp})  # noqa: S307 - our own words


def pasted(advice, case):
    """The same fit with each part of the advice: a model, or arguments of the model, of dp.protect, or of the fit."""
    for part in re.split(r", or |; ", advice):
        code = re.sub(r", (?:which|as|with) .*$", "", part)
        words = {name: value for name, value in case.items() if name != "own"}
        if code.startswith("dp.learning."):
            made = eval(code, {"dp": dp})  # noqa: S307 - our own words
            yield words | {"model": lambda made=made: made}
        elif code.endswith(" in dp.protect"):
            yield case | {"facts": keywords(code.removesuffix(" in dp.protect"))}
        elif code.endswith(" in the model"):
            yield case | {"own": case.get("own", {}) | keywords(code.removesuffix(" in the model"))}
        else:
            yield case | keywords(code.removesuffix(" in fit"))


CASES = {
    "ridge of a truth value": {"model": dp.learning.Ridge, "target": "well", "features": ["age"]},
    "ridge of a text": {"model": dp.learning.Ridge, "target": "town", "features": ["age"]},
    "ridge without bounds": {"model": dp.learning.Ridge, "target": "cost", "features": ["age"]},
    "a text without classes": {"target": "town", "features": ["age"]},
    "a whole number without classes": {"target": "grade", "features": ["age"]},
    "classes of a bounded number": {"target": "age", "features": ["sex"]},
    "classes of a real number": {"target": "cost", "features": ["age"]},
    "the unit as a feature": {"target": "sex", "features": ["id"]},
    "the unit and another feature": {"target": "sex", "features": ["id", "age"]},
    "the unit declared by the model": {"target": "sex", "own": {"features": {"id": dp.learning.linear_bins(0, 9)}}},
    "the unit as a target": {"target": "id", "features": ["age"]},
    "the unit as the target of a regression": {"model": dp.learning.Ridge, "target": "id", "features": ["sex"]},
    "bins of a text with keys": {"target": "well", "own": {"features": {"sex": dp.learning.linear_bins(0, 9)}}},
    "bins of a text": {"target": "well", "own": {"features": {"town": dp.learning.linear_bins(0, 9)}}},
    "columns that are not declared": {"target": "sex"},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_advice_of_a_refused_fit_works_when_it_is_pasted(case):
    with pytest.raises(dp.Refusal) as refusal:
        explained(**case)
    for words in pasted(refusal.value.instead, case):
        assert "parameters" in str(explained(**words))


def test_the_bounds_and_keys_of_the_catalog_are_in_the_advice():
    own = {"features": {"sex": dp.learning.linear_bins(0, 9)}}
    with pytest.raises(dp.Refusal, match=re.escape("dp.learning.categories(['F', 'M'])")):
        explained(own=own, target="well")


def test_a_scaler_is_not_advised_a_target_or_a_holdout():
    with dp.protect(ROWS, **FACTS) as session:
        query = T.fit(dp.learning.StandardScaler(), features=["age"])
        texts = [str(session.explain(query, epsilon=0.5)), str(session.release(query, epsilon=0.5).release)]
        with pytest.raises(dp.errors.ParameterError) as refusal:
            session.epsilon_for(query, margin=5)
        eval(refusal.value.instead, {"session": session, "query": query})  # noqa: S307 - our own words
    for text in (*texts, str(refusal.value)):
        assert "holdout" not in text
        assert "predicts" not in text
    assert "means and deviations have noise" in texts[1]


def test_a_model_without_scores_names_the_fit_that_has_them():
    model = dp.learning.LogisticRegression()
    with dp.protect(ROWS, **FACTS) as session:
        query = T.fit(model, target="sex", features=["age"])
        text = str(session.explain(query, epsilon=0.5))
        (advice,) = re.findall(r"fit\(.*?\)", text)
        session.explain(eval(f"T.{advice[:-1]}, features=['age'])", {"T": T, "model": model}), epsilon=0.5)  # noqa: S307


@pytest.mark.parametrize("holdout", [None, 0.2])
def test_an_epsilon_for_a_model_without_a_margin_advises_a_call_that_works(holdout):
    with dp.protect(ROWS, **FACTS) as session:
        query = T.fit(dp.learning.LogisticRegression(), target="sex", features=["age"], holdout=holdout)
        with pytest.raises(dp.errors.ArgumentsError) as refusal:
            session.epsilon_for(query)
        code = refusal.value.instead.partition(", which")[0]
        assert eval(code, {"session": session, "model_query": query}).fits  # noqa: S307 - our own words
        with pytest.raises(dp.errors.ParameterError) as refusal:
            session.epsilon_for(query, margin=50)
        if holdout:
            assert session.epsilon_for(query, margin=50, **keywords(refusal.value.instead)) > 0
