"""MST and AIM of mbi, by the Python of an environment that has it; `synthesis.py` starts this.

    PYTHON synthesis_peers.py SCRIPTS MECHANISM EPSILON DELTA MODEL_SIZE TABLE ROWS

SCRIPTS is the folder `mechanisms` of mbi's repository, which the package does not hold. TABLE is a file of numpy with
slots and their numbers; the rows that a mechanism draws go to ROWS. Processor seconds are printed. Two calls of the
scripts are of an earlier version of the package: the names of a domain, and the start of a fit.
"""

import json
import sys
import time

import numpy as np


def main() -> None:
    """Run one mechanism once."""
    scripts, mechanism, epsilon, delta, size, table, place = sys.argv[1:8]
    sys.path.insert(0, scripts)
    import mbi  # noqa: PLC0415 - of the other environment

    estimate = mbi.estimation.MirrorDescent.estimate

    def estimate_from(self, *words, potentials=None, **names):  # noqa: ANN001, ANN002, ANN003, ANN202 - of mbi
        return estimate(self, *words, warm_start=potentials, **names)

    mbi.Domain.attrs = property(tuple)
    mbi.estimation.MirrorDescent.estimate = estimate_from
    found = np.load(table)
    rows, names = found["rows"], [f"c{i}" for i in range(found["rows"].shape[1])]
    domain = mbi.Domain.fromdict(dict(zip(names, map(int, found["sizes"]), strict=True)))
    data = mbi.Dataset({name: rows[:, i] for i, name in enumerate(names)}, domain)
    start = time.process_time()
    drawn = run(mechanism, data, float(epsilon), float(delta), float(size))
    seconds = time.process_time() - start
    columns = drawn.to_dict()
    np.save(place, np.stack([np.asarray(columns[name]) for name in names], axis=1).astype(np.int64))
    print(json.dumps({"seconds": seconds}))


def run(mechanism, data, epsilon, delta, size):  # noqa: ANN001, ANN201 - of mbi
    """The rows of a mechanism; AIM has all pairs of columns as its workload."""
    from itertools import combinations  # noqa: PLC0415 - beside the imports of the scripts

    if mechanism == "MST":
        from mst import MST  # noqa: PLC0415 - of the scripts

        return MST(data, epsilon, delta)
    from aim import AIM  # noqa: PLC0415 - of the scripts

    workload = [(pair, 1.0) for pair in combinations(tuple(data.domain), 2)]
    drawn = AIM(epsilon, delta, max_model_size=size).run(data, workload)
    return drawn[-1] if isinstance(drawn, tuple) else drawn


if __name__ == "__main__":
    main()
