"""The worked applications are a package beside the source, which a reader runs with `python -m examples.auction`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
