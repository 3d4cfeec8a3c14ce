"""Pictures of docs/anonymity.md: the census with generated birth dates and ZIP codes, and the two hospitals.

    scripts/bench anonymity_pictures [--adult adult.csv] [--pictures docs/pictures]

Pictures of the census are left out where it is absent. The same tables give the same pictures.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import discreet as dp

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT.parent / "shared" / "data" / "adult.csv"
sys.path.insert(0, str(ROOT / "tests" / "anonymity"))


def figures(adult: Path) -> "dict[str, Figure]":
    """Each picture by its name."""
    drawn = {"composition": dp.anonymity.composition.example().plot()}
    if not adult.is_file():
        print(f"left out: the census is not at {adult.name}")
        return drawn
    import census  # noqa: PLC0415 - a module of the tests

    table = census.census(adult)
    drawn["birth-dates"] = dp.anonymity.risk_report(table, ["birth_date"]).plots()["class-sizes"]
    report = dp.anonymity.risk_report(table, ["Sex", "birth_date", "zip"], k=(2, 5, 10, 50, 100))
    plots = report.plots()
    return drawn | {name: plots[name] for name in ("unique-share", "generalisation-cost")}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--adult", type=Path, default=ADULT)
    options.add_argument("--pictures", type=Path, default=ROOT / "docs" / "pictures")
    given = options.parse_args()
    for name, figure in figures(given.adult).items():
        figure.savefig(given.pictures / f"anonymity-{name}.svg", metadata={"Date": None})
        print(f"anonymity-{name}.svg: {figure.get_label()}")


if __name__ == "__main__":
    main()
