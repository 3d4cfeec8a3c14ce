"""The tests of this family share small worlds, which stand beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
