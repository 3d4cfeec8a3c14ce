"""What peers give at the same epsilon, in one run: quantiles beside OpenDP, unknown keys beside OpenDP and PipelineDP.

    scripts/bench beside_peers                     with OpenDP, which discreet installs
    scripts/bench beside_peers --peer PYTHON       and with PipelineDP, where that Python has it

Each table is that of its own script; the figures that were written down are in docs/benchmarks.md.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Both scripts, one after the other."""
    for name, arguments in (("quantiles", []), ("keys", sys.argv[1:])):
        subprocess.run([sys.executable, HERE / f"{name}.py", *arguments], check=True)


if __name__ == "__main__":
    main()
