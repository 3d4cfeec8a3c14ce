"""Corrections of calls whose arguments do not fit: an unknown keyword, too many positions, a missing argument.

A correction is text: the call as it was typed, the reason, and the call to type. It keeps every argument that fits,
renames a keyword to the parameter that has its meaning here, gives a name to an argument by position, and fills in
what is missing with an example. A value that has no short literal is written as the name of its parameter.
"""

import datetime as dt
import difflib
import inspect
import keyword
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

_LONGEST_VALUE = 80
_PEOPLE = 1_000_000  # as many as a budget assumes where no population is declared
_SMALL_DELTA = 1e-9
_RECEIVERS = ("self", "cls", "_cls")
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NUMBERS = (int, float, Fraction, Decimal)
_ATOMS = (str, bytes, int, float, bool, type(None), range, Fraction, Decimal, dt.date)

# What a missing argument looks like, by the name of its parameter; also the parameters that a value by position may
# have been meant for.
EXAMPLES: Mapping[str, str] = {
    "source": '"visits.csv"',
    "privacy_unit": '"patient_id"',
    "max_rows": "10",
    "budget": "dp.Budget(epsilon=2)",
    "catalog": '"catalog.yaml"',
    "query": 'dp.table("visits").agg(n=dp.count())',
    "table": 'dp.table("visits")',
    "name": '"visits"',
    "column": '"cost"',
    "probability": "0.9",
    "probabilities": "[0.25, 0.5, 0.75]",
    "bounds": "(0, 5_000)",
    "bound": "5",
    "domain": '["A", "B"]',
    "keys": '{"ward": ["A", "B"]}',
    "bins": "range(0, 101, 10)",
    "by": '"ward"',
    "on": '"ward"',
    "other": 'dp.table("wards")',
    "candidates": '["A", "B"]',
    "score": 'dp.score(by="ward")',
    "sensitivity": "1",
    "epsilon": "0.5",
    "rho": "0.1",
    "delta": "1e-9",
    "threshold": "1_000",
    "margin": "50",
    "epsilons": "[0.1, 0.5, 1]",
    "path": '"ledger.sqlite"',
    "start": '"2026-10-01"',
    "end": '"2026-11-01"',
    "reason": '"decided by the board in May"',
    "low": "0",
    "high": "100",
    "width": "10",
    "size": "5",
    "count": "100",
    "slack": "1e-6",
    "total_epsilon": "10",
    "order": "10",
    "people_count": "1_000",
    "people": "1_000",
    "households": "1_000",
    "rows": "10_000",
    "units": "1_000",
    "seed": "1",
    "k": "3",
    "confidence": "0.95",
    "values": '["A", "B"]',
    "edges": "range(0, 101, 10)",
    "total": "10_000",
    "blocks": "100",
    "columns": '["age"]',
}

# Where the usual example is of another type than the call takes.
_OWN_EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "dp.count_distinct": {"column": '"ward"'},
    "table.histogram": {"column": '"age"'},
    "table.ranges": {"column": '"age"'},
}

# Other calls for what such an argument has no answer to.
_ELSEWHERE: Mapping[tuple[str, str], str] = {
    (
        "session.epsilon_for",
        "model_query",
    ): "session.explain(model_query, epsilon=0.5), which has the margins there are",
}

_ACCOUNT = "dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-6))"

# Calls that may have been meant as well, where a call without a column is given one.
_BESIDE: Mapping[str, str] = {"dp.count": "  # rows; dp.count_units() counts people"}

# Words of other libraries for a parameter. A word belongs to the first of its parameters that the call has.
_MEANINGS: Mapping[str, tuple[str, ...]] = {
    "privacy_unit": ("unit", "user", "user_id", "uid", "id_column", "privacy_id", "privacy_key", "protect", "person"),
    "epsilon": ("eps", "budget", "privacy_budget", "total_epsilon"),
    "budget": ("privacy_budget", "total_budget"),
    "bounds": ("range", "clip", "clamp", "limits", "clamping_bounds"),
    "delimiter": ("sep",),
    "source": ("path", "file", "df", "data", "frame", "dataframe", "csv", "url"),
    "max_groups": ("max_partitions_contributed", "l0_sensitivity", "max_groups_contributed"),
    "max_rows_per_group": ("max_contributions_per_partition",),
    "max_rows": ("max_contributions", "contribution_bound", "max_ids", "max_rows_per_unit", "linf"),
    "types": ("schema", "dtype", "dtypes"),
    "keys": ("keyset", "key_set", "groups", "values", "categories", "public_partitions", "domain"),
    "domain": ("keys", "values", "categories"),
    "probability": ("q", "quantile", "percentile", "p", "alpha"),
    "probabilities": ("q", "quantiles", "percentiles", "alphas"),
    "column": ("columns", "col", "field", "value", "column_name", "x"),
    "confidence": ("confidence_level", "level"),
    "threads": ("n_jobs", "workers"),
    "ledger": ("accountant", "budget_accountant"),
    "mechanism": ("noise",),
    "fresh": ("force", "refresh"),
    "blocks": ("chunks", "parts", "partitions"),
    "idempotency_key": ("request", "request_id"),
}
_ENDS = (("lower", "upper"), ("low", "high"), ("lo", "hi"), ("min", "max"), ("min_value", "max_value"))
_SEEDS = ("seed", "random_state", "rng")


