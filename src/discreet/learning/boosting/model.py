"""The model that boosting makes: a table of integers for every term, whose entries a row's score adds up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.learning.boosting.objectives import Objective
from discreet.learning.boosting.terms import Term, terms_of
from discreet.learning.core.features import DeclaredFeature, feature_from_json
from discreet.learning.core.lattice import ONE, Integers
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.rows import Codes

KIND = "additive"


@public_class
@dataclass(frozen=True, eq=False)
class AdditiveModel(PublicModel):
    """An additive model: the score of a row adds up one entry of each term's table.

    Everything in it comes from noisy sums, so all of it may be published.

    Attributes:
        features: The declared features, in the order of their columns.
        interactions: Pairs of features that have a table of their own.
        objective: The loss for which the tables were made.
        terms: Each feature, then each pair.
        tables: For each term the contributions in steps of 2^-20: a row for each place, a column for each output.
        weights: For each term a noisy weight of each place, from the Hessian sums of its trees.

    Example:
        >>> import discreet as dp
        >>> dp.learning.AdditiveModel.__name__
        'AdditiveModel'
    """

    features: Mapping[str, DeclaredFeature]
    interactions: tuple[tuple[str, str], ...]
    objective: Objective
    terms: tuple[Term, ...]
    tables: tuple[Integers, ...]
    weights: tuple[Integers, ...]

    @classmethod
    def empty(
        cls, features: Mapping[str, DeclaredFeature], interactions: Sequence[tuple[str, str]], objective: Objective
    ) -> Self:
        """The model before the first tree.

        Args:
            features: The declared features, in the order of their columns.
            interactions: Pairs of features that have a table of their own.
            objective: The loss.

        Returns:
            The model, with tables of zeros.

        Raises:
            ParameterError: If an interaction is not a pair of two declared features.
        """
        terms = terms_of(features, interactions)
        tables = tuple(np.zeros((term.size, objective.outputs), dtype=np.int64) for term in terms)
        weights = tuple(np.zeros(term.size, dtype=np.int64) for term in terms)
        return cls(dict(features), tuple(map(_pair, interactions)), objective, terms, tables, weights)

    def scores(self, codes: Codes) -> Integers:
        """Scores of rows in steps of 2^-20.

        Args:
            codes: The slot of each feature, one row for each row.

        Returns:
            One column for two classes or a number, else one for each class.
        """
        found = np.zeros((len(codes), self.objective.outputs), dtype=np.int64)
        for term, table in zip(self.terms, self.tables, strict=True):
            found += table[term.places(codes)]
        return found

    def grow(self, number: int, table: Integers, weight: Integers) -> Self:
        """The model with one tree more.

        Args:
            number: The number of the tree's term.
            table: What the tree adds to the term's table.
            weight: The noisy weight of each place.

        Returns:
            The model.
        """
        tables, weights = list(self.tables), list(self.weights)
        tables[number], weights[number] = tables[number] + table, weights[number] + weight
        return replace(self, tables=tuple(tables), weights=tuple(weights))

    @short_traceback
    def shape(self, feature: str | tuple[str, str], *, output: int = 0) -> pa.Table:
        """What a feature or a pair adds to the score, for each of its slots: a shape function.

        Args:
            feature: Name of a feature, or a pair among the interactions.
            output: Number of the class; 0 for two classes or a number. Default 0.

        Returns:
            A table: the label of each slot, its contribution with average 0, and its noisy share of the weight.

        Raises:
            ParameterError: If the model has no such term or output.
        """
        names = (feature,) if isinstance(feature, str) else tuple(feature)
        number = self._number(names)
        if not 0 <= output < self.objective.outputs:
            raise ParameterError(
                f"output {output} of a model with {self.objective.outputs}",
                because="outputs are numbered from 0",
                instead="model.shape(feature, output=0)",
            )
        labels = [self.features[name].labels() for name in names]
        columns = np.meshgrid(*(np.arange(len(each)) for each in labels), indexing="ij")
        places = {
            name: [each[place] for place in column.ravel()]
            for name, each, column in zip(names, labels, columns, strict=True)
        }
        found, shares = self._contributions(number)
        return pa.table(places | {"contribution": found[:, output], "weight": shares})

    def importance(self) -> dict[str, float]:
        """How much each term moves the score: its weighted mean absolute contribution, largest first.

        Returns:
            The importance of each term, by name; a pair is named "first x second".
        """
        names = [*((name,) for name in self.features), *self.interactions]
        sizes = []
        for number in range(len(names)):
            found, shares = self._contributions(number)
            sizes.append(float(shares @ np.abs(found).mean(axis=1)))
        order = sorted(range(len(names)), key=lambda number: -sizes[number])
        return {" x ".join(names[number]): sizes[number] for number in order}

    def _contributions(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        weights = np.maximum(self.weights[number], 0).astype(np.float64)
        shares = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
        found = self.tables[number] / ONE
        return found - shares @ found, shares

    def _number(self, names: tuple[str, ...]) -> int:
        all_names = [*((name,) for name in self.features), *self.interactions]
        if names not in all_names:
            raise ParameterError(
                f"the shape of {' x '.join(names)}",
                because="the model has no such term",
                instead=f"model.shape({next(iter(self.features))!r})",
            )
        return all_names.index(names)

    def to_json(self) -> dict[str, Any]:
        """The model as plain data.

        Returns:
            What `from_json` reads.
        """
        return {
            "kind": KIND,
            "features": [[name, feature.to_json()] for name, feature in self.features.items()],
            "interactions": [list(pair) for pair in self.interactions],
            "classes": self.objective.classes,
            "tables": [table.tolist() for table in self.tables],
            "weights": [weight.tolist() for weight in self.weights],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The model that `to_json` wrote.

        Args:
            data: Plain data.

        Returns:
            The model.

        Raises:
            ParameterError: If the data are not those of such a model.
        """
        try:
            features = {str(name): feature_from_json(each) for name, each in data["features"]}
            model = cls.empty(features, [_pair(pair) for pair in data["interactions"]], Objective(int(data["classes"])))
            tables = tuple(map(_integers, data["tables"]))
            weights = tuple(map(_integers, data["weights"]))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as fault:
            raise _unreadable() from fault
        if data.get("kind") != KIND or _shapes(tables + weights) != _shapes(model.tables + model.weights):
            raise _unreadable()
        return replace(model, tables=tables, weights=weights)


def _pair(pair: Sequence[str]) -> tuple[str, str]:
    first, second = pair
    return str(first), str(second)


def _shapes(arrays: Sequence[Integers]) -> list[tuple[int, ...]]:
    return [array.shape for array in arrays]


def _integers(values: Any) -> Integers:
    found = np.array(values)
    if found.dtype != np.int64:
        raise TypeError("numbers that are not whole")
    return found


def _unreadable() -> ParameterError:
    return ParameterError(
        "data of another kind of model",
        because="an additive model has features, tables and weights of whole numbers",
        instead="AdditiveModel.from_json(model.to_json())",
    )
