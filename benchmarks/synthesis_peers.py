"""MST and AIM of mbi, by the Python of an environment that has it; `synthesis.py` starts this.

    PYTHON synthesis_peers.py SCRIPTS MECHANISM EPSILON DELTA MODEL_SIZE ROUNDS CPU_SECONDS TABLE ROWS

SCRIPTS is the folder `mechanisms` of mbi's repository, which the package does not hold. TABLE is a file of numpy with
slots and their numbers; the rows that a mechanism draws go to ROWS. Processor seconds are printed, and for AIM the
share of the budget that it spent. After CPU_SECONDS AIM ends: rows are then of its last model. What is mended:

- Two calls of the scripts are of an earlier version of the package: the names of a domain, and the start of a fit.
- MST merges slots with few rows. Where that touches every column, as here, mbi finds no measurement of the total and
  takes it for 1. MST then compares all pairs with a model of one row, and its tree is arbitrary: the two-way error is
  0.071 instead of 0.04. Here the total is that of the noisy one-way counts before slots are merged.
- Version 2.0.0 compiles a program for each pair of each model. Here numpy computes these marginals, the same to 1e-9,
  which makes AIM faster. Floats have 64 bits, as mbi advises, and no programs are kept on disk.

ROUNDS is AIM's own parameter; 0 is its default, 16 for each column.
"""

import json
import sys
import time
from functools import partial
from itertools import combinations

import numpy as np
from scipy.special import logsumexp


class TimeUsedError(Exception):
    """AIM has used its time."""


def mend(mbi, seconds):  # noqa: ANN001, ANN201 - of mbi
    """Let the scripts run on this version; what is known of a run, such as its last model."""
    known: dict = {"start": time.process_time(), "total": None, "model": None}
    estimate = mbi.estimation.MirrorDescent.estimate

    def estimate_from(self, *words, potentials=None, **names):  # noqa: ANN001, ANN002, ANN003, ANN202 - of mbi
        if time.process_time() - known["start"] > seconds:
            raise TimeUsedError
        names.setdefault("known_total", known["total"])
        known["model"] = estimate(self, *words, warm_start=potentials, **names)
        return known["model"]

    mbi.Domain.attrs = property(tuple)
    mbi.estimation.MirrorDescent.estimate = estimate_from
    mbi.marginal_oracles.variable_elimination = partial(eliminate, mbi)
    return known


def eliminate(mbi, potentials, clique, total=1.0):  # noqa: ANN001, ANN201 - of mbi
    """`variable_elimination` of mbi, in numpy: the marginal of a model over columns that are in no table of it."""
    order = mbi.junction_tree.greedy_order
    tables = [(tuple(table.domain), np.asarray(table.values)) for table in potentials.tables.values()]
    domain = potentials.active_domain
    for name in order(domain, [columns for columns, _ in tables] + [clique], elim=domain.invert(clique))[0]:
        columns, values = add([each for each in tables if name in each[0]], domain)
        tables = [each for each in tables if name not in each[0]]
        tables.append((tuple(each for each in columns if each != name), logsumexp(values, axis=columns.index(name))))
    columns, values = add(tables, domain)
    shares = np.exp(values - values.max())
    found = mbi.Factor(domain.project(columns), np.asarray(shares * (total / shares.sum())))
    return found.project(clique)


def add(tables, domain):  # noqa: ANN001, ANN201 - of mbi
    """The sum of some tables, over all of their columns."""
    columns = tuple(name for name in domain if any(name in each for each, _ in tables))
    total = np.zeros([1] * len(columns))
    for each, values in tables:
        axes = [each.index(name) for name in columns if name in each]
        shape = [domain[name] if name in each else 1 for name in columns]
        total = total + values.transpose(axes).reshape(shape)
    return columns, total


def main() -> None:
    """Run one mechanism once."""
    scripts, mechanism, epsilon, delta, size, rounds, seconds, table, place = sys.argv[1:10]
    sys.path.insert(0, scripts)
    import jax  # noqa: PLC0415 - of the other environment

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi  # noqa: PLC0415 - of the other environment

    found = np.load(table)
    rows, names = found["rows"], [f"c{i}" for i in range(found["rows"].shape[1])]
    domain = mbi.Domain.fromdict(dict(zip(names, map(int, found["sizes"]), strict=True)))
    data = mbi.Dataset({name: rows[:, i] for i, name in enumerate(names)}, domain)
    known = mend(mbi, float(seconds))
    call = {"MST": mst, "AIM": aim}[mechanism]
    drawn, spent = call(mbi, known, data, float(epsilon), float(delta), float(size), round(float(rounds)))
    taken = time.process_time() - known["start"]
    columns = drawn.to_dict()
    np.save(place, np.stack([np.asarray(columns[name]) for name in names], axis=1).astype(np.int64))
    print(json.dumps({"seconds": taken, "spent": spent}))


def mst(mbi, known, data, epsilon, delta, size, rounds):  # noqa: ANN001, ANN201, ARG001 - of mbi
    """The rows of MST."""
    import mst as script  # noqa: PLC0415 - of the scripts

    compress = script.compress_domain

    def compress_domain(data, measurements):  # noqa: ANN001, ANN202 - of mbi
        known["total"] = mbi.estimation.minimum_variance_unbiased_total(measurements)
        return compress(data, measurements)

    script.compress_domain = compress_domain
    return script.MST(data, epsilon, delta), 1.0


def aim(mbi, known, data, epsilon, delta, size, rounds):  # noqa: ANN001, ANN201, ARG001 - of mbi
    """The rows of AIM, with all pairs of columns as its workload, and the share of the budget that it spent."""
    import aim as script  # noqa: PLC0415 - of the scripts

    shares = [0.0]

    def log(*words):  # noqa: ANN002, ANN202 - of mbi
        if words[0] == "Budget Used":
            shares.append(words[1] / words[3])
        print(round(time.process_time() - known["start"]), *words, file=sys.stderr, flush=True)

    script.print = log
    workload = [(pair, 1.0) for pair in combinations(tuple(data.domain), 2)]
    try:
        return script.AIM(epsilon, delta, max_model_size=size, rounds=rounds).run(data, workload)[-1], 1.0
    except TimeUsedError:
        return known["model"].synthetic_data(), shares[-2]


if __name__ == "__main__":
    main()