class Correction(NamedTuple):
    """The three parts of an error."""

    what: str
    because: str
    instead: str


def correction(call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Correction | None:
    """The correction of a call whose arguments do not fit its signature; None where they do fit."""
    signature = inspect.signature(call)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        parameters = list(signature.parameters.values())
    else:
        return None
    has_receiver = bool(parameters) and parameters[0].name in _RECEIVERS
    label = _label(call, args[0] if has_receiver and args else None)
    return _Arguments(label, parameters[has_receiver:]).correction(args[has_receiver:], kwargs)


class _Arguments:
    """The parameters of one call, filled in one after another."""

    def __init__(self, label: str, parameters: Sequence[Parameter]) -> None:
        self.label = label
        self.parameters = {each.name: each for each in parameters}
        self.positional = [each.name for each in parameters if each.kind in _POSITIONAL]
        self.kinds = {each.kind for each in parameters}
        self.given: dict[str, str] = {}
        self.rest: list[str] = []
        self.reasons: list[str] = []

    def correction(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Correction:
        typed = [*(_text(value, "...") for value in args), *(f"{k}={_text(v, '...')}" for k, v in kwargs.items())]
        for name, value in zip(self.positional, args, strict=False):
            if name in EXAMPLES and not _is_literal(value) and not _fits(value, self.parameters[name].annotation):
                self.reasons.append(f"{name!r} is not a {type(value).__name__}")
            else:
                self.given[name] = _text(value, name)
        extra = list(args[len(self.positional) :])
        if Parameter.VAR_POSITIONAL in self.kinds:
            self.rest, extra = [_text(value, "...") for value in extra], []
        known = {name: value for name, value in kwargs.items() if name in self.parameters}
        twice = [name for name in known if name in self.given]
        self.given |= {name: _text(value, name) for name, value in known.items() if name not in twice}
        self.reasons += [f"{name!r} is given twice" for name in twice]
        self._rename({name: value for name, value in kwargs.items() if name not in known})
        self._name(extra)
        self._fill(args)
        has_column = bool(extra) or not {"column", *_MEANINGS["column"]}.isdisjoint(kwargs)
        instead = _call(self.label, self._argument_texts()) + (_BESIDE.get(self.label, "") if has_column else "")
        instead = _ELSEWHERE.get((self.label, self.given.get("query", "")), instead)
        return Correction(_call(self.label, typed), "; ".join(self.reasons), instead)

    def _free(self) -> list[str]:
        """The parameters that have no argument yet, in the order of the signature."""
        kinds = (*_POSITIONAL, Parameter.KEYWORD_ONLY)
        return [name for name, each in self.parameters.items() if name not in self.given and each.kind in kinds]

    def _rename(self, unknown: Mapping[str, Any]) -> None:
        left = self._as_one_argument(dict(unknown))
        for word, value in left.items():
            name = self._meaning(word)
            if name is None:
                is_seed = word in _SEEDS
                self.reasons.append("noise takes no seed" if is_seed else f"there is no parameter {word!r}")
                if self.label.endswith(".where"):  # without the condition the corrected call would keep all rows
                    self.rest.append(f"table[{word!r}] == {_text(value, '...')}")
            else:
                self.given[name] = _as_budget(value) if name == "budget" else _text(value, name)
                self.reasons.append(f"there is no parameter {word!r}, but {name!r}")

    def _as_one_argument(self, unknown: dict[str, Any]) -> dict[str, Any]:
        """Take keywords that are one argument here: epsilon and delta of a budget, the two ends of bounds."""
        parts = {"epsilon": unknown.get("epsilon", unknown.get("eps")), "delta": unknown.get("delta")}
        if "budget" in self._free() and isinstance(parts["epsilon"], _NUMBERS):
            delta = parts["delta"]
            if isinstance(delta, _NUMBERS) and delta * _PEOPLE >= 1:
                parts["delta"] = _SMALL_DELTA
                self.reasons.append(f"delta has to be below one in {_PEOPLE:,} people")
            shown = ", ".join(f"{name}={_text(value, name)}" for name, value in parts.items() if value is not None)
            self.given["budget"] = f"dp.Budget({shown})"
            self.reasons.append("epsilon belongs to the budget")
            unknown = {word: value for word, value in unknown.items() if word not in ("epsilon", "eps", "delta")}
        for low, high in _ENDS:
            if "bounds" in self._free() and {low, high} <= set(unknown):
                self.given["bounds"] = f"({_text(unknown.pop(low), 'low')}, {_text(unknown.pop(high), 'high')})"
                self.reasons.append(f"{low} and {high} are given together, as bounds")
        return unknown

    def _meaning(self, word: str) -> str | None:
        """The free parameter that a word stands for, or is nearly spelt like."""
        free = self._free()
        meant = [name for name in free if word.casefold() in _MEANINGS.get(name, ())]
        folded = {name.casefold(): name for name in free}
        nearest = difflib.get_close_matches(word.casefold()[:_LONGEST_VALUE], folded, n=1, cutoff=0.7)
        return meant[0] if meant else folded[nearest[0]] if nearest else None

    def _name(self, extra: list[Any]) -> None:
        """Name the arguments that were given by position, or leave out those that mean nothing here."""
        if not extra:
            return
        shown = ", ".join(self.positional)
        are = "are" if len(self.positional) > 1 else "is"
        self.reasons.append(f"only {shown} {are} given by position" if shown else "every argument is given by its name")
        if "bounds" in self._free() and len(extra) >= 2 and all(isinstance(each, _NUMBERS) for each in extra[:2]):
            self.given["bounds"] = f"({_text(extra[0], 'low')}, {_text(extra[1], 'high')})"
            extra = extra[2:]
        for value in extra:
            usual = [name for name in self._free() if name in EXAMPLES or self._is_required(name)]
            name = next((each for each in usual if _fits(value, self.parameters[each].annotation)), None)
            if name is not None:
                self.given[name] = _as_budget(value) if name == "budget" else _text(value, name)

    def _fill(self, args: Sequence[Any]) -> None:
        """Fill in what is missing: required parameters, and those without which the call would be refused."""
        free = self._free()
        required = [name for name in free if self._is_required(name)]
        self.reasons += [f"{name!r} is missing" for name in required if name not in self.positional[: len(args)]]
        needed: list[str] = [name for name in ("privacy_unit", "budget") if name in free]
        needed += ["max_rows"] if "privacy_unit" in needed else []
        needed += ["on"] if "on" in free and "other" in self.parameters else []
        needed += [
            name
            for name, beside in (("bounds", required), ("bins", self.parameters))
            if name in free and "column" in beside
        ]
        needed += ["name"] if "name" in free and self.given.get("source") == "source" else []
        needed += self._price(set(free))
        for name in (*required, *needed):
            self.given[name] = self._example(name)

    def _example(self, name: str) -> str:
        if name == "budget" and "BudgetAccount" in str(self.parameters[name].annotation):
            return _ACCOUNT
        return _OWN_EXAMPLES.get(self.label, {}).get(name) or EXAMPLES.get(name, name)

    def _is_required(self, name: str) -> bool:
        return self.parameters[name].default is Parameter.empty

    def _price(self, free: set[str]) -> list[str]:
        """What an answer or a mechanism costs, where its parameters have defaults and yet one of them is needed."""
        if not {"epsilon", "rho", "sensitivity"} <= set(self.parameters):
            return ["epsilon"] if {"epsilon", "rho"} <= free else []
        size = ["sensitivity"] if {"sensitivity", "squared_sensitivity"} <= free else []
        if {"epsilon", "rho"} <= free:
            return [*size, "rho"]
        return [*size, "delta"] if "rho" in free and "delta" in free else size

    def _argument_texts(self) -> list[str]:
        by_position = [name for name in self.positional if name in self.given]
        named = [name for name in self.parameters if name in self.given and name not in self.positional]
        ordered = by_position == self.positional[: len(by_position)]
        first = [self.given[name] if ordered else f"{name}={self.given[name]}" for name in by_position]
        return [*first, *self.rest, *(f"{name}={self.given[name]}" for name in named)]


def keyword_text(name: str, value: str) -> str:
    """A keyword argument as it is typed, also for a name that is not a word of Python: `**{"my column": value}`."""
    return f"{name}={value}" if name.isidentifier() and not keyword.iskeyword(name) else f'**{{"{name}": {value}}}'


def _call(label: str, arguments: Sequence[str]) -> str:
    return f"{label}({', '.join(arguments)})"


def _as_budget(value: object) -> str:
    return f"dp.Budget(epsilon={value!r})" if isinstance(value, _NUMBERS) else _text(value, "budget")


def _text(value: object, placeholder: str) -> str:
    """A value as it is typed, or a placeholder: for long ones, for objects, and for addresses with a password."""
    kind = type(value)
    if kind.__name__ in ("Budget", "Row") and kind.__module__.startswith("discreet."):
        return f"dp.{value!r}".replace("dp.dp.", "dp.")
    if isinstance(value, Path):
        value = str(value)
    if kind.__module__.startswith("discreet.") and placeholder != "...":
        return _variable(kind.__name__)
    if not _is_literal(value) or (isinstance(value, str) and "://" in value and "@" in value):
        return placeholder
    shown = repr(value)
    return shown if len(shown) <= _LONGEST_VALUE else placeholder


def _is_literal(value: object) -> bool:
    if isinstance(value, Mapping):
        return type(value) is dict and all(_is_literal(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return type(value) in (list, tuple) and len(value) <= _LONGEST_VALUE and all(map(_is_literal, value))
    return type(value) in (str, bytes, int, float, bool, type(None), range)


def _fits(value: object, annotation: object) -> bool:
    """Whether a value may have been meant for a parameter, by its annotation."""
    if annotation in (Any, object, Parameter.empty):
        return not isinstance(value, _ATOMS)
    unions = (Union, types.UnionType)
    members = get_args(annotation) if get_origin(annotation) in unions else (annotation,)
    return any(_is_of(value, member) for member in members)


def _is_of(value: object, member: object) -> bool:
    if get_origin(member) is Literal:
        return isinstance(value, str) and value in get_args(member)
    kind = get_origin(member) or member
    if not isinstance(kind, type) or kind is type(None):
        return False
    if kind.__name__ == "Budget" and isinstance(value, _NUMBERS):
        return not isinstance(value, bool)
    if isinstance(value, bool | str):
        return kind is type(value)
    return not getattr(kind, "_is_protocol", False) and isinstance(value, kind)


def _label(call: Callable[..., Any], receiver: object) -> str:
    """How a person writes the call: dp.protect, session.release, dp.mechanisms.Laplace."""
    owner, _, name = call.__qualname__.rpartition(".")
    if not owner or "<locals>" in owner:
        return _public(call.__module__, name)
    is_class = isinstance(receiver, type)
    kind = receiver if isinstance(receiver, type) else type(receiver)
    module, owner = (call.__module__, owner) if receiver is None else (kind.__module__, kind.__name__)
    if name in ("__init__", "__new__"):
        return _public(module, owner)
    if not is_class:
        return f"{_variable(owner)}.{name}"
    exported = name in getattr(sys.modules.get(module), "__all__", ())
    return _public(module, name) if exported else f"{_public(module, owner)}.{name}"


def _public(module: str, name: str) -> str:
    """The shortest public address of a name: that of the outermost package which has it."""
    parts = module.split(".")
    for length in range(1, len(parts)):
        place = sys.modules.get(".".join(parts[:length]))
        if name in getattr(place, "__all__", ()) and _home(getattr(place, name)) == module:
            return ".".join(["dp", *parts[1:length], name])
    return ".".join(["dp", *parts[1:], name])


def _home(thing: object) -> object:
    """The module that defines a thing; of a method that is bound to a class, the module of the class."""
    owner = getattr(thing, "__self__", None)
    return getattr(owner if isinstance(owner, type) else thing, "__module__", None)


def _variable(owner: str) -> str:
    """The name of a variable that holds such a thing."""
    known = {
        "Frame": "table",
        "GroupedFrame": 'table.group_by("ward")',
        "Expr": 'table["age"]',
        "OnlineRanges": "ranges",
        "SparseVector": "vector",
        "SQLiteLedger": "ledger",
        "PostgresLedger": "ledger",
        "ForgottenLedger": "ledger",
        "Ledger": "ledger",
    }
    return known.get(owner) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", owner).lower()
