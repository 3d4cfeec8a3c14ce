"""Every public callable refuses arguments that do not fit, with a call that fits: never a bare TypeError."""

import ast
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterator

import pytest

import discreet as dp
from discreet.errors import ArgumentsError, DiscreetError
from discreet.ledger import PostgresLedger, open_ledger
from discreet.query.expression import Expr
from discreet.query.frame import Frame, GroupedFrame, Query
from discreet.release.remaining import Remaining
from discreet.session.above_threshold import SparseVector
from discreet.session.online_ranges import OnlineRanges

MANY = tuple(range(60))
HANDED_OUT = (Frame, GroupedFrame, Query, Expr, Remaining, SparseVector, OnlineRanges, PostgresLedger, open_ledger)


def _names(module: types.ModuleType) -> list[str]:
    """What a module exports; of a module without a list, what it defines under a public name."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def _is_made(kind: type) -> bool:
    """Whether people make such things by calling the class: no protocol, no choice of words, no exception."""
    is_ours = kind.__module__.startswith("discreet") and kind.__init__ is not object.__init__
    return is_ours and not getattr(kind, "_is_protocol", False) and not issubclass(kind, enum.Enum | BaseException)


def _methods(path: str, kind: type) -> Iterator[tuple[str, Callable]]:
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        if name.startswith("_") or not callable(getattr(kind, name)) or isinstance(value, type):
            continue
        if str(getattr(getattr(kind, name), "__module__", "")).startswith("discreet"):
            yield f"{path}.{name}", getattr(kind, name)


def _public(path: str, thing: object, seen: set[int]) -> Iterator[tuple[str, Callable]]:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, types.ModuleType):
        if thing.__name__.startswith("discreet"):
            for name in _names(thing):
                yield from _public(f"{path}.{name}", getattr(thing, name), seen)
    elif inspect.isclass(thing):
        if _is_made(thing):
            yield path, thing
            yield from _methods(path, thing)
    elif callable(thing) and typing.get_origin(thing) is None:
        yield path, thing


def _all() -> dict[str, Callable]:
    seen: set[int] = set()
    roots = [("dp", dp), *((kind.__name__, kind) for kind in HANDED_OUT)]
    found = [pair for path, thing in roots for pair in _public(path, thing, seen)]
    # The client is one file that imports nothing of ours, so that it can be copied to a device.
    return {path: call for path, call in found if not path.startswith(("dp.errors", "dp.local.Client"))}


CALLS = _all()


def _takes(call: Callable, *args: object, **kwargs: object) -> bool:
    try:
        inspect.signature(call).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _receiver(call: Callable) -> tuple[object, ...]:
    """Something in place of the object that a method belongs to: the arguments are looked at first."""
    first = next(iter(inspect.signature(call).parameters), None)
    return (object(),) if first == "self" else ()


MISTAKES = {
    "an unknown keyword": lambda call: (_receiver(call), {"no_such_parameter": 1}),
    "too many positions": lambda call: ((*_receiver(call), *MANY), {}),
    "nothing": lambda call: (_receiver(call), {}),
}


def test_the_enumeration_finds_the_public_callables():
    assert len(CALLS) > 250
    assert {"dp.protect", "dp.Budget", "dp.Session.release", "dp.mechanisms.Laplace", "Frame.group_by"} <= set(CALLS)
    assert {"dp.SQLiteLedger.set_cap", "dp.testing.protect", "dp.auditing.audit", "dp.Release.plot"} <= set(CALLS)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_arguments_that_do_not_fit_are_refused_with_a_call_that_fits(mistake):
    bare = []
    for path, call in CALLS.items():
        args, kwargs = MISTAKES[mistake](call)
        if _takes(call, *args, **kwargs):
            continue
        try:
            call(*args, **kwargs)
        except ArgumentsError as refusal:
            if not _parses(refusal, call):
                bare.append((path, str(refusal)))
        except DiscreetError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever is raised, the path is what a reader needs
            bare.append((path, repr(error)))
        else:
            bare.append((path, "no refusal"))
    assert bare == []


def _parses(refusal: ArgumentsError, call: Callable) -> bool:
    """Whether the advice is a call, and one with arguments that fit."""
    tree = ast.parse(refusal.instead, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert refusal.what
    assert refusal.because
    named = {keyword.arg: None for keyword in tree.keywords}
    return _takes(call, *_receiver(call), *tree.args, **named)
