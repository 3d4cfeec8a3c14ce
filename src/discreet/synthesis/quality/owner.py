"""The quality of a synthetic table against the data: exact figures about people, for the owners of the data alone.

Everything is computed on slots. Nothing is charged, stored or released. References: Snoke, Raab, Nowok, Dibben and
Slavkovic, General and specific utility measures for synthetic data, JRSS A 2018 (propensity by CART).
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.anonymity.linkage.attack_rates import AttackRisk
from discreet.anonymity.owners import OwnerResult, plain_data
from discreet.errors import NameNotFoundError, ParameterError, UnsupportedError, short_traceback
from discreet.home.durable_files import write_file
from discreet.plan.slots import columns_from_json
from discreet.release.quality.files import require_page_place
from discreet.release.quality.page import quality_page
from discreet.release.quality.shares import ColumnShares
from discreet.release.synthetic import has_levels
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.quality.column_shares import column_shares
from discreet.synthesis.quality.distances import (
    MarginalDistances,
    SlotRows,
    k_marginal_score,
    marginal_distances,
    sample_equivalent,
)
from discreet.synthesis.quality.encoding import encode_rows
from discreet.synthesis.quality.membership import membership_line, require_finding
from discreet.synthesis.quality.owner_page import owner_page
from discreet.synthesis.quality.risk import attack_risks, risk_line

if TYPE_CHECKING:
    from discreet.auditing.finding import Finding
    from discreet.release.synthetic import SyntheticTable

_LEAF = 20
"""Rows of a leaf of the tree that tells synthetic rows from real ones."""
_EXCESS = "A risk is the excess over people who were not synthesized, at 95%. Other attacks may succeed."


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
        risks: Risks of singling out, linkability and inference; none without rows for the control.
        membership: The finding of `dp.synthesis.audit_membership`, where it is given.
        columns: Shares of single columns, of the data and of synthetic rows.
        dataset: Name of the dataset.
        guarantee: The guarantee of the release, as a sentence.
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
    risks: tuple[AttackRisk, ...] = ()
    membership: "Finding | None" = None
    columns: tuple[ColumnShares, ...] = ()
    dataset: str = ""
    guarantee: str = ""

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data, with the stamp.

        Returns:
            A dict for JSON.
        """
        figures = {name: value for name, value in vars(self).items() if name != "columns"}
        figures["distances"] = {name: value for name, value in vars(self.distances).items() if name != "triples"}
        figures["distances"]["pairs"] = [[list(pair), distance] for pair, distance in self.distances.pairs]
        figures["accuracy"] = None if self.accuracy is None else dict(vars(self.accuracy))
        names = ("subject", "claim", "stated", "found", "evidence", "alarm")
        found = self.membership
        figures["membership"] = None if found is None else {name: getattr(found, name) for name in names}
        figures["risks"] = [
            plain_data(each) | {"risk": each.risk, "interval": list(each.interval), "verdict": each.verdict}
            for each in self.risks
        ]
        return super().to_json() | {"schema": "discreet.synthesis.quality/1", "figures": figures}

    def to_html(self) -> str:
        """The figures and risks with pictures as one HTML page that needs nothing else, with the stamp.

        Returns:
            The text of the page.
        """
        return quality_page(owner_page(self))

    def save(self, path: str | Path) -> Path:
        """Write the page of `to_html` to a file that you alone can read.

        Args:
            path: Path of the HTML file; an earlier page is replaced, a file of another kind is not.

        Returns:
            The path.

        Raises:
            ParameterError: If the name does not end in .html, the directory is not there, or a file of another kind is.
        """
        place = require_page_place(path)
        write_file(place, lambda file: file.write(self.to_html().encode()))
        return place

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
        lines += [*map(risk_line, self.risks), *([_EXCESS] if self.risks else [])]
        return lines if self.membership is None else [*lines, membership_line(self.membership)]


@short_traceback
def owner_quality(
    synthetic: "SyntheticTable",
    data: object,
    *,
    target: str | None = None,
    test: object = None,
    learn: str | None = None,
    membership: "Finding | None" = None,
) -> OwnerQuality:
    """The quality and the risks of a synthetic table against the data: exact figures, for the owners of the data only.

    Distances to the nearest synthetic row are not offered: they are not evidence of privacy. Risks are those of attacks
    that were run, above their success on people whose rows were not synthesized.

    Args:
        synthetic: The released table.
        data: The rows it was made from: an Arrow table, or a frame that Arrow can read.
        target: Column that models predict. Default: none are trained.
        test: Other real rows of the same population, which were not synthesized. Models are tested on them, and attacks
            have them as the control group. Default: neither.
        learn: Column that an attacker wants to learn. Default: the target, or the last column.
        membership: The finding of `dp.synthesis.audit_membership` on the same data, of the same synthesizer at the
            epsilon that was charged, to report beside. Default: none.

    Returns:
        The figures; print them.

    Raises:
        NameNotFoundError: If the data lack a column, or `target` or `learn` is not one.
        ParameterError: If there is a target without rows for testing, a table is empty, or the finding is about
            another synthesizer or epsilon.
        UnsupportedError: If the table has two levels, or scikit-learn is not installed.

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
    _refuse_levels(synthetic)
    _sklearn("tree")
    require_finding(membership, synthetic)
    columns = columns_from_json(synthetic.state["columns"])
    _check_names(target, test, learn, synthetic.columns)
    table, secret = synthetic.to_arrow(), learn or target or synthetic.columns[-1]
    real, drawn = encode_rows(columns, data), encode_rows(columns, table)
    other = None if test is None else encode_rows(columns, test)
    if min(len(each.codes) for each in (real, drawn, other) if each is not None) < 2:
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
        None if target is None or other is None else model_accuracy(real, drawn, other, target),
        () if other is None else attack_risks(columns, data, table, test, learn=secret, generator=generator),
        membership,
        tuple(column_shares(each, *(_shares(rows, each.name) for rows in (real, drawn))) for each in columns),
        synthetic.dataset,
        str(synthetic.label),
    )


def _shares(rows: SlotRows, name: str) -> Floats:
    shares: Floats = rows.marginal((name,)) / len(rows.codes)
    return shares


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


def _refuse_levels(synthetic: "SyntheticTable") -> None:
    if has_levels(synthetic.state):
        raise UnsupportedError(
            "quality of a two-level table against the data",
            because="it compares rows, and a two-level table has persons and visits",
            instead="a table by dp.synthesis.TreeSynthesizer(), or table.quality()",
        )


def _check_names(target: str | None, test: object, learn: str | None, names: tuple[str, ...]) -> None:
    for word, name in (("target", target), ("learn", learn)):
        if name is not None and name not in names:
            raise NameNotFoundError(
                f"{word}={name!r}", because="the synthetic table has no such column", instead=f"{word}={names[-1]!r}"
            )
    if test is None and (target is not None or learn is not None):
        raise ParameterError(
            "a target without test rows" if target is not None else "a column to learn without test rows",
            because="models are tested on other rows, and attacks are compared with them",
            instead=f"owner_quality(synthetic, data, target={target or names[-1]!r}, test=other_rows)",
        )


def _sklearn(part: str) -> Any:
    """A module of scikit-learn, which is an extra."""
    try:
        return import_module(f"sklearn.{part}")
    except ImportError:
        raise UnsupportedError(
            "quality against the data", because="scikit-learn is missing", instead='pip install "discreet[learning]"'
        ) from None
