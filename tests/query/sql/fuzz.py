"""Token soups and mutations of golden statements: whatever is written, a statement is a query or is refused.

PYTHONPATH=src python tests/query/sql/fuzz.py --minutes 10 --seed 1
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import discreet as dp
from query.sql.statements import DIALECTS, fingerprint_of, golden, queries_of

_TEXT = """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET WITH AS JOIN LEFT RIGHT FULL CROSS ON USING AND OR NOT
IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END DISTINCT ALL UNION EXCEPT FILTER WITHIN OVER PARTITION ROWS QUALIFY
COUNT SUM AVG MIN MAX MEDIAN PERCENTILE_CONT APPROX_QUANTILES LEAST GREATEST CLAMP COALESCE CAST TRY_CAST EXTRACT
DATE_TRUNC WIDTH_BUCKET FLOOR IF INTERVAL DATE TIMESTAMP ARRAY STRUCT UNNEST LATERAL PIVOT TABLESAMPLE EXISTS ANY VALUES
DIFFERENTIAL_PRIVACY OPTIONS epsilon delta contribution_bounds_per_row max_groups_contributed privacy_unit_column
visits prescriptions letters people wards patient_id visit_id ward code age nights cost fee urgent day seen scan region
DESC NULLS FIRST LAST MONTH YEAR WEEK INT DOUBLE VARCHAR BOOLEAN n x v w 0 1 2 10 -1 0.5 1e9 1e999 'A' 'x%' '2026-01-01'
( ) , . * + - / % = <> < <= > >= => :: || [ ] { } ; : ? @ $1 " ' ` -- /* */ \\ \x00 é ~ ! & | ^ # -> ->>"""
_WORDS = _TEXT.split()


def soup(draw: random.Random) -> str:
    """Random words, most of them after SELECT."""
    words = draw.choices(_WORDS, k=draw.randint(1, 40))
    return " ".join(["SELECT", *words] if draw.random() < 0.8 else words)


def mutation(draw: random.Random, statements: list[str]) -> str:
    """A golden statement with words dropped, doubled, exchanged, replaced or taken from another one."""
    words = draw.choice(statements).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(words)) if words else 0
        kind = draw.randrange(6)
        other = draw.choice(statements).replace("(", " ( ").replace(")", " ) ").split()
        start = draw.randrange(len(other))
        changed = {
            0: words[:at] + words[at + 1 :],
            1: words[:at] + words[at : at + 1] * 2 + words[at + 1 :],
            2: [*words[:at], draw.choice(_WORDS), *words[at + 1 :]],
            3: [*words[:at], draw.choice(_WORDS), *words[at:]],
            4: words[:at] + other[start : start + draw.randint(1, 8)] + words[at:],
            5: [*words[:at], "(", *words[at:], ")"],
        }
        words = changed[kind]
    return " ".join(words)


def run(seconds: float, seed: int, most: int | None = None) -> Counter[str]:
    """Try statements for a while; anything but a query or a refusal is raised with the statement beside it."""
    draw, found = random.Random(seed), Counter[str]()  # noqa: S311 - tests need no secret
    statements = [each.sql for each in golden("accepted")]
    end = time.monotonic() + seconds
    while time.monotonic() < end and (most is None or found.total() < most):
        text = soup(draw) if draw.random() < 0.3 else mutation(draw, statements)
        dialect = draw.choice(DIALECTS)
        started = time.process_time()
        try:
            fingerprint_of(queries_of(text, dialect))
            found["accepted"] += 1
        except dp.Refusal:
            found["refused"] += 1
        except Exception as error:
            raise AssertionError(f"{dialect}: {text!r}") from error
        found["slow"] += time.process_time() - started > 1
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(dict(run(60 * given.minutes, given.seed)))
