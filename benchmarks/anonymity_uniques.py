"""Cost of the search for minimal sample uniques (SUDA2): all sets of up to three columns.

    scripts/bench anonymity_uniques [--rows 10000000] [--columns 12] [--persons] [--memory-limit 2GB]

Prints wall time, CPU seconds and peak memory of one run over a Parquet file, with the engine's part apart from the
search. The columns are invented by DuckDB from the number of the row and have 2 to 30,000 values each, the frequent
ones more often than the rare ones. With `--persons` a person has three rows. Files are removed.
"""

import argparse
import tempfile
from pathlib import Path

import duckdb
from measuring import Timing, once

import discreet as dp
from discreet.anonymity.uniques import row_codes

VALUES = (2, 5, 9, 16, 50, 100, 100, 365, 900, 1000, 3000, 30000)


def write_rows(path: Path, rows: int, columns: int) -> list[str]:
    """A Parquet file with `columns` quasi-identifiers and a person for every three rows; returns their names."""
    names = [f"q{i}" for i in range(columns)]
    chosen = VALUES[-columns:] if columns < len(VALUES) else VALUES
    cells = [
        f"CAST(floor({v} * pow(hash(i * {columns} + {c}) / 18446744073709551616.0, 2)) AS INTEGER) AS {name}"
        for c, (v, name) in enumerate(zip(chosen, names, strict=True))
    ]
    select = f"SELECT {', '.join(cells)}, i // 3 AS person FROM range({rows}) AS t(i)"
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit='1GB'")
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return names


def uniques(rows: int, columns: int, *, persons: bool, memory_limit: str | None) -> None:
    """Time the reader alone and the whole call, and print both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        names = write_rows(path, rows, columns)
        person = "person" if persons else None
        found: list[dp.anonymity.MinimalUniques] = []
        read = once(lambda: row_codes.read_rows(path, names, person=person, table=None, memory_limit=memory_limit))
        whole = once(
            lambda: found.append(
                dp.anonymity.minimal_uniques(path, names, size=3, person=person, memory_limit=memory_limit)
            )
        )
    print(f"{rows:,} rows, {columns} quasi-identifiers, {'3 rows' if persons else 'one row'} a person")
    print("| part | wall s | CPU s | peak GB |\n|---|---|---|---|")
    for name, timing in (("reading codes alone", read), ("minimal_uniques", whole)):
        print(_line(name, timing))
    print(found[0])


def _line(name: str, timing: Timing) -> str:
    return f"| {name} | {timing.wall:.1f} | {timing.cpu:.1f} | {timing.memory / 1e9:.2f} |"


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=12)
    parser.add_argument("--persons", action="store_true")
    parser.add_argument("--memory-limit")
    given = parser.parse_args()
    uniques(given.rows, given.columns, persons=given.persons, memory_limit=given.memory_limit)


if __name__ == "__main__":
    main()
