"""Small random cubes with hierarchies, and what every node of their lattice has, by plain Python over rows."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import floor, fsum, log2

import numpy as np
import pyarrow as pa
from cubes import cube_of

from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.generalisation.levels import GeneralisationLevels


@dataclass(frozen=True)
class Case:
    """Rows of (values, person, sensitive value), with the levels of each column."""

    rows: list[tuple]
    cube: Cube
    levels: dict[str, GeneralisationLevels]

    @property
    def people(self):
        return len({person for _, person, _ in self.rows})


def random_case(generator, *, several=False, people=12, columns=2, values=4, levels=3, sensitive=3):
    names = [f"q{i}" for i in range(columns)]
    rows = []
    for person in range(people):
        for _ in range(int(generator.integers(1, 4)) if several else 1):
            cells = [int(generator.integers(values)) for _ in names]
            cells = tuple(None if cell == values - 1 else cell for cell in cells)
            rows.append((cells, person, int(generator.integers(sensitive))))
    rows = list(dict.fromkeys(rows))
    data = {name: pa.array([row[0][i] for row in rows], pa.int64()) for i, name in enumerate(names)}
    data |= {"who": [row[1] for row in rows], "s": [row[2] for row in rows], "n": [1] * len(rows)}
    cube = cube_of(pa.table(data), names, ["s"], people="n", person="who" if several else None)
    return Case(rows, cube, {name: random_levels(generator, cube.values[name], levels) for name in names})


def random_levels(generator, values, levels):
    codes, labels = (
        [np.arange(len(values))],
        [tuple(None if cell is None else str(cell) for cell in values.to_pylist())],
    )
    for level in range(1, levels):
        groups = max(1, int(codes[-1].max(initial=0)) // 2 + 1) if level < levels - 1 else 1
        parent = generator.integers(groups, size=int(codes[-1].max(initial=0)) + 1)
        codes.append(parent[codes[-1]].astype(np.int64))
        labels.append(tuple(f"g{level}.{i}" for i in range(groups)))
    return GeneralisationLevels(tuple(codes), tuple(labels))


def all_nodes(case):
    return list(product(*(range(levels.height + 1) for levels in case.levels.values())))


def classes_at(case, node):
    """For each class of a node its rows."""
    columns = list(case.levels)
    codes = {name: {value: i for i, value in enumerate(case.cube.values[name].to_pylist())} for name in columns}
    found = defaultdict(list)
    for row in case.rows:
        cells = zip(columns, row[0], node, strict=True)
        found[tuple(int(case.levels[c].codes[level][codes[c][v]]) for c, v, level in cells)].append(row)
    return dict(found)


def distance(rows, everybody, *, ordered):
    here = Counter(value for _, value in {(person, value) for _, person, value in rows})
    table = Counter(value for _, value in {(person, value) for _, person, value in everybody})
    values = sorted(table)
    gaps = [Fraction(here[v], here.total()) - Fraction(table[v], table.total()) for v in values]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    return sum((abs(sum(gaps[: i + 1])) for i in range(len(gaps))), Fraction(0)) / max(1, len(gaps) - 1)


def published_and_suppressed(case, node, *, k, l=None, t=None, ordered=False):  # noqa: E741
    """The classes that are published and the set of people with a row in another."""
    published, suppressed = {}, set()
    for key, rows in classes_at(case, node).items():
        fails = len({person for _, person, _ in rows}) < k
        fails |= l is not None and len({value for _, _, value in rows}) < l
        fails |= t is not None and distance(rows, case.rows, ordered=ordered) > t
        if fails:
            suppressed |= {person for _, person, _ in rows}
        else:
            published[key] = rows
    return published, suppressed


def brute_loss(case, node, published, suppressed, name, queries=()):
    sizes = [len({person for _, person, _ in rows}) for rows in published.values()]
    if name == "discernibility":
        return Fraction(sum(size**2 for size in sizes) + case.people * len(suppressed))
    if name == "average_class_size":
        return Fraction(sum(sizes) + len(suppressed), max(1, len(sizes) + bool(suppressed)))
    if name == "query_error":
        return sum(
            (abs(_estimate(case, node, published, query) - _truth(case, query)) for query in queries), Fraction(0)
        )
    return _entropy(case, node, published)


def _groups(case, name, level):
    values = case.cube.values[name].to_pylist()
    codes = case.levels[name].codes[level].tolist()
    return {
        value: {other for other, c in zip(values, codes, strict=True) if c == code}
        for value, code in zip(values, codes, strict=True)
    }


def _entropy(case, node, published):
    parts = []
    for i, (name, level) in enumerate(zip(case.levels, node, strict=True)):
        groups, counts = _groups(case, name, level), Counter(row[0][i] for row in case.rows)
        in_file = {id(row) for rows in published.values() for row in rows}
        for row in case.rows:
            size = sum(counts[v] for v in groups[row[0][i]]) if id(row) in in_file else len(case.rows)
            parts.append(log2(size / counts[row[0][i]]))
    return fsum(parts)


def _truth(case, query):
    names = list(case.levels)
    return sum(all(row[0][names.index(name)] in chosen for name, chosen in query.items()) for row in case.rows)


def _estimate(case, node, published, query):
    names, total = list(case.levels), Fraction(0)
    for rows in published.values():
        share = Fraction(len(rows))
        for name, chosen in query.items():
            group = _groups(case, name, node[names.index(name)])[rows[0][0][names.index(name)]]
            share *= Fraction(len(group & set(chosen)), len(group))
        total += share
    return total


def brute_search(case, *, k, suppression=0, loss="non_uniform_entropy", queries=(), **limits):
    """The admitted nodes with their order, the best first, and the nodes that k admits."""
    limit, found, by_k = floor(Fraction(suppression) * case.people), [], []
    for node in all_nodes(case):
        if len(published_and_suppressed(case, node, k=k)[1]) <= limit:
            by_k.append(node)
        published, suppressed = published_and_suppressed(case, node, k=k, **limits)
        if len(suppressed) <= limit:
            value = brute_loss(case, node, published, suppressed, loss, queries)
            rounded = float(f"{value:.11e}") if isinstance(value, float) else value
            found.append((rounded, len(suppressed), sum(node), node))
    return sorted(found), by_k
