"""Every exception of discreet, drawn as a tree.

    DiscreetError
    ├── Refusal                  before any data is read; a function of public facts, so it may be exact
    │   ├── ParameterError       a number or option outside its range (epsilon=0, NaN, lo > hi)
    │   ├── TableShapeError      rows for a model that are not a table of its columns; a ValueError too
    │   ├── NameNotFoundError    a table, column or key that the catalog does not know
    │   ├── TypeMismatchError    an operation that its operands' declared types do not allow
    │   ├── UnboundedError       an aggregate that one unit could move without limit
    │   ├── KeysError            a grouping whose keys are not public
    │   ├── UnitError            a privacy unit that is missing or cannot carry the guarantee
    │   ├── CatalogError         a catalog that contradicts itself
    │   ├── BudgetError          a charge that does not fit, or a privacy budget that may not be made
    │   ├── PendingError         a query that somebody else is answering just now
    │   ├── AccountingError      a formula outside its range, an event that an accountant does not know
    │   ├── ComparisonError      two guarantees that mean different things
    │   ├── SourceError          a source that cannot be opened, or is not the one registered
    │   ├── UnsupportedError     something that discreet does not do
    │   │   └── MissingExtraError  a part whose optional package is not installed; an AttributeError too
    │   ├── SqlError             a SQL statement, or a part of one, that has no translation
    │   ├── UnknownCallError     a name that discreet does not have; an AttributeError too
    │   └── ArgumentsError       a call whose arguments do not fit; a TypeError too
    ├── LedgerError              the ledger is damaged, newer than this library, or cannot be written
    ├── EntropyError             the operating system gives no randomness, so no noise can be drawn
    └── Failure                  after data was read: one constant sentence; the charge stands

A `Refusal` has three parts, kept as attributes for programs and printed for people:

    UnboundedError: sum of 'cost'
      because  the catalog declares no bounds for 'cost'
      instead  dp.sum("cost", bounds=(lo, hi)), or declare bounds in the catalog
"""

import difflib
import functools
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

from discreet.errors.calls import correction

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST_NAME = 200

FAILURE = "the query failed after its data was opened; its charge stands, and the owner's log has the details"


class DiscreetError(Exception):
    """Root of all exceptions that discreet raises on purpose.

    Example:
        >>> import discreet as dp
        >>> issubclass(dp.Refusal, dp.errors.DiscreetError)
        True
    """


class Refusal(DiscreetError):  # noqa: N818 - it is a refusal, not an error of ours
    """A request refused before any data is read.

    Attributes:
        what: What was refused.
        because: The reason.
        instead: What to do instead, as code where possible.

    Example:
        >>> import discreet as dp
        >>> try:
        ...     dp.sum("cost", bounds=(5_000, 0))
        ... except dp.Refusal as refusal:
        ...     print(refusal.instead)
        bounds=(0, 5000)
    """

    def __init__(self, what: str, *, because: str, instead: str) -> None:
        super().__init__(what, because, instead)
        self.what = what
        self.because = because
        self.instead = instead

    def __str__(self) -> str:
        return f"{self.what}\n  because  {self.because}\n  instead  {self.instead}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_refusal, (type(self), self.what, self.because, self.instead))


def _rebuild_refusal(kind: type[Refusal], what: str, because: str, instead: str) -> Refusal:
    return kind(what, because=because, instead=instead)


class ParameterError(Refusal):
    """A number or option outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.sum("cost", bounds=(5_000, 0))
        Traceback (most recent call last):
        discreet.errors.ParameterError: ...
    """


class TableShapeError(Refusal, ValueError):
    """Rows for a model that are not a table of the declared columns. It is also a `ValueError`, as in scikit-learn.

    Example:
        >>> import discreet as dp
        >>> issubclass(dp.errors.TableShapeError, ValueError)
        True
    """


class NameNotFoundError(Refusal):
    """A table, column or key that the catalog does not have.

    Example:
        >>> import discreet as dp
        >>> dp.Catalog(tables={}).table("visits")
        Traceback (most recent call last):
        discreet.errors.NameNotFoundError: ...
    """


class TypeMismatchError(Refusal):
    """An operation that the declared types of its operands do not allow.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(n=5)
        Traceback (most recent call last):
        discreet.errors.TypeMismatchError: ...
    """


