"""Poisoning: what false reports can do to estimates, what shows them, and a simulation of both.

Fake users send what they choose, so m false reports move an estimate by m times the influence of one. No check removes
that: false reports that are spread like those of the target's value pass every test. Checks find reports that honest
clients do not send together. Each check states its false-alarm rate, for all values that clients may have: thresholds
of counts are Chernoff bounds, which hold exactly; that of goodness of fit takes counts for normal.
"""

from discreet.local.poisoning.checks import CollectionCheck, check, check_weights, honeypots
from discreet.local.poisoning.false_reports import Poisoning, influence, simulate

__all__ = ["CollectionCheck", "Poisoning", "check", "check_weights", "honeypots", "influence", "simulate"]
