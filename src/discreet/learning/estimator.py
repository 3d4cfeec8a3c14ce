"""The base of all estimators: the interface of scikit-learn over learners that receive noisy sums alone.

The order of a fit: what was declared is checked; the learner is made from public facts; its event is charged to the
account; only then are cells read. Errors before the charge are exact, errors after it are one constant sentence. Rows
without a declared class, with a target that is not a number, or without a person contribute nothing.

`score` and other functions of scikit-learn compute on the rows they are given, without noise and without a charge: give
them public rows, or release scores of private rows by `dp.learning.evaluate`.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.catalog.privacy_unit import ROW, unit_of
from discreet.errors import Failure, ParameterError, TableShapeError, public_class
from discreet.exact.numbers import Number, whole
from discreet.learning import artefacts
from discreet.learning.core.account import BudgetAccount, account_of
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE, Floats, Integers
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.question import SessionTraining, training_of
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import NoisySums, PeopleInMemory
from discreet.learning.sklearn_protocol import SklearnProtocol
from discreet.learning.tables import (
    CountedRows,
    OpenRows,
    TableView,
    column_places,
    counted_rows,
    encode_table,
    of_length,
    open_cells,
    open_table,
    require_readable,
)
from discreet.plan.models import ModelFacts
from discreet.planner.budget.allocation import Spending, spending
from discreet.release.guarantee import Guarantee
from discreet.release.model import ATTACHED

# isort: split
# after the modules of discreet, which say what to install where scikit-learn is missing
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

T = TypeVar("T")
Features = Mapping[str, DeclaredFeature] | DeclaredFeature


@public_class
class PrivateEstimator(SklearnProtocol):
    """Base of the estimators: arguments are stored as given, and `fit` charges before it reads.

    Attributes:
        features: Declaration of each column by its name, or one declaration for all columns.
        size: Approximate number of people, declared.
        budget: Account that fits are charged to; clones share it.
        epsilon: Epsilon of one fit. Default: the whole epsilon of the account's budget.
        rho: The same as a rho of zero-concentrated privacy.
        neighbours: Which two tables must be hard to tell apart: "add_remove" or "replace_one" a person.
    """

    features: Features | None
    size: int | None
    budget: BudgetAccount | None
    epsilon: Number | None
    rho: Number | None
    neighbours: str
    model_: PublicModel
    event_: events.Event
    guarantee_: str
    features_: dict[str, DeclaredFeature]
    _sums: ClassVar[type[NoisySums]] = NoisySums
    _model_class: ClassVar[type[PublicModel]]

    def learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> Learner:
        """The algorithm with all its public parameters.

        Args:
            features: Declared features by column.
            rho: Privacy cost of the training.
            replace_one: Whether neighbours differ by a replaced person.

        Returns:
            The learner.

        Raises:
            ParameterError: If a parameter is outside its range.
        """
        return self._learner(features, rho, replace_one=replace_one)

    def _learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> Learner:
        """The learner, with parameters that were checked."""
        raise NotImplementedError

    def training(self, facts: ModelFacts) -> SessionTraining:
        """The training in a session, which `dp.table(...).fit` asks for.

        Args:
            facts: What the catalog declares, and the privacy cost.

        Returns:
            The training.

        Raises:
            ParameterError: If something needed is not declared.
        """
        return training_of(self, facts)

    @classmethod
    def model_from_json(cls, data: dict[str, Any]) -> PublicModel:
        """The model that `PublicModel.to_json` wrote.

        Args:
            data: Plain data.

        Returns:
            The model.
        """
        return cls._model_class.from_json(data)

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:  # noqa: N803 - the name of scikit-learn
        """Train a private model; its whole cost is charged before a cell is read.

        Args:
            X: Table of rows: pandas, Polars, Arrow, numpy or lists.
            y: Target of each row.
            groups: Person of each row. Default: each row is a person. Ids are read as cells are: 7, 7.0 and "007" are
                one person, and numbers of 2^53 and more name nobody (write a letter before them).

        Returns:
            The estimator.

        Raises:
            BudgetError: If the cost does not fit the account.
            ParameterError: If something needed is not declared, or does not fit.
            Failure: If reading or training failed after the charge.
        """
        rows = self._open_rows(X, y, groups)
        features = self._table_features(rows.table)
        spent = self._spending()
        unit = unit_of(ROW if rows.people is None else "person", self.neighbours)  # type: ignore[arg-type]
        learner = self.learner(features, spent.amount, replace_one=self.neighbours == "replace_one")
        event = learner.schedule.event
        self._charge(event)
        model = self._guard(lambda: self._train(learner, self._read_rows(rows, features).blocks()))
        return self.adopt(model, features, event, str(Guarantee(spent.epsilon, spent.delta, unit, "this fit")))

    def adopt(
        self, model: PublicModel, features: Mapping[str, DeclaredFeature], event: events.Event, guarantee: str
    ) -> Self:
        """Become fitted with a model that was trained and charged elsewhere.

        Args:
            model: The model.
            features: Declared features by column, in the order of its codes.
            event: The event that was charged.
            guarantee: What the model reveals, in words.

        Returns:
            The estimator.
        """
        self._set_target_facts()
        for name in ATTACHED:
            self.__dict__.pop(name, None)
        self.model_, self.event_, self.guarantee_ = model, event, self._guarantee_text(guarantee)
        self.features_ = dict(features)
        self.n_features_in_ = len(self.features_)
        if self.has_names:
            self.feature_names_in_ = np.asarray(list(self.features_), dtype=object)
        return self

    def _set_target_facts(self) -> None:
        """What a fitted estimator says of its target; a classifier has its labels."""

    def _guarantee_text(self, guarantee: str) -> str:
        """The guarantee with what it does not cover."""
        return guarantee

    def save(self, path: Any) -> None:
        """Write the fitted model as JSON, without any row: declared facts, the model, its event and guarantee.

        A model that a session released is written with its release: the file is that of `model.release.save`.

        Args:
            path: Path of the file, which ends in .json.

        Raises:
            UnsupportedError: If the name ends otherwise.
            ParameterError: If the directory is not there.
        """
        check_is_fitted(self, "model_")
        release = self.__dict__.get("release")
        if release is None:
            artefacts.write(path, self)
        else:
            release.save(path)

    @property
    def has_names(self) -> bool:
        """Whether features are declared by the names of columns."""
        return isinstance(self.features, Mapping)

    def declared_size(self) -> int:
        """The declared number of people.

        Returns:
            The number.

        Raises:
            ParameterError: If none was declared.
        """
        if self.size is None:
            raise ParameterError(
                f"{type(self).__name__} without size",
                because="the number of people is private, so an approximate one is declared",
                instead="size=30_000",
            )
        return whole(self.size, "size")

    def _spending(self) -> Spending:
        """What one fit costs, from the budget of the account."""
        budget = account_of(self.budget, type(self).__name__).budget
        if not budget.conversion_delta:
            raise ParameterError(
                "a fit under a pure privacy budget",
                because="Gaussian noise has no finite epsilon without a delta",
                instead="budget=dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))",
            )
        epsilon = budget.epsilon if self.epsilon is None and self.rho is None else self.epsilon
        return spending(budget, epsilon=epsilon, rho=self.rho, mechanism="gaussian")

    def _charge(self, event: events.Event) -> None:
        account_of(self.budget, type(self).__name__).charge(event)

    def _guard(self, work: Callable[[], T]) -> T:
        """Work after the charge: neither an error nor a warning says anything of a cell."""
        if not self._is_private:
            return work()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return work()
        except Exception:  # noqa: BLE001 - the text of any error may quote a cell
            raise Failure from None

    def _train(self, learner: Learner, blocks: Sequence[EncodedRows]) -> PublicModel:
        return learner.train(self._sums(PeopleInMemory(blocks), learner.schedule))

    def _table_features(self, table: TableView) -> dict[str, DeclaredFeature]:
        """The declared features, in their order; the columns of the table are these."""
        if isinstance(self.features, DeclaredFeature):
            require_readable(self.features.values, "the category")
            return {f"x{place}": self.features for place in range(table.width)}
        if not isinstance(self.features, Mapping) or not self.features:
            raise _undeclared(f"{type(self).__name__} without features")
        if not all(isinstance(each, DeclaredFeature) for each in self.features.values()):
            raise _undeclared("features that are not declared")
        column_places(table, list(self.features), type(self).__name__)
        for feature in self.features.values():
            require_readable(feature.values, "the category")
        return dict(self.features)

    def _open_rows(self, X: Any, y: Any, groups: Any) -> OpenRows:  # noqa: N803 - the name of scikit-learn
        """The shape of what a fit or an evaluation reads, checked; no cell is read."""
        table = open_table(X)
        target = self._open_target(y, table)
        people = None if groups is None else of_length(open_cells(groups, "groups"), table, "groups")
        return OpenRows(table, target, people)

    def _read_rows(self, rows: OpenRows, features: dict[str, DeclaredFeature]) -> CountedRows:
        """The rows as codes: cells are read here, after the charge, and nowhere before."""
        places = column_places(rows.table, list(features), type(self).__name__, by_name=self.has_names)
        codes = encode_table(rows.table, places, list(features.values()))
        return counted_rows(codes, *self.target_steps(rows.target), rows.people)

    def _open_target(self, y: Any, table: TableView) -> Any:
        if y is None:
            raise TableShapeError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                because="a model is fitted to targets",
                instead="model.fit(X, y)",
            )
        cells = of_length(open_cells(y, "y"), table, "y")
        if len(getattr(y, "shape", ())) == 2:
            warnings.warn("A column-vector y was passed when a 1d array was expected", DataConversionWarning, 4)
        return cells

    def target_steps(self, target: Any) -> tuple[Integers, NDArray[np.bool_]]:
        """The target of each row as the learner reads it, and whether the row counts.

        Args:
            target: Cells: an Arrow or numpy array.

        Returns:
            Numbers of classes, or steps; and whether each row counts.
        """
        raise NotImplementedError

    def _scores(self, X: Any) -> Floats:  # noqa: N803 - the name of scikit-learn
        """The scores of the model, where 1.0 is a logit or half the width of the bounds."""
        check_is_fitted(self, "model_")
        table = open_table(X)
        places = column_places(table, list(self.features_), type(self).__name__, by_name=self.has_names)
        codes = encode_table(table, places, list(self.features_.values()))
        return np.asarray(self.model_.scores(codes), dtype=np.float64) / ONE


def _undeclared(what: str) -> ParameterError:
    return ParameterError(
        what,
        because="bins and categories are declared, never read from rows",
        instead='features={"age": dp.learning.linear_bins(17, 90)}',
    )
