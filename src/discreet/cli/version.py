"""`discreet version`: what to write into a bug report."""

import platform

from discreet.cli.output import AsJson, print_result
from discreet.cli.requirements import requirements
from discreet.version import __version__

_LISTED = {None, "postgres", "spark"}
"""The extras whose distributions are listed beside what discreet always needs: the drivers of other engines."""


def line() -> str:
    """The name and version of this library."""
    return f"discreet {__version__}"


def command(as_json: AsJson = False) -> None:
    """Print the versions of discreet and of its parts."""
    rows = [
        ("discreet", __version__),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("system", f"{platform.system()} {platform.machine()}"),
        *((r.distribution, r.installed_version() or "not installed") for r in requirements() if r.extra in _LISTED),
    ]
    width = max(len(name) for name, _ in rows)
    text = "\n".join(f"{name:<{width}}  {found}" for name, found in rows)
    print_result(dict(rows), text, as_json=as_json)
