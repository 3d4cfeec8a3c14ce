"""Known faults of libraries, shown by this library's audits where those install; a row says why where they do not.

    scripts/bench faults [--library opendp]

Nothing is installed here. For diffprivlib: pip install diffprivlib "scikit-learn<1.7". For OpenDP's queries in Polars:
pip install "opendp[polars]", which wants a Polars of its own, so use another environment.
"""

import argparse

from peers import floats, opendp_frames, opendp_functions
from peers.fault import Fault

HEADINGS = ["library", "version", "fault", "claimed", "found", "samples"]
FAULTS: tuple[Fault, ...] = floats.FAULTS + opendp_functions.FAULTS + opendp_frames.FAULTS


def table(rows: list[list[str]]) -> str:
    """The rows as Markdown."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Show every fault, or those of one library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=sorted({fault.library for fault in FAULTS}))
    wanted = parser.parse_args().library
    chosen = [fault for fault in FAULTS if wanted in (None, fault.library)]
    print(table([[*(row := fault.row())[:2], f"{row[2]} ({fault.where})", *row[3:]] for fault in chosen]))


if __name__ == "__main__":
    main()