class UnboundedError(Refusal):
    """An aggregate with unbounded sensitivity, because clipping bounds are missing.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> session.explain(dp.table("visits").agg(cost=dp.sum("cost")), epsilon=0.1)
        Traceback (most recent call last):
        discreet.errors.UnboundedError: ...
    """


class KeysError(Refusal):
    """A grouping whose keys are not public.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> session.explain(dp.table("visits").group_by("age").agg(n=dp.count()), epsilon=0.1)
        Traceback (most recent call last):
        discreet.errors.KeysError: ...
    """


class UnitError(Refusal):
    """A privacy unit that is missing or cannot be protected.

    Example:
        >>> import discreet as dp
        >>> dp.testing.protect(dp.datasets.visits(100), name="visits", budget=dp.Budget(epsilon=2))
        Traceback (most recent call last):
        discreet.errors.UnitError: ...
    """


class CatalogError(Refusal):
    """A catalog that is contradictory or ambiguous.

    Example:
        >>> import discreet as dp
        >>> dp.Catalog.parse("tables: nothing")
        Traceback (most recent call last):
        discreet.errors.CatalogError: ...
    """


class BudgetError(Refusal):
    """A charge that exceeds the privacy budget, or a budget that is not allowed.

    Example:
        >>> import discreet as dp
        >>> dp.Budget(epsilon=20)
        Traceback (most recent call last):
        discreet.errors.BudgetError: ...
    """


class PendingError(Refusal):
    """A query that another process is answering; nothing is charged.

    Example:
        >>> import discreet as dp
        >>> issubclass(dp.errors.PendingError, dp.Refusal)
        True
    """


class AccountingError(Refusal):
    """A formula outside its range, or an event that an accountant does not know.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.Gaussian(sensitivity=1, epsilon=1, delta=0)
        Traceback (most recent call last):
        discreet.errors.AccountingError: ...
    """


class ComparisonError(Refusal):
    """A comparison of guarantees with different privacy units, neighbour relations or deltas.

    Example:
        >>> import discreet as dp
        >>> from discreet.catalog.privacy_unit import unit_of
        >>> dp.Guarantee(1, 0, unit_of("patient_id"), "one") < dp.Guarantee(1, 0, unit_of(dp.ROW), "other")
        Traceback (most recent call last):
        discreet.errors.ComparisonError: ...
    """


class SourceError(Refusal):
    """A source that cannot be opened, or differs from the registered one.

    Example:
        >>> import discreet as dp
        >>> dp.testing.protect("patients.csv", privacy_unit="patient_id", budget=dp.Budget(epsilon=2))
        Traceback (most recent call last):
        discreet.errors.SourceError: ...
    """


class UnsupportedError(Refusal):
    """An operation that discreet does not support.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").age % 10
        Traceback (most recent call last):
        discreet.errors.UnsupportedError: ...
    """


class SqlError(Refusal):
    """A SQL statement, or a part of one, that has no translation; the message has its place.

    Example:
        >>> import discreet as dp
        >>> dp.sql("DELETE FROM visits")
        Traceback (most recent call last):
        discreet.errors.SqlError: ...
    """


class MissingExtraError(UnsupportedError, AttributeError):
    """A part of discreet whose optional package is not installed. Also an `AttributeError`, so `hasattr` is false.

    Example:
        >>> import discreet as dp
        >>> raise dp.errors.missing_extra("an audit", "scipy", "audit")
        Traceback (most recent call last):
        discreet.errors.MissingExtraError: ...
    """


def missing_extra(what: str, package: str, extra: str) -> MissingExtraError:
    """Error for a part of discreet whose optional package is not installed.

    Args:
        what: The part.
        package: The package.
        extra: The extra that installs it.

    Returns:
        The error, to raise.

    Example:
        >>> import discreet as dp
        >>> dp.errors.missing_extra("an audit", "scipy", "audit").instead
        'pip install "discreet[audit]"'
    """
    return MissingExtraError(
        what,
        because=f"{package} is an optional package and is not installed",
        instead=f'pip install "discreet[{extra}]"',
    )


class UnknownCallError(Refusal, AttributeError):
    """A name that discreet does not have. It is also an `AttributeError`, so `hasattr` is false.

    Example:
        >>> import discreet as dp
        >>> hasattr(dp, "max")
        False
        >>> dp.max
        Traceback (most recent call last):
        discreet.errors.UnknownCallError: ...
    """


