"""A program for tests: makes or rotates a signing key, and is killed before each of its system calls in turn.

    python failing_rotation.py DIRECTORY create|rotate

Each attempt runs in a fork that sends itself SIGKILL before its n-th call to the system, with n counted up until an
attempt lives. After each, the parent opens the key as a later process would, signs with it, and prints what it sees as
one line of JSON.
"""

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from discreet.ledger.records.signatures import Signer, is_signature, public_keys

CALLS = ("open", "write", "fsync", "link", "replace", "unlink", "pread", "close", "fdopen")
SIGNED = "signed before the crash"


def killed_before(nth: int, attempt: Callable[[], object]) -> bool:
    """Whether an attempt in a fork was killed before its n-th call."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = [nth]

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def called(*args: object, **kwargs: object) -> object:
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return call(*args, **kwargs)

        return called

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    attempt()
    os._exit(0)


def main(directory: Path, action: str) -> None:
    Signer.in_memory().sign("")  # cryptography is imported once, here
    act = Signer.rotate if action == "rotate" else Signer.at
    for nth in range(100):
        path = directory / f"{nth}" / "key"
        path.parent.mkdir()
        before = Signer.at(path) if action == "rotate" else None
        signature = before.sign(SIGNED) if before else None
        was_killed = killed_before(nth, functools.partial(act, path))
        after = Signer.at(path)
        known = public_keys(path)
        seen = {
            "killed": was_killed,
            "changed": before is None or before.key != after.key,
            "listed": known.get(after.key) == after.public,
            "old": before is None or is_signature(SIGNED, signature, known.get(before.key)),
            "works": is_signature("now", after.sign("now"), known[after.key]),
            "again": Signer.at(path).key == after.key,
            "keys": len(known),
            "mode": oct(path.stat().st_mode & 0o777),
        }
        print(json.dumps(seen))
        if not was_killed:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
