"""Audits of models: what predictions of canaries reveal, for any object with the interface of scikit-learn."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.claims import claim
from discreet.auditing.finding import Verdict
from discreet.auditing.models import audit_model
from discreet.errors import ParameterError

ROWS = pa.table(
    {
        "id": [f"p{i}" for i in range(60)],
        "ward": ["a", "b", "c"] * 20,
        "age": list(range(60)),
        "ill": ["no", "yes"] * 30,
        "cost": [float(i) for i in range(60)],
    }
)
WORDS = {"privacy_unit": "id", "group": "ward", "claim": claim(epsilon=1), "canaries": 200}


class ByWard:
    """A model of the wards that it was fitted to, with noise of a scale."""

    def __init__(self, rows, keys, noise=None):
        present = rows["ward"].to_pylist()
        counts = {key: present.count(key) for key in [*keys, "a", "b", "c"]}
        self.found = {key: count + (noise.normal() if noise else 0) for key, count in counts.items()}

    def of(self, rows):
        return np.array([self.found[ward] for ward in rows["ward"].to_pylist()])


class Regressor(ByWard):
    def predict(self, rows):
        return self.of(rows)


class Reversed(ByWard):
    def predict(self, rows):
        return -self.of(rows)


class TwoClasses(ByWard):
    classes_ = np.array(["no", "yes"])

    def decision_function(self, rows):
        return self.of(rows)


class TheOtherWay(TwoClasses):
    classes_ = np.array(["yes", "no"])

    def decision_function(self, rows):
        return -self.of(rows)


class Shares(ByWard):
    classes_ = np.array(["maybe", "yes", "no"])

    def predict_proba(self, rows):
        share = self.of(rows) / 20
        return np.stack([1 - share, share, 0 * share], axis=1)


@pytest.mark.parametrize(
    ("kind", "target", "label"),
    [
        (Regressor, "cost", 90.0),
        (Reversed, "cost", -10.0),
        (TwoClasses, "ill", "yes"),
        (TheOtherWay, "ill", "yes"),
        (Shares, "ill", "yes"),
    ],
)
def test_a_model_that_memorises_is_caught_by_predictions_of_any_kind(kind, target, label):
    finding = audit_model(kind, ROWS, target=target, label=label, generator=dp.testing.generator(1), **WORDS)
    assert finding.is_broken
    assert finding.found > 2
    assert (finding.subject, finding.layer) == (kind.__name__, "one run")


def test_a_model_with_much_noise_is_not_called_broken():
    """The noise is drawn from a fixed start, and its scale of 1 is that of an epsilon of about 5 at a delta of 1e-6."""
    finding = audit_model(
        lambda rows, keys: TwoClasses(rows, keys, dp.testing.generator(2)),
        ROWS,
        target="ill",
        label="yes",
        generator=dp.testing.generator(3),
        name="noisy wards",
        **WORDS | {"claim": claim(epsilon=5, delta=1e-6)},
    )
    assert finding.verdict is Verdict.NOTHING_FOUND
    assert finding.subject == "noisy wards"
    assert 0 < finding.found < 5


def test_rows_keys_and_features_are_those_that_were_asked_for():
    seen = {}

    class Model(Regressor):
        def __init__(self, rows, keys):
            super().__init__(rows, keys)
            seen["rows"], seen["keys"] = rows.slice(60).to_pylist(), keys

        def predict(self, rows):
            seen["columns"] = rows.column_names
            return super().predict(rows)

    words = {"target": "cost", "label": 90.0, "values": {"age": 7}, "rows_each": 3}
    audit_model(Model, ROWS, features=["ward", "age"], **words, **WORDS)
    assert seen["columns"] == ["ward", "age"]
    assert len(seen["keys"]) == 200
    assert seen["rows"][0] == seen["rows"][1] == seen["rows"][2] != seen["rows"][3]
    assert (seen["rows"][0]["age"], seen["rows"][0]["cost"], seen["rows"][0]["ill"]) == (7, 90.0, None)
    audit_model(Model, ROWS, **words, **WORDS)
    assert seen["columns"] == ["ward", "age", "ill"]


def test_what_cannot_be_scored_is_refused_and_a_fit_that_fails_is_void():
    words = {"target": "ill", "label": "yes", **WORDS}
    with pytest.raises(ParameterError, match=r"an audit of a ByWard[\s\S]*one_run"):
        audit_model(ByWard, ROWS, **words)
    with pytest.raises(ParameterError, match="an audit of a TwoClasses"):
        audit_model(TwoClasses, ROWS, **words | {"label": "perhaps"})
    with pytest.raises(ParameterError, match="canaries=0"):
        audit_model(TwoClasses, ROWS, **words | {"canaries": 0})
    with pytest.raises(ParameterError, match="rows_each=0"):
        audit_model(TwoClasses, ROWS, rows_each=0, **words)
    assert audit_model(lambda rows, keys: rows[keys], ROWS, **words).verdict is Verdict.VOID


def test_a_model_that_predicts_the_same_for_all_canaries_is_void():
    class Overall(TwoClasses):
        def decision_function(self, rows):
            return np.full(len(rows), 0.5)

    finding = audit_model(Overall, ROWS, target="ill", label="yes", **WORDS)
    assert finding.verdict is Verdict.VOID
    assert "declare keys as categories" in finding.evidence
    assert finding.found is None


def test_rows_of_pandas_are_read_and_other_objects_are_refused():
    words = {"target": "ill", "label": "yes", "generator": dp.testing.generator(1), **WORDS}
    assert audit_model(TwoClasses, ROWS.to_pandas(), **words).is_broken
    with pytest.raises(dp.errors.SourceError, match="a table of type list"):
        audit_model(TwoClasses, [1, 2], **words)
