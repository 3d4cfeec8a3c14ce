"""Journalist risk: the classes of a sample by their sizes in a population that an attacker knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.class_table import ClassTable, distinct_persons, weighted_runs
from discreet.anonymity.classes.encoding import Integers, encode_groups
from discreet.anonymity.classes.keys import first_of_runs, pack, sum_of_ratios
from discreet.anonymity.owners import OwnerResult
from discreet.engines.exact_tables import ExactTable
from discreet.errors import TypeMismatchError, public_class


@public_class
@dataclass(frozen=True, repr=False)
class JournalistRisk(OwnerResult):
    """Risk of a sample where the attacker knows the population, but not who is in the sample.

    Classes of the sample that the population does not have are counted apart: there the population table is incomplete
    or coded otherwise, and the other figures do not cover them.

    Attributes:
        population: Number of people of the population, with repetition where persons have several classes.
        k_map: Least number of people of the population in a class that sample and population have; None if none.
        highest: Largest risk, 1 / k_map.
        average: Mean of 1 / (people of the population in the class), over pairs of a person of the sample and a class
            of theirs that the population has. Where each person has one row, it is the mean over people.
        absent_classes: Number of classes of the sample that the population does not have.
        absent_people: Number of people of the sample who have such a class.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> sample, population = pa.table({"age": [30, 40]}), pa.table({"age": [30, 30, 30, 40, 40]})
        >>> dp.anonymity.measure(sample, ["age"], population=population).journalist.k_map
        2
    """

    kind = "journalist risk"
    population: int
    k_map: int | None
    highest: Fraction
    average: Fraction
    absent_classes: int
    absent_people: int

    def _lines(self) -> list[str]:
        lines = [f"k-map {self.k_map}, highest risk {float(self.highest):.2%}, average {float(self.average):.2%}"]
        if self.absent_classes:
            lines.append(
                f"{self.absent_classes:,} classes of {self.absent_people:,} people are not in the population table"
            )
        return lines


def journalist_risk(
    sample: BaseGroups, classes: ClassTable, population: ExactTable, quasi: Sequence[str], person: str | None
) -> JournalistRisk:
    """The risk of classes by exact counts of a population; it is read by one GROUP BY."""
    who = person if person is not None and person in population.columns else None
    found = encode_groups(population.groups(quasi, person=who), quasi)
    columns, known = [], np.ones(len(found.counts), bool)
    for name in quasi:
        distinct = _codes_in(sample.values[name], found.values[name], name)
        if who is not None:
            _require_distinct(distinct, sample.values[name].type, found.values[name].type, name)
        codes = distinct[found.codes[name]]
        known &= codes >= 0
        columns.append((codes, len(sample.values[name])))
    # packing sample and population together keeps their keys alike where a key is numbered anew
    own = [(sample.codes[name], size) for name, (_, size) in zip(quasi, columns, strict=True)]
    both = [(np.concatenate([mine[0], codes[known]]), size) for mine, (codes, size) in zip(own, columns, strict=True)]
    keys = pack(both, len(sample.rows) + int(known.sum())).values
    mine, theirs = np.sort(keys[: len(sample.rows)]), keys[len(sample.rows) :]
    mine = mine[first_of_runs(mine)]
    sizes = np.zeros(len(mine), np.int64)
    place = np.searchsorted(mine, theirs)
    is_in = mine[np.minimum(place, len(mine) - 1)] == theirs if len(mine) else np.zeros(len(theirs), bool)
    np.add.at(sizes, place[is_in], found.counts[known][is_in])  # spellings of one number are several groups
    return _risk(classes, sizes, int(found.counts.sum()))


def _risk(classes: ClassTable, sizes: Integers, population: int) -> JournalistRisk:
    is_there = sizes > 0
    values, people = weighted_runs(sizes[is_there], classes.own[is_there])
    pairs = int(people.sum())
    k_map = int(values[0]) if len(values) else None
    return JournalistRisk(
        population=population,
        k_map=k_map,
        highest=Fraction(1, k_map) if k_map else Fraction(0),
        average=sum_of_ratios(people.tolist(), values.tolist()) / max(pairs, 1),
        absent_classes=int((~is_there).sum()),
        absent_people=_people_of(classes, ~is_there),
    )


def _people_of(classes: ClassTable, is_chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> int:
    """Number of people with a row in one of some classes."""
    if classes.persons is None:
        return int(classes.own[is_chosen].sum())
    numbers, persons = classes.persons
    return distinct_persons(persons[is_chosen[numbers]], int(persons.max(initial=-1)) + 1)


def _codes_in(known: pa.Array, values: pa.Array, name: str) -> Integers:
    """The codes of values in a dictionary, -1 where it does not have them."""
    if not len(values) or not len(known):
        return np.full(len(values), -1)
    if values.type != known.type:
        try:
            values = values.cast(known.type)
        except pa.ArrowException:
            raise _unlike(known.type, values.type, name) from None
    codes: Integers = pc.index_in(values, value_set=known, skip_nulls=False).fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _require_distinct(codes: Integers, known: pa.DataType, kind: pa.DataType, name: str) -> None:
    """Refuse values that a cast merged where people are counted: one person may have several of them."""
    there = np.sort(codes[codes >= 0])
    if not first_of_runs(there).all():
        raise _unlike(known, kind, name)


def _unlike(known: pa.DataType, kind: pa.DataType, name: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"column {name!r} of types {known} and {kind}",
        because="sample and population are compared by it",
        instead=f"{name!r} of one type in both tables",
    )
