"""The tests of watching share exact probabilities of what a stream tells, which stand beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
