"""Random bytes of the operating system: the one source of every draw, and of none where it fails."""

import os

from discreet.errors import EntropyError


def random_bytes(size: int) -> bytes:
    """So many random bytes; before the system's source is seeded, this call waits."""
    try:
        return os.urandom(size)
    except (OSError, NotImplementedError) as error:
        raise EntropyError(
            "the operating system gives no randomness, so no noise can be drawn and nothing is released; "
            "run where getrandom or /dev/urandom works"
        ) from error
