"""One test that goes through a grid of points, where `parametrize` would make as many tests of one statement."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

SHOWN = 300


def over(names: str | tuple[str, ...], points: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with each point in turn; what fails says at which. Written and stacked like `parametrize`."""
    words = (names,) if isinstance(names, str) else names
    every = list(points)

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(*arguments: Any, **given: Any) -> None:
            for point in every:
                values = dict(zip(words, (point,) if isinstance(names, str) else point, strict=True))
                try:
                    test(*arguments, **given, **values)
                except BaseException as error:
                    error.add_note(f"at {', '.join(f'{word}={value!r}' for word, value in values.items())}"[:SHOWN])
                    raise

        rest = [parameter for name, parameter in signature.parameters.items() if name not in words]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorated
