"""The quality of a synthetic table against the data: exact figures about people, for the owners of the data alone.

Everything is computed on slots. Nothing is charged, stored or released. References: Snoke, Raab, Nowok, Dibben and
Slavkovic, General and specific utility measures for synthetic data, JRSS A 2018 (propensity by CART).
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.anonymity.owners import OwnerResult
from discreet.errors import NameNotFoundError, ParameterError, UnsupportedError, short_traceback
from discreet.plan.slots import columns_from_json
from discreet.synthesis.quality.distances import (
    MarginalDistances,
    SlotRows,
    k_marginal_score,
    marginal_distances,
    sample_equivalent,
)
from discreet.synthesis.quality.encoding import encode_rows

if TYPE_CHECKING:
    from discreet.release.synthetic import SyntheticTable

_LEAF = 20
"""Rows of a leaf of the tree that tells synthetic rows from real ones."""


@dataclass(frozen=True)
class ModelAccuracy:
    """Logistic regression trained on synthetic rows and on the data, tested on other real rows.

    Attributes:
        target: The column that is predicted.
        synthetic: Accuracy after training on synthetic rows.
        real: Accuracy after training on the data.
        majority: Accuracy of the most frequent slot of the data.
    """

    target: str
    synthetic: float
    real: float
    majority: float


@dataclass(frozen=True, repr=False)
class OwnerQuality(OwnerResult):
    """Quality of a synthetic table against the data it was made from.

    Attributes:
        rows: Number of rows of the data, and of the synthetic table.
        distances: Mean total variation of one-way, two-way and three-way marginals.
        score: The k-marginal score on the triples; None below three columns.
        sample: Fraction of the rows whose random sample has that score; None below three columns.
        unique_rows: Rows of the data that are unique in all columns, as slots.
        unique_matches: How many of these are in the synthetic table.
        propensity: Area under the ROC curve of a tree that tells synthetic from real rows, on rows it was not trained
            on. 0.5: it cannot tell them apart. 1: always.
        accuracy: Training on synthetic rows; None without a target.
    """

    kind = "quality of a synthetic table against the data"
    rows: tuple[int, int]
    distances: MarginalDistances
    score: float | None
    sample: float | None
    unique_rows: int
    unique_matches: int
    propensity: float
    accuracy: ModelAccuracy | None

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data, with the stamp.

        Returns:
            A dict for JSON.
        """
        figures = dict(vars(self))
        figures["distances"] = {name: value for name, value in vars(self.distances).items() if name != "triples"}
        figures["accuracy"] = None if self.accuracy is None else dict(vars(self.accuracy))
        return super().to_json() | {"schema": "discreet.synthesis.quality/1", "figures": figures}

    def _lines(self) -> list[str]:
        found = self.distances
        named = (("one-way", found.one_way), ("two-way", found.two_way), ("three-way", found.three_way))
        lines = [f"{self.rows[1]:,} synthetic rows against {self.rows[0]:,} rows"]
        lines += [f"mean total variation, {name}: {value:.4f}" for name, value in named if value is not None]
        if self.score is not None and self.sample is not None:
            lines.append(f"k-marginal score: {self.score:.0f} of 1000, as good as a {self.sample:.1%} sample")
        lines.append(f"unique rows that are in the synthetic table: {self.unique_matches:,} of {self.unique_rows:,}")
        lines.append(f"a tree tells synthetic from real rows with an area under the curve of {self.propensity:.3f}")
        if self.accuracy is not None:
            each = self.accuracy
            lines.append(
                f"accuracy for {each.target!r}: {each.synthetic:.3f} trained on synthetic rows, "
                f"{each.real:.3f} on the data, {each.majority:.3f} by the most frequent value"
            )
        return lines


@short_traceback
def owner_quality(
    synthetic: "SyntheticTable", data: object, *, target: str | None = None, test: object = None
) -> OwnerQuality:
    """The quality of a synthetic table against the data: exact figures, for the owners of the data only.

    Args:
        synthetic: The released table.
        data: The rows it was made from: an Arrow table, or a frame that Arrow can read.
        target: Column that models predict. Default: none are trained.
        test: Other real rows that the models are tested on, where there is a target.

    Returns:
        The figures; print them.

    Raises:
        NameNotFoundError: If the data lack a column, or the target is not one.
        ParameterError: If there is a target without rows for testing, or a table is empty.
        UnsupportedError: If scikit-learn is not installed.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(2_000).select(["sex", "education_years"])
        >>> facts = {"bounds": {"education_years": (8, 22)}, "keys": {"sex": ["female", "male", "unspecified"]}}
        >>> budget = dp.Budget(epsilon=4, delta=1e-9)
        >>> session = dp.protect(people, name="people", privacy_unit=dp.ROW, budget=budget, ledger=":memory:", **facts)
        >>> table = session.release(dp.table("people").synthesize(dp.synthesis.TreeSynthesizer()), epsilon=2)
        >>> print(str(dp.synthesis.owner_quality(table, people)).splitlines()[0])
        quality of a synthetic table against the data
    """
    _sklearn("tree")
    columns = columns_from_json(synthetic.state["columns"])
    _check_target(target, test, synthetic.columns)
    real, drawn = encode_rows(columns, data), encode_rows(columns, synthetic.to_arrow())
    if min(len(real.codes), len(drawn.codes)) < 2:
        raise ParameterError(
            "quality against the data", because="one of the tables has fewer than 2 rows", instead="more rows"
        )
    generator = np.random.default_rng(synthetic.state["draw"])
    distances = marginal_distances(drawn, real, generator)
    three_way = distances.three_way
    return OwnerQuality(
        (len(real.codes), len(drawn.codes)),
        distances,
        None if three_way is None else k_marginal_score(three_way),
        None if three_way is None else sample_equivalent(real, three_way, distances.triples, generator),
        *unique_matches(real, drawn),
        propensity(real, drawn, generator),
        None if target is None else model_accuracy(real, drawn, encode_rows(columns, test), target),
    )


def unique_matches(real: SlotRows, drawn: SlotRows) -> tuple[int, int]:
    """The number of rows that are unique in the data, and how many of these stand in the drawn rows.

    A match is not a breach: a private table has it by chance, or because the row is a likely one.
    """
    both = np.concatenate([real.codes, drawn.codes])
    _, place = np.unique(both, axis=0, return_inverse=True)
    place = place.ravel()
    cells = int(place.max()) + 1
    own = np.bincount(place[: len(real.codes)], minlength=cells)
    others = np.bincount(place[len(real.codes) :], minlength=cells)
    return int((own == 1).sum()), int(((own == 1) & (others > 0)).sum())


def propensity(real: SlotRows, drawn: SlotRows, generator: np.random.Generator) -> float:
    """The area under the ROC curve of a decision tree that tells drawn from real rows.

    Both tables are cut to the same number of rows; half of the rows train the tree, and the others are scored.
    """
    number = min(len(real.codes), len(drawn.codes))
    sides = [generator.permutation(each.codes)[:number] for each in (real, drawn)]
    rows, half = np.concatenate(sides), number // 2
    is_drawn = np.repeat([0, 1], number)
    in_training = np.tile(np.arange(number) < half, 2)
    tree = _sklearn("tree").DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=0)
    tree.fit(rows[in_training], is_drawn[in_training])
    scores = tree.predict_proba(rows[~in_training])[:, -1]
    return float(_sklearn("metrics").roc_auc_score(is_drawn[~in_training], scores))


def model_accuracy(real: SlotRows, drawn: SlotRows, test: SlotRows, target: str) -> ModelAccuracy:
    """The accuracy on test rows of logistic regression that is trained on drawn rows, and on the data."""
    place = real.domain.names.index(target)
    most = int(np.bincount(real.codes[:, place]).argmax())
    return ModelAccuracy(
        target,
        _accuracy(drawn, test, place),
        _accuracy(real, test, place),
        float((test.codes[:, place] == most).mean()),
    )


def _accuracy(rows: SlotRows, test: SlotRows, place: int) -> float:
    labels, features = rows.codes[:, place], np.delete(rows.codes, place, axis=1)
    if len(np.unique(labels)) == 1:
        return float((test.codes[:, place] == labels[0]).mean())
    encoder = _sklearn("preprocessing").OneHotEncoder(handle_unknown="ignore")
    model = _sklearn("pipeline").make_pipeline(encoder, _sklearn("linear_model").LogisticRegression(max_iter=300))
    model.fit(features, labels)
    return float((model.predict(np.delete(test.codes, place, axis=1)) == test.codes[:, place]).mean())


def _check_target(target: str | None, test: object, names: tuple[str, ...]) -> None:
    if target is not None and target not in names:
        raise NameNotFoundError(
            f"target={target!r}", because="the synthetic table has no such column", instead=f"target={names[-1]!r}"
        )
    if (target is None) != (test is None):
        raise ParameterError(
            "a target or test rows alone",
            because="models are trained for a target and tested on other rows",
            instead=f"owner_quality(synthetic, data, target={names[-1]!r}, test=other_rows)",
        )


def _sklearn(part: str) -> Any:
    """A module of scikit-learn, which is an extra."""
    try:
        return import_module(f"sklearn.{part}")
    except ImportError:
        raise UnsupportedError(
            "quality against the data", because="scikit-learn is missing", instead='pip install "discreet[learning]"'
        ) from None
