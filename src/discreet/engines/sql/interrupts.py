"""Ctrl-C reaches an engine: the driver's call runs in a thread of its own, and the caller waits where signals arrive.

Drivers differ in what an interrupt does to a running call: some lose it, some leave the query running in the engine,
some break their connection. A caller that only waits always gets it, and then cancels in the engine's own way.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Outcome = TypeVar("Outcome")

AGAIN = 0.1


def cancellable(run: Callable[[], Outcome], cancel: Callable[[], object]) -> Outcome:
    """Run while the caller waits; an interrupt cancels, again and again until the call has ended, and goes on up.

    An engine forgets a cancellation that comes before the query began. Outside the main thread no signal can arrive,
    and the call runs where it is.
    """
    if threading.current_thread() is not threading.main_thread():
        return run()
    outcome: Future[Outcome] = Future()
    try:
        threading.Thread(target=_into, args=(outcome, run), name="discreet-query", daemon=True).start()
        return outcome.result()
    except KeyboardInterrupt:
        outcome.cancel()
        while not outcome.done():
            cancel()
            wait([outcome], timeout=AGAIN)
        raise


def _into(outcome: "Future[Outcome]", run: Callable[[], Outcome]) -> None:
    if not outcome.set_running_or_notify_cancel():
        return
    try:
        outcome.set_result(run())
    except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
        outcome.set_exception(error)
