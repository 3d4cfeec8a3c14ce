"""Attacks: what an adversary gets out of answers, on your own data, before somebody else tries.

    from discreet import attacks

    ada = {"value": "age", "person": {"name": "Ada"}, "bounds": (0, 120)}
    print(attacks.differencing.against_table("people.csv", **ada))
    print(attacks.differencing.against_session(session, table="people", **ada, epsilon=1))

A module is an attack and keeps this contract. `against_table` runs it on exact figures made from a table (Arrow,
pandas, Polars, or the path of a CSV or Parquet file); `against_session` runs it through a session, asking only what an
analyst could ask, and is charged what such an analyst would be. Other targets have names of their own. Each returns
an `Outcome`: a frozen value that says what the attacker has, does and learned, and what epsilon does about it, with
`to_json()` and `plot()`.

An attack is scored against the truth, so it needs the data. An outcome may name people and their values:
treat it as data. Attacks draw their choices from numpy; noise comes from the mechanisms alone. What an attack fails to
learn proves nothing: the guarantee does, and the attacks show what it is worth.
"""

from importlib.util import find_spec

from discreet.errors import missing_extra

if find_spec("scipy") is None:
    raise missing_extra("an attack", "scipy", "audit")

from discreet.attacks import averaging, differencing, linkage, membership, reconstruction, small_groups
from discreet.attacks.outcome import Outcome

__all__ = ["Outcome", "averaging", "differencing", "linkage", "membership", "reconstruction", "small_groups"]
