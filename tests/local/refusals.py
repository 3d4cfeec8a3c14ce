"""Tasks that no client may report for, each by what is wrong with it."""

import copy
from fractions import Fraction
from typing import Any

from discreet.local.oracles import ratio_within
from local.local_tasks import oracle, pair, task

STEP = Fraction(1, 2**20)
ABOVE = pair(ratio_within(1) + STEP)


def changed(fields: dict[str, Any]) -> dict[str, Any]:
    """An assignment of a task in which some fields are others."""
    fields = copy.deepcopy(fields)
    kind, repeat = fields.pop("kind", "krr"), fields.pop("repeat_of", "fresh")
    cohort = fields.pop("cohort", 0)
    made = task(kind, 5, "1", repeat)
    made["oracle"] |= fields.pop("oracle_of", {})
    return {"task": made | fields, "cohort": cohort}


REFUSALS: dict[str, dict[str, Any]] = {
    "an unknown format": {"format": "discreet.local.task/2"},
    "an unknown oracle": {"oracle": {"kind": "rappor", "size": 5}},
    "an oracle that is a name of Object": {"oracle": {"kind": "constructor", "size": 5}},
    "no oracle": {"oracle": None},
    "an unknown repeat": {"repeat": "often"},
    "a ratio above e^epsilon": {"oracle_of": {"ratio": ABOVE}},
    "a ratio below one": {"oracle_of": {"ratio": [1, 2]}},
    "a ratio with a denominator of zero": {"oracle_of": {"ratio": [1, 0]}},
    "a ratio that is a decimal": {"oracle_of": {"ratio": [2.5, 1]}},
    "a ratio of 54 bits": {"oracle_of": {"ratio": [2**53 + 1, 2**52]}},
    "a negative ratio": {"oracle_of": {"ratio": [-2, -1]}},
    "a field that another oracle draws from": {
        "domain": {"size": 256},
        "oracle": {"kind": "krr", "size": 2, "steps": 255, "ratio": [11, 10]},
    },
    "such a field over a domain of one": {
        "domain": {"size": 256},
        "oracle": {"kind": "krr", "size": 1, "steps": 255, "ratio": [1, 1]},
    },
    "such a field beside a subset": {
        "domain": {"size": 256},
        "oracle": {"kind": "subset", "size": 255, "subset": 1, "steps": 255, "ratio": [11, 10]},
    },
    "a size beside steps": {"kind": "duchi", "oracle_of": {"size": 5}},
    "a further field": {"oracle_of": {"cohorts": 1}},
    "a further field of text": {"oracle_of": {"steps": "many"}},
    "a further field of the second stage": {"repeat_of": "two_stage", "second": {"ratio": [1, 1], "size": 3}},
    "no steps": {"kind": "duchi", "oracle": {"kind": "duchi", "ratio": [1, 1]}},
    "no ratio": {"oracle": {"kind": "krr", "size": 5}},
    "an epsilon that is a number": {"epsilon": 1},
    "an epsilon of text": {"epsilon": "one"},
    "an epsilon that divides by zero": {"epsilon": "1/0"},
    "a negative epsilon": {"epsilon": "-1"},
    "an epsilon above 64": {"epsilon": "65"},
    "no epsilon": {"epsilon": None},
    "a bit that is certain": {"kind": "unary", "oracle_of": {"one": [1, 1]}},
    "a bit that is never set": {"kind": "unary", "oracle_of": {"zero": [0, 1]}},
    "bits that lose more than epsilon": {"kind": "unary", "oracle_of": {"one": [3, 5]}},
    "bits the wrong way round": {"kind": "unary", "oracle_of": {"one": [1, 5], "zero": [4, 5]}},
    "a probability above one": {"kind": "unary", "oracle_of": {"one": [3, 2]}},
    "a subset that is the domain": {"kind": "subset", "oracle_of": {"subset": 5}},
    "a subset of none": {"kind": "subset", "oracle_of": {"subset": 0}},
    "hash functions of one value": {"kind": "lh", "oracle_of": {"range": 1}},
    "hash functions beyond their prime": {"kind": "lh", "oracle_of": {"range": 2**31}},
    "an order that is not a power of two": {"kind": "hadamard", "oracle_of": {"order": 9}},
    "an order of the size": {"kind": "hadamard", "oracle_of": {"order": 4}},
    "a field that is not prime": {"kind": "pgr", "oracle_of": {"field": 4, "dimension": 5}},
    "a field of one": {"kind": "pgr", "oracle_of": {"field": 1, "dimension": 5}},
    "a field beyond 16 bits": {"kind": "pgr", "oracle_of": {"field": 65_537, "dimension": 2}},
    "too few points": {"kind": "pgr", "oracle_of": {"field": 2, "dimension": 2}},
    "a share above one": {"kind": "hybrid", "oracle_of": {"piecewise": [3, 2]}},
    "a window of none": {"kind": "hybrid", "oracle_of": {"window": 0}},
    "a mean that loses more than epsilon": {"kind": "duchi", "oracle_of": {"ratio": ABOVE}},
    "another number of values": {"domain": {"size": 6}},
    "two domains": {"domain": {"size": 5, "values": list("abcde")}},
    "no domain": {"domain": None},
    "an unknown domain": {"domain": {"number": 5}},
    "a value that is twice in the domain": {"domain": {"values": list("abcda")}},
    "a value that is a number": {"domain": {"values": [*"abcd", 5]}},
    "an empty range": {"kind": "duchi", "domain": {"low": "1", "high": "1", "steps": 4}},
    "a range of numbers that are not text": {"kind": "duchi", "domain": {"low": 0, "high": 1, "steps": 4}},
    "a default outside of the domain": {"default": 5},
    "a default that is not a number": {"default": "a"},
    "more values than a server counts": {
        "domain": {"size": 2**24 + 1},
        "oracle": {"kind": "krr", "size": 2**24 + 1, "ratio": [1, 1]},
    },
    "reports longer than they may be": {
        "max_bytes": 40,
        "domain": {"size": 1_000},
        "oracle": {"kind": "unary", "size": 1_000, "one": [1, 2], "zero": [2, 5]},
    },
    "lists of slots longer than they may be": {
        "max_bytes": 40,
        "domain": {"size": 1_000},
        "oracle": {"kind": "subset", "size": 1_000, "subset": 5, "ratio": [1, 1]},
    },
    "symbols longer than they may be": {
        "max_bytes": 32,
        "domain": {"size": 257},
        "oracle": {"kind": "krr", "size": 257, "ratio": [1, 1]},
    },
    "no length of reports": {"max_bytes": None},
    "reports that aggregators add up": {"trust": "dap"},
    "no visits": {"max_values": 0},
    "a cohort that the task does not have": {"cohort": 7},
    "a cohort below zero": {"cohort": -1},
    "a cohort that is text": {"cohort": "0"},
    "no cohorts": {"cohorts": 0},
    "more cohorts than a report can name": {"cohorts": 65_537},
    "two stages of points": {"kind": "pgr", "repeat": "two_stage", "second": {"ratio": [1, 1]}, "epsilon_second": "1"},
    "two stages of subsets": {
        "kind": "subset",
        "repeat": "two_stage",
        "second": {"ratio": [1, 1]},
        "epsilon_second": "1",
    },
    "two stages without the second": {"repeat": "two_stage"},
    "a second stage that loses more than it states": {"repeat_of": "two_stage", "second": {"ratio": ABOVE}},
    "second bits that lose more than they state": {
        "kind": "unary",
        "repeat_of": "two_stage",
        "second": {name: oracle("unary", 5, "1")[name] for name in ("one", "zero")},
    },
    "a number that is not whole": {"reports": 0.5},
    "a number of 54 bits": {"reports": 2**53},
}
