"""Every exception of discreet, drawn as a tree.

    DiscreetError
    ├── Refusal                  before any data is read; a function of public facts, so it may be exact
    │   ├── ParameterError       a number or option outside its range (epsilon=0, NaN, lo > hi)
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

from discreet.calls import correction

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST_NAME = 200

FAILURE = "the query failed after its data was opened; its charge stands, and the owner's log has the details"


class DiscreetError(Exception):
    """The root of every exception that discreet raises on purpose."""


class Refusal(DiscreetError):  # noqa: N818 - it is a refusal, not an error of ours
    """A request turned down before any data was read: what, because, instead."""

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
    """A number or option outside its range."""


class NameNotFoundError(Refusal):
    """A table, column or key that the catalog does not know."""


class TypeMismatchError(Refusal):
    """An operation that its operands' declared types do not allow."""


class UnboundedError(Refusal):
    """An aggregate that one unit could move without limit."""


class KeysError(Refusal):
    """A grouping whose keys are not public."""


class UnitError(Refusal):
    """A privacy unit that is missing or cannot carry the promise."""


class CatalogError(Refusal):
    """A catalog that contradicts itself."""


class BudgetError(Refusal):
    """A charge that does not fit, or a promise that may not be made."""


class PendingError(Refusal):
    """A question that somebody else is answering just now."""


class AccountingError(Refusal):
    """A formula outside its range, or an event that an accountant does not know."""


class ComparisonError(Refusal):
    """Two guarantees that mean different things."""


class SourceError(Refusal):
    """A source that cannot be opened, or is not the one registered."""


class UnsupportedError(Refusal):
    """Something that discreet does not do, and why."""


class UnknownCallError(Refusal, AttributeError):
    """A name that discreet does not have, with what it is called here; `hasattr` says no."""


class ArgumentsError(Refusal, TypeError):
    """A call whose arguments do not fit, with the call to type; callers that expect a TypeError get one."""


class LedgerError(DiscreetError):
    """The ledger is damaged, newer than this library, or cannot be written."""


class EntropyError(DiscreetError):
    """The operating system gives no randomness, so no noise can be drawn and nothing is released."""


class Failure(DiscreetError):  # noqa: N818 - a failure after data, told apart from refusals
    """After data was read: one constant sentence, whatever happened."""

    def __init__(self) -> None:
        super().__init__(FAILURE)

    def __reduce__(self) -> tuple[object, ...]:
        return (Failure, ())


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name nearest to a misspelt one, or a list of what is known."""
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
    """Public calls raise refusals and interrupts from one frame: a person sees their own line and the reason.

    Arguments that do not fit the signature are refused with the corrected call.
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
    """Guard the constructor and every public method that a class defines, as `short_traceback` guards a function."""
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
