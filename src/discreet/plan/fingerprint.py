"""Identity of queries: the fingerprint under which the ledger finds an earlier answer.

A fingerprint covers what was asked: the query with its names resolved against the catalog, the privacy parameters
and overrides as they were asked for, and the context in which it was asked. It does not cover the noise or the strategy
that the planner chose, the version of the library, or how classes are called. So an upgrade charges nobody again.

Two things here are frozen. `FORMS` gives each class the tag that fingerprints know it by, and the names of its fields
there. `FORMAT` is the number of the format; a change of fingerprints needs the next number, and look-ups that
go on trying the earlier formats. Golden tests hold both (tests/plan/test_fingerprint.py).

Format 0, of release 0.1.0, took the names of classes, the version and the planned mechanism into the fingerprint.
`Form.was` keeps those names: earlier answers are found under them (planner/format_0.py), and descriptions in the
ledger and measures in releases are still written with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from discreet.catalog.privacy_unit import Caps, Unit
from discreet.mechanisms import Gaussian, Laplace, Staircase, sampled
from discreet.mechanisms.threshold import AboveThreshold, RepeatedAboveThreshold
from discreet.mechanisms.threshold.stream import Scales
from discreet.plan import canonical_values, logical, physical
from discreet.plan.canonical_values import sha256, text
from discreet.workloads.stream import Online

FORMAT = 1

States = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Form:
    """How a class is written: its tag, its name in 0.1.0, and its fields, each as `name` or `attribute=name`.

    A field that came later is left out where it has the value that its absence stands for: queries that do not use it
    keep the fingerprint that they had.
    """

    tag: str
    was: str
    fields: str = ""
    later: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def attributes(self) -> dict[str, str]:
        """The written name of each field, by the attribute that holds it."""
        pairs = (each.partition("=") for each in self.fields.split())
        return {attribute: name or attribute for attribute, _, name in pairs}


Forms = Mapping[type, Form]

_VALUE = "operand bounds grid"

FORMS: Forms = {
    Unit: Form("unit", "Unit", "columns neighbours"),
    Caps: Form("contribution bounds", "Caps", "max_rows max_groups max_rows_per_group"),
    # What an engine is asked.
    physical.Read: Form("read", "Read", "column type"),
    physical.Constant: Form("constant", "Constant", "value type"),
    physical.Apply: Form("apply", "Apply", "operator arguments type"),
    physical.Scan: Form(
        "scan",
        "Scan",
        "table version columns unit missing_units max_rows portable within base",
        {"base": None},
    ),
    physical.CountRows: Form("count of rows", "CountRows", "operand"),
    physical.CountUnits: Form("count of units", "CountUnits"),
    physical.CountValues: Form("count of values", "CountValues", "operand domain"),
    physical.SumSteps: Form("sum of steps", "SumSteps", "operand grid low high centre missing power", {"power": 1}),
    physical.SumProducts: Form("sum of products", "SumProducts", "left right"),
    physical.NamedColumn: Form("named", "Named", "name read"),
    physical.Rows: Form("rows", "Rows", "table version columns within is_public"),
    physical.JoinedRows: Form("joined", "Joined", "left right on keeps_unmatched"),
    physical.Average: Form("average", "Average", "steps"),
    physical.Extreme: Form("extreme", "Extreme", "operand is_largest"),
    physical.CountKinds: Form("count of kinds", "CountKinds", "operand"),
    physical.Feature: Form("feature", "Feature", "name of type"),
    physical.PerUnit: Form("one row per unit", "PerUnit", "source predicate unit missing_units features"),
    physical.Keys: Form("keys", "Keys", "columns canonical_rows=rows inner at_least", {"inner": 0, "at_least": None}),
    physical.Pushdown: Form("engine question", "Pushdown", "scan predicate keys caps measures"),
    # What a person asks.
    logical.ColumnRef: Form("column", "Column", "name"),
    logical.Literal: Form("literal", "Literal", "value"),
    logical.Compare: Form("compare", "Compare", "operator left right"),
    logical.Both: Form("both", "Both", "left right"),
    logical.Either: Form("either", "Either", "left right"),
    logical.Not: Form("not", "Not", "operand"),
    logical.IsIn: Form("is in", "IsIn", "operand values"),
    logical.IsMissing: Form("is missing", "IsMissing", "operand"),
    logical.Combine: Form("combine", "Combine", "operator left right"),
    logical.Cast: Form("cast", "Cast", "operand type"),
    logical.Bin: Form("bin", "Bin", "operand edges"),
    logical.Case: Form("case", "Case", "branches otherwise"),
    logical.TextMatch: Form("text match", "TextMatch", "operand how text"),
    logical.Truncate: Form("truncate", "Truncate", "operand unit"),
    logical.DatePart: Form("date part", "DatePart", "operand part"),
    logical.Count: Form("count", "Count"),
    logical.CountDistinctUnits: Form("count units", "CountUnits"),
    logical.CountDistinct: Form("count distinct", "CountDistinct", "operand domain"),
    logical.Sum: Form("sum", "Sum", _VALUE),
    logical.Mean: Form("mean", "Mean", _VALUE),
    logical.Variance: Form("variance", "Variance", _VALUE),
    logical.Deviation: Form("deviation", "Deviation", _VALUE),
    logical.MedianMeasure: Form("median", "Median", _VALUE),
    logical.QuantileMeasure: Form("quantile", "Quantile", "operand probability bounds grid rows"),
    logical.InterquartileRangeMeasure: Form("interquartile range", "InterquartileRange", _VALUE),
    logical.Search: Form("search", "Search", "share method"),
    logical.AutoBoundsAggregate: Form("automatic bounds", "Scouted", "measure search"),
    logical.ClippingBounds: Form("bounds", "Limits", "operand grid search"),
    logical.HierarchyCounts: Form("hierarchy", "Nested", "levels crossing"),
    logical.Output: Form("output", "Output", "name measure weight"),
    logical.Discovery: Form("unknown keys", "Discovery", "columns delta rule at_least weight"),
    logical.Grouping: Form(
        "grouping", "Grouping", "columns values rows max_groups max_rows_per_group labels discovery"
    ),
    # Mechanisms whose parameters are asked for: in descriptions and in format 0.
    Laplace: Form("discrete Laplace", "Laplace", "sensitivity scale grid"),
    Gaussian: Form("discrete Gaussian", "Gaussian", "squared_sensitivity sigma dimension grid"),
    Staircase: Form("discrete staircase", "Staircase", "step inner coordinates scale grid"),
    sampled.Steps: Form("answers in steps", "Steps", "low high grid blocks=chunks neighbours"),
    sampled.ClippedMean: Form("clipped mean", "ClippedMean", "steps noise"),
    sampled.PrivateMedian: Form("private median", "PrivateMedian", "steps fraction epsilon"),
    sampled.SelfBoundedMean: Form(
        "self-bounded mean", "SelfBoundedMean", "steps epsilon rho share widening", {"rho": None}
    ),
    Scales: Form("scales", "Scales", "threshold comparison answer"),
    AboveThreshold: Form("above threshold", "AboveThreshold", "threshold sensitivity answers monotone gap grid scales"),
    RepeatedAboveThreshold: Form("above threshold in stages", "RepeatedAboveThreshold", "each times answer_noise"),
    Online: Form("online ranges", "Online", "bins total above_threshold=watch"),
}
"""Every class that a fingerprint or a description may hold."""


@dataclass(frozen=True)
class Question:
    """What was asked: a kind of query, its parts with every name resolved, and the privacy parameters asked for."""

    kind: str
    parts: Mapping[str, object]
    price: Mapping[str, object]


class Context(NamedTuple):
    """What two requests must share, beside the query, to have the same answer.

    `registered` are the datasets that are charged, each with the place of its registration in the chain, which holds
    its unit, types and source; `public` are the states of the public tables that are read.
    """

    registered: tuple[tuple[str, int], ...]
    is_private: bool
    public: States = ()


class Fingerprints(NamedTuple):
    """The fingerprint of a query, and those that it had in earlier formats."""

    current: str
    former: tuple[str, ...] = ()


def fingerprint(question: Question, context: Context) -> str:
    """The fingerprint of a query in the present format."""
    asked = {
        "format": FORMAT,
        "kind": question.kind,
        "asked": question.parts,
        "price": question.price,
        "registered": context.registered,
        "private": context.is_private,
        "public": context.public,
    }
    return sha256(_with_tags(asked))


def canonical(thing: object, forms: Forms = FORMS) -> str:
    """One text for one value, with the names of 0.1.0: descriptions, measures in releases, and format 0."""
    return text(_with_former_names(thing, forms))


def digest(thing: object, forms: Forms = FORMS) -> str:
    """The SHA-256 of that text."""
    return sha256(_with_former_names(thing, forms))


def _with_tags(thing: object) -> object:
    def write(other: object) -> object:
        form = _form(other, FORMS)
        return {"is": form.tag} | _fields(other, form, _with_tags)

    return canonical_values.plain(thing, write)


def _with_former_names(thing: object, forms: Forms) -> object:
    def write(other: object) -> object:
        form = _form(other, forms)
        return {"is": form.was} | _fields(other, form, lambda part: _with_former_names(part, forms))

    return canonical_values.plain(thing, write)


def _form(thing: object, forms: Forms) -> Form:
    """The form of exactly this class: a subclass may mean something else."""
    if type(thing) not in forms:
        canonical_values.unknown(thing)
    return forms[type(thing)]


def _fields(thing: object, form: Form, write: canonical_values.Write) -> dict[str, object]:
    held = {name: getattr(thing, attribute) for attribute, name in form.attributes.items()}
    return {
        name: write(value) for name, value in held.items() if not (name in form.later and form.later[name] == value)
    }
