"""Controls: mechanisms of which the answer is known, without which an audit that finds nothing says nothing.

`BROKEN` are faults that were published or shipped, each with the pair of datasets that shows it: every one must be
caught within its samples, or the run is void. In `RIGHT` nothing may be found. Most stand
on the very edge of their claims; the sparse vectors stay within theirs, on the pairs that show the faults of their kin.
"""

from discreet.auditing.controls import noises, outputs, sparse_vectors, thresholds
from discreet.auditing.controls.control import SENSITIVITY, STATISTICS, Control

__all__ = ["BROKEN", "CONTROLS", "RIGHT", "SENSITIVITY", "STATISTICS", "Control"]

BROKEN: tuple[Control, ...] = noises.BROKEN + thresholds.BROKEN + sparse_vectors.BROKEN + outputs.BROKEN
RIGHT: tuple[Control, ...] = noises.RIGHT + thresholds.RIGHT + sparse_vectors.RIGHT
CONTROLS: tuple[Control, ...] = BROKEN + RIGHT
