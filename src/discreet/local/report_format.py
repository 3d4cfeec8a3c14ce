"""The form of a report: a header of big-endian integers, then the payload of the oracle.

Version 1: one byte 1, task id (8 bytes), cohort (2), batch (4), report id (16), payload. `client.py` stands alone and
has a copy of these numbers.
"""

import itertools

VERSION = 1
TASK_ID_BYTES = 8
COHORT_BYTES = 2
BATCH_BYTES = 4
REPORT_ID_BYTES = 16
HEADER_BYTES = 1 + TASK_ID_BYTES + COHORT_BYTES + BATCH_BYTES + REPORT_ID_BYTES

MOST_COHORTS = 1 << 8 * COHORT_BYTES
MOST_BATCHES = 1 << 8 * BATCH_BYTES
SHARD_DIGITS = 15
"""Hexadecimal digits of the SHA-256 of a report id that decide about its shard."""

_STARTS = (1, 1 + TASK_ID_BYTES, 1 + TASK_ID_BYTES + COHORT_BYTES, HEADER_BYTES - REPORT_ID_BYTES, HEADER_BYTES)
TASK_ID, COHORT, BATCH, REPORT_ID = (slice(start, end) for start, end in itertools.pairwise(_STARTS))
"""Where each part of the header is."""
