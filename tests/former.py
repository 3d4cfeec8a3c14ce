"""The fingerprint that a plan had in format 0, for tests of what sets two plans apart."""

from typing import Any

from discreet.plan.fingerprint import Context
from discreet.planner import format_0


def former(plan: Any, registration: int = 1) -> str:
    return format_0.fingerprint(plan, Context((("t", registration),), is_private=True))