class ArgumentsError(Refusal, TypeError):
    """A call whose arguments do not fit; `instead` is the corrected call. It is also a `TypeError`.

    Example:
        >>> import discreet as dp
        >>> dp.Budget(eps=1)
        Traceback (most recent call last):
        discreet.errors.ArgumentsError: ...
    """


class LedgerError(DiscreetError):
    """The ledger is damaged, newer than this library, or cannot be written.

    Example:
        >>> from pathlib import Path
        >>> import discreet as dp
        >>> _ = Path("other.sqlite").write_text("something else")
        >>> dp.SQLiteLedger("other.sqlite")
        Traceback (most recent call last):
        discreet.errors.LedgerError: ...
    """


class EntropyError(DiscreetError):
    """The operating system gives no randomness, so no noise can be drawn and nothing is released.

    Example:
        >>> from unittest import mock
        >>> import discreet as dp
        >>> with mock.patch("os.urandom", side_effect=OSError):
        ...     dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1).release(14_237)
        Traceback (most recent call last):
        discreet.errors.EntropyError: ...
    """


class Failure(DiscreetError):  # noqa: N818 - a failure after data, told apart from refusals
    """A failure after data was read. Its message is one constant sentence, and its charge stands.

    Example:
        >>> import discreet as dp
        >>> str(dp.Failure()) == dp.errors.FAILURE
        True
    """

    def __init__(self) -> None:
        super().__init__(FAILURE)

    def __reduce__(self) -> tuple[object, ...]:
        return (Failure, ())


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name nearest to a misspelt one, or a list of the known names.

    Args:
        name: The misspelt name.
        known: The known names.

    Returns:
        A name, or text that lists some.

    Example:
        >>> import discreet as dp
        >>> dp.errors.suggestion("agee", ["age", "ward"])
        'age'
    """
    names = list(known)
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    nearest = difflib.get_close_matches(name[:_LONGEST_NAME].casefold(), folded, n=1, cutoff=0.6)
    if nearest:
        return folded[nearest[0]]
    if not names:
        return "none: no name is known here"
    shown = ", ".join(repr(n) for n in names[:12])
    return f"one of {shown}" + (", ..." if len(names) > 12 else "")


def short_traceback(call: Callable[P, T]) -> Callable[P, T]:
    """Decorator of public calls: errors of discreet and interrupts are raised with one frame of traceback.

    Arguments that do not fit the signature are refused with the corrected call.

    Args:
        call: The function.

    Returns:
        The guarded function.

    Raises:
        ArgumentsError: If the guarded function is called with arguments that do not fit.

    Example:
        >>> import discreet as dp
        >>> @dp.errors.short_traceback
        ... def double(number):
        ...     return 2 * number
        >>> double(3)
        6
    """

    @functools.wraps(call)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        caught: BaseException
        try:
            return call(*args, **kwargs)
        except (DiscreetError, KeyboardInterrupt) as error:
            caught = error
        except TypeError:
            corrected = correction(call, args, kwargs)
            if corrected is None:
                raise
            what, because, instead = corrected
            caught = ArgumentsError(what, because=because, instead=instead)
        caught.__context__ = None
        raise caught.with_traceback(None)

    return wrapper


_GUARD: CodeType = short_traceback(suggestion).__code__


def public_class(kind: type[T]) -> type[T]:
    """Class decorator: apply `short_traceback` to the constructor and to each public method that the class defines.

    Args:
        kind: The class.

    Returns:
        The same class.

    Raises:
        ArgumentsError: If a guarded method is called with arguments that do not fit.

    Example:
        >>> import discreet as dp
        >>> @dp.errors.public_class
        ... class Doubler:
        ...     def double(self, number):
        ...         return 2 * number
        >>> Doubler().double(3)
        6
    """
    own: dict[str, Any] = dict(vars(kind))
    for name, value in own.items():
        if name.startswith("_") and name not in ("__init__", "__new__"):
            continue
        if isinstance(value, classmethod | staticmethod):
            if value.__func__.__code__ is not _GUARD:
                setattr(kind, name, type(value)(short_traceback(value.__func__)))
        elif isinstance(value, FunctionType) and value.__code__ is not _GUARD:
            setattr(kind, name, short_traceback(value))
    return kind
