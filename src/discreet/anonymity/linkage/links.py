"""Linkage of a published table with auxiliary data: matches that are unique, correct, wrong, and odds of the others.

A published person is a candidate if one of their rows is compatible with each known row of the auxiliary person. A
unique match is not always correct: the true person may be missing from the file. Where the owner has an identifier on
both sides, matches are scored with it; the attacker never sees it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.column_lists import names_of, one_column
from discreet.anonymity.classes.null_policies import NullPolicy, require_policy
from discreet.anonymity.linkage.candidates import CandidateSearch, Flags
from discreet.anonymity.linkage.linkage_risk import ControlMatches, LearnedValues, LinkageRisk, NextColumn
from discreet.anonymity.linkage.matching import Tolerance, compare
from discreet.anonymity.linkage.persons import distinct, has_value, is_member, people_of
from discreet.anonymity.linkage.scores import PersonIdentity, identifying_people, people_with, score
from discreet.engines.sources.arrow_tables import Codes, as_arrow, encode
from discreet.errors import ParameterError, short_traceback

_CONFIDENCES = ((1, 1), (9, 10), (3, 4), (1, 2))


@dataclass(frozen=True)
class _Join:
    """The two tables, their people, and the search for candidates."""

    published: pa.Table
    auxiliary: pa.Table
    people: Codes
    others: Codes
    everybody: int
    search: CandidateSearch


@short_traceback
def link(
    published: object,
    auxiliary: object,
    on: Sequence[str],
    *,
    person: str | None = None,
    truth: str | None = None,
    approximate: Mapping[str, Tolerance] | None = None,
    control: object | None = None,
    learn: str | None = None,
    seek: Sequence[str] | None = None,
    nulls: NullPolicy = "value",
) -> LinkageRisk:
    """Join auxiliary data to a published table, as an attacker would, and count matches.

    Args:
        published: Published table: Arrow, pandas, Polars, or the path of a CSV or Parquet file.
        auxiliary: Table of known people, with the columns `on`.
        on: Columns that both tables have and that the attacker compares.
        person: Column that identifies people with several rows, in the published table and, where it has it, in the
            auxiliary one. Default: each row is a person.
        truth: Column of both tables that identifies the same person, only to score matches. Default: `person` where
            both tables have it.
        approximate: Distance by column of `on`: for numbers the largest difference, for dates and timestamps days or a
            timedelta, for text the number of edits (0: case and blanks are ignored; at most 2). Default: all columns
            are compared exactly.
        control: People who are known not to be in the published table, with the columns `on`. Default: none.
        learn: Column of the published table that the attacker wants to learn. Default: none.
        seek: Columns of the published table that the attacker might find out next. Default: all other columns.
        nulls: "value": a missing cell matches a missing cell alone; "wildcard": it matches everything; "exclude": rows
            with a missing cell in `on` are left out.

    Returns:
        The numbers of people with no, one and several candidates, and what they reveal.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.
        NameNotFoundError: If a table lacks a column.
        TypeMismatchError: If a column has types that cannot be compared.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(200)
        >>> risk = dp.anonymity.link(people, people, ["sex", "birth_date"], person="person_id")
        >>> risk.one_candidate == risk.correct, risk.wrong
        (True, 0)
    """
    columns = names_of(on, "on")
    distances = dict(approximate or {})
    _check(columns, distances, nulls)
    _check_names({"person": person, "truth": truth, "learn": learn}, seek)
    theirs, ours = as_arrow(published), as_arrow(auxiliary)
    truth = truth or (person if person in ours.column_names else None)
    as_arrow(theirs, *columns, *(name for name in (person, truth, learn, *(seek or ())) if name is not None))
    ours = as_arrow(ours, *_column_list(ours, columns, person, truth))
    join = _join(theirs, ours, columns, person, distances, nulls)
    values = None if learn is None else encode([join.published[learn]], learn)
    identity = None if truth is None else _identities(join, truth)
    scores = score(join.search, join.people, identity, values)
    counts = scores.candidates[join.search.target_of]
    risk = _counts(join, counts, columns, distances, nulls, scores.has_truth)
    risk = replace(risk, excluded=(theirs.num_rows - join.published.num_rows, ours.num_rows - join.auxiliary.num_rows))
    if learn is not None and values is not None:
        guess, most, total = (
            part[join.search.target_of] for part in (scores.guess, scores.guess_count, scores.value_count)
        )
        risk = replace(risk, learned=_learn_values(learn, join.people, values, identity, (guess, most, total)))
    others = {*columns, person, truth, learn}
    names = list(seek) if seek is not None else [name for name in theirs.column_names if name not in others]
    risk = replace(risk, next_columns=_next_columns(join, scores.candidates, names))
    if control is None:
        return risk
    return replace(risk, control=_control(theirs, control, columns, person, distances, nulls))


def _check(columns: Sequence[str], distances: Mapping[str, Tolerance], nulls: object) -> None:
    require_policy(nulls)
    for name in distances:
        if name not in columns:
            raise ParameterError(
                f"approximate={{{name!r}: ...}}",
                because="the column is not one of those that are compared",
                instead=f"on={[*columns, name]!r}",
            )


def _check_names(single: Mapping[str, object], seek: object) -> None:
    for word, name in single.items():
        if name is not None:
            one_column(name, word, example='"diagnosis"')
    if seek is not None:
        names_of(seek, "seek", least=0)


def _column_list(table: pa.Table, columns: Sequence[str], person: str | None, truth: str | None) -> list[str]:
    extra = [person] if person is not None and person in table.column_names else []
    return list(dict.fromkeys([*columns, *extra, *([truth] if truth is not None else [])]))


def _join(
    published: pa.Table,
    auxiliary: pa.Table,
    columns: Sequence[str],
    person: str | None,
    distances: Mapping[str, Tolerance],
    nulls: NullPolicy,
) -> _Join:
    owner = person if person in auxiliary.column_names else None
    everybody = people_of(auxiliary, owner)
    total = int(everybody.max(initial=-1)) + 1
    if nulls == "exclude":
        published, auxiliary = (_without_nulls(table, columns) for table in (published, auxiliary))
    people, others = people_of(published, person), people_of(auxiliary, owner)
    cells = [compare(name, published[name], auxiliary[name], distances.get(name)) for name in columns]
    flags = [_nulls(table, columns) if nulls == "wildcard" else None for table in (published, auxiliary)]
    search = CandidateSearch(cells, people, others, published_nulls=flags[0], auxiliary_nulls=flags[1])
    return _Join(published, auxiliary, people, others, total, search)


def _without_nulls(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    return table.filter(pa.array(~_nulls(table, columns).any(axis=0)))


def _nulls(table: pa.Table, columns: Sequence[str]) -> Flags:
    return np.array([~has_value(table[name]) for name in columns], dtype=np.bool_).reshape(-1, table.num_rows)


def _identities(join: _Join, truth: str) -> PersonIdentity:
    """Identifiers by person, from the first row of each; a missing one equals no other."""
    rows = join.published.num_rows
    codes = encode([join.published[truth], join.auxiliary[truth]], truth) + 2
    is_known = np.concatenate([has_value(table[truth]) for table in (join.published, join.auxiliary)])
    codes[:rows][~is_known[:rows]] = 0
    codes[rows:][~is_known[rows:]] = 1
    first = [np.unique(people, return_index=True)[1] for people in (join.people, join.others)]
    return PersonIdentity(codes[:rows][first[0]], codes[rows:][first[1]])


def _counts(
    join: _Join,
    counts: Codes,
    columns: Sequence[str],
    distances: Mapping[str, Tolerance],
    nulls: NullPolicy,
    has_truth: Flags | None,
) -> LinkageRisk:
    # people all of whose rows are left out have no candidate
    everyone = np.concatenate([counts, np.zeros(join.everybody - len(counts), dtype=np.int64)])
    numbers, people = np.unique(everyone, return_counts=True)
    one = counts == 1
    return LinkageRisk(
        on=tuple(columns),
        approximate=tuple(distances),
        nulls=nulls,
        published_rows=join.published.num_rows,
        published_people=int(join.people.max(initial=-1)) + 1,
        people=join.everybody,
        candidates=tuple(zip(numbers.tolist(), people.tolist(), strict=True)),
        correct=None if has_truth is None else int((one & has_truth).sum()),
        wrong=None if has_truth is None else int((one & ~has_truth).sum()),
        among_candidates=None if has_truth is None else int(has_truth.sum()),
        expected_correct=None if has_truth is None else float((1 / counts[has_truth]).sum()),
    )


def _learn_values(
    name: str, people: Codes, values: Codes, identity: PersonIdentity | None, parts: tuple[Codes, Codes, Codes]
) -> LearnedValues:
    guess, most, total = parts
    has_guess = total > 0
    confidences = [((high, low), int((has_guess & (most * low >= total * high)).sum())) for high, low in _CONFIDENCES]
    right = baseline = certain_right = None
    if identity is not None:
        width = int(values.max(initial=0)) + 1
        truths = distinct(identity.published[people] * width + values)
        is_right = has_guess & is_member(identity.auxiliary * width + guess, truths)
        usual = int(np.argmax(people_with(values, people))) if len(values) else 0
        is_usual = has_guess & is_member(identity.auxiliary * width + usual, truths)
        right, baseline = int(is_right.sum()), int(is_usual.sum())
        certain_right = int((is_right & (most == total)).sum())
    return LearnedValues(
        column=name,
        people=int(has_guess.sum()),
        certain=confidences[0][1],
        certain_right=certain_right,
        right=right,
        baseline_right=baseline,
        confidence=tuple((high / low, number) for (high, low), number in confidences),
    )


def _next_columns(join: _Join, candidates: Codes, names: Sequence[str]) -> tuple[NextColumn, ...]:
    search = join.search
    weights = np.bincount(search.target_of, minlength=search.targets)
    one = int(weights[candidates == 1].sum())
    chosen = candidates > 1
    columns = [encode([join.published[name]], name) for name in names]
    numbers = identifying_people(search, chosen, join.people, columns)
    shares = (weights[chosen], candidates[chosen])
    expected = [one + float((shares[0] * number[chosen] / shares[1]).sum()) for number in numbers]
    ranks = sorted(zip(names, expected, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return tuple(NextColumn(column=name, expected_unique=number) for name, number in ranks)


def _control(
    published: pa.Table,
    control: object,
    columns: Sequence[str],
    person: str | None,
    distances: Mapping[str, Tolerance],
    nulls: NullPolicy,
) -> ControlMatches:
    table = as_arrow(control)
    table = as_arrow(table, *_column_list(table, columns, person, None))
    join = _join(published, table, columns, person, distances, nulls)
    counts = score(join.search, join.people, None, None).candidates[join.search.target_of]
    one, several = int((counts == 1).sum()), int((counts > 1).sum())
    return ControlMatches(
        people=join.everybody,
        no_candidate=join.everybody - one - several,
        one_candidate=one,
        several_candidates=several,
    )
