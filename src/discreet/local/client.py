"""The client of the local model: one file of the standard library that turns a value into a randomised report.

It can be copied to a device and imported alone: `Client({"task": task, "cohort": 0}).report(value)`.

Definition
    A report is the version (1 byte), the first 8 bytes of the task's SHA-256, the cohort (2), the batch (4), a random
    id (16) and the payload: an outcome of the task's frequency oracle for the slot of the value. `repeat="fresh"` draws
    the outcome from the operating system. `"memoised"` draws it from HMAC-SHA256 of the slot under a secret, so that a
    slot has one outcome for good. `"two_stage"` draws a permanent outcome so, and randomises it anew in each report.

Guarantee
    One report is epsilon-differentially private in the local model: the likelihoods of an outcome under any two values
    differ by a factor of at most e^epsilon. Sequences: local/longitudinal.py. Proof: docs/proofs/local/client.md.

Exactness
    Draws are integers of random bits by rejection, without floats. The constructor recomputes the largest ratio of
    likelihoods from the integers of the task, and refuses one above a lower bound on e^epsilon.

Not covered
    Whether the task asks what its text says. Several clients or tasks of one person: their losses add up. The time that
    a report takes. A state that is deleted, restored, copied or on a network file system: its client can visit more
    than `max_values` values. So can tabs of a browser that share a state, unless client.mjs gets a `save` that is one
    transaction (docs/local.md). A secret in two cohorts: each costs epsilon. Readers of either learn values.

References
    Erlingsson, Pihur and Korolova, RAPPOR, CCS 2014. Oracles: their pages in docs/proofs/local/oracles.
"""

# ruff: noqa: A002 - `hash` is the name of the task's property
import hashlib
import hmac
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_PRIME = 2**31 - 1  # of the hash functions of local hashing
_LARGEST = 2**53 - 1  # the integers that JavaScript reads exactly
_RATIONAL = re.compile(r"-?[0-9]{1,41}(\.[0-9]{1,41}|/[0-9]{1,41})?")

Fields = Mapping[str, Any]
Draw = Callable[["_RandomBits", Any], Any]  # of a slot: a payload symbol, a list of bits, or a set of slots
State = str | os.PathLike[str] | dict[str, Any]
Supply = Callable[[int], bytes]  # at least so many bytes


class ClientError(ValueError):
    """A task, state or value with which the client makes no report. Its `args`: what, because, instead.

    Example:
        >>> import discreet as dp
        >>> dp.local.ClientError("batch", "-1 is not a number of 32 bits", "batch=0").args[0]
        'batch'
    """

    def __str__(self) -> str:
        return "{}\n  because  {}\n  instead  {}".format(*self.args)


def _require(condition: object, because: str) -> None:
    if not condition:
        raise ClientError("task", because, "the assignment of a discreet.local.Task, or a newer client")


class _RandomBits:
    """Uniform integers from bytes that a function supplies, each byte used once and in order."""

    def __init__(self, supply: Supply) -> None:
        self.supply, self.buffer = supply, b""

    def take(self, size: int) -> bytes:
        if len(self.buffer) < size:
            self.buffer += self.supply(size - len(self.buffer))
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def below(self, bound: int) -> int:
        """A uniform integer from 0 to bound - 1: the first of as many random bits that is one."""
        if bound == 1:
            return 0
        bits = (bound - 1).bit_length()
        size = (bits + 7) >> 3
        shift = 8 * size - bits
        while (number := int.from_bytes(self.take(size), "big") >> shift) >= bound:
            pass
        return number


def _system_bytes(size: int) -> bytes:
    try:
        return os.urandom(max(size, 64))  # one call of the system serves most reports
    except (OSError, NotImplementedError) as error:
        raise ClientError("report", "the system gives no randomness", "a system where getrandom works") from error


def _stream(secret: bytes, label: bytes) -> Supply:
    """HMAC-SHA256 of a label and a counter of four bytes."""
    counter = itertools.count()
    return lambda size: b"".join(
        hmac.digest(secret, label + next(counter).to_bytes(4, "big"), "sha256") for _ in range(0, size, 32)
    )


def _krr(o: Fields, *_: Any) -> Draw:
    (a, b), total = o["ratio"], o["ratio"][0] + o["ratio"][1] * (o["size"] - 1)
    return lambda bits, slot: slot if (u := bits.below(total)) < a else (u - a) // b + ((u - a) // b >= slot)


def _coins(o: Fields) -> Draw:
    coins = (o["zero"], o["one"])
    return lambda bits, before: [int(bits.below(coins[bit][1]) < coins[bit][0]) for bit in before]


def _unary(o: Fields, *_: Any) -> Draw:
    size, randomise = o["size"], _coins(o)  # bit by bit
    return lambda bits, slot: randomise(bits, [0] * slot + [1] + [0] * (size - slot - 1))


def _subset(o: Fields, *_: Any) -> Draw:
    size, subset, (a, b) = o["size"], o["subset"], o["ratio"]
    _require(subset < size, "its subset is its domain")

    def draw(bits: _RandomBits, slot: int) -> set[int]:
        inside = bits.below(subset * a + (size - subset) * b) < subset * a
        others: set[int] = set()
        for last in range(size - 1 - (subset - inside), size - 1):  # Floyd's sample of the other slots
            t = bits.below(last + 1)
            others.add(last if t in others else t)
        chosen = {t + (t >= slot) for t in others}
        return chosen | {slot} if inside else chosen

    return draw


def _lh(o: Fields, task_hash: bytes, cohort: int) -> Draw:
    _require(o["range"] > 1 and o["range"] + o["size"] <= _PRIME, "its range or size does not fit its hash functions")
    digest = hashlib.sha256(task_hash[:8] + b"hash" + cohort.to_bytes(2, "big")).digest()
    a, b, c = (int.from_bytes(digest[start : start + 8], "big") % _PRIME for start in (0, 8, 16))
    symbols, randomise = o["range"], _krr({"size": o["range"], "ratio": o["ratio"]})
    return lambda bits, slot: randomise(bits, (a * slot**2 + b * slot + c) % _PRIME % symbols)


def _hadamard(o: Fields, *_: Any) -> Draw:
    order, (a, b) = o["order"], o["ratio"]
    _require(order > o["size"] and order.bit_count() == 1, "its order is not a power of two above its size")

    def draw(bits: _RandomBits, slot: int) -> Any:
        row = bits.below(order)
        return 2 * row + ((row & (slot + 1)).bit_count() + (bits.below(a + b) >= a)) % 2

    return draw


def _pgr(o: Fields, *_: Any) -> Draw:
    """Points of a projective space in canonical form: their first coordinate that is not zero is 1."""
    q, t, (a, b) = o["field"], o["dimension"], o["ratio"]
    _require(2 <= q < 2**16 and all(q % i for i in range(2, math.isqrt(q) + 1)), "its field is not a small prime")
    tails, hyperplane = q ** (t - 1), (q ** (t - 1) - 1) // (q - 1)
    _require(2 <= t <= 64 and o["size"] <= tails + hyperplane, "its dimension does not fit its size")
    inside, total = a * hyperplane, a * hyperplane + b * tails
    inverse = [0] + [pow(i, -1, q) for i in range(1, q)]
    first = [(q ** (t - 1 - lead) - 1) // (q - 1) for lead in range(t)]  # number of the first point of each lead

    def draw(bits: _RandomBits, slot: int) -> Any:
        lead = next(lead for lead in range(t) if slot >= first[lead])
        orthogonal, point = bits.below(total) < inside, [0] * t
        while True:
            rest, tail, dot = bits.below(tails), slot - first[lead], 0
            for k in range(t - 1, lead, -1):
                rest, digit = divmod(rest, q)
                tail, coordinate = divmod(tail, q)
                point[k] = digit
                dot += digit * coordinate
            for k in range(lead - 1, -1, -1):
                rest, point[k] = divmod(rest, q)
            point[lead] = ((0 if orthogonal else 1 + bits.below(q - 1)) - dot) % q
            if any(point):
                break
        head = next(k for k in range(t) if point[k])
        scale, number = inverse[point[head]], 0
        for coordinate in point[head + 1 :]:
            number = number * q + coordinate * scale % q
        return first[head] + number

    return draw


def _duchi(o: Fields, *_: Any) -> Draw:
    steps, (a, b) = o["steps"], o["ratio"]
    return lambda bits, slot: int(bits.below((a + b) * steps) < b * steps + (a - b) * slot)


def _hybrid(o: Fields, *_: Any) -> Draw:
    (a, b), (share, whole), step, window = o["ratio"], o["piecewise"], o["step"], o["window"]
    rest, sign = step * o["steps"], _duchi(o)

    def draw(bits: _RandomBits, slot: int) -> Any:
        if bits.below(whole) >= share:
            return window + rest + sign(bits, slot)
        if (u := bits.below(a * window + b * rest)) < a * window:
            return step * slot + u // a
        other = (u - a * window) // b
        return other if other < step * slot else other + window

    return draw


_ORACLES: Mapping[str, tuple[Callable[..., Draw], str, Callable[[Fields], int]]] = {
    "krr": (_krr, "size ratio", lambda o: o["size"]),
    "unary": (_unary, "size one zero", lambda _: 0),
    "subset": (_subset, "size subset ratio", lambda _: 0),
    "lh": (_lh, "size range ratio", lambda o: o["range"]),
    "hadamard": (_hadamard, "size order ratio", lambda o: 2 * o["order"]),
    "pgr": (_pgr, "size field dimension ratio", lambda o: (o["field"] ** o["dimension"] - 1) // (o["field"] - 1)),
    "duchi": (_duchi, "steps ratio", lambda _: 2),
    "hybrid": (_hybrid, "steps step window ratio piecewise", lambda o: o["window"] + o["step"] * o["steps"] + 2),
}
"""The draw, the integers that it needs, and the number of payload symbols, 0 where the payload is a set of slots."""
_PAIRS = ("ratio", "one", "zero", "piecewise")


def _payload(o: Fields) -> tuple[int, Callable[[Any], bytes]]:
    """The length and the bytes of an outcome: a symbol in the fewest, a bitmap, or sorted slots if they are shorter."""
    symbols, size = _ORACLES[o["kind"]][2](o), o.get("size", 0)
    width = max(1, (((symbols or size) - 1).bit_length() + 7) // 8)
    if symbols:
        return width, lambda symbol: int(symbol).to_bytes(width, "big")
    length = (size + 7) // 8
    if o["kind"] == "unary":
        return length, lambda bits: (int("".join(map(str, bits)), 2) << (8 * length - size)).to_bytes(length, "big")
    if length <= o["subset"] * width:
        return length, lambda slots: sum(1 << (8 * length - 1 - slot) for slot in slots).to_bytes(length, "big")
    return o["subset"] * width, lambda slots: b"".join(slot.to_bytes(width, "big") for slot in sorted(slots))


def _is_integer(value: object, low: int, high: int = _LARGEST) -> bool:
    return type(value) is int and low <= value <= high


def _read(assignment: Any) -> tuple[bytes, Any, Any]:
    """The canonical text of a task, the task that is read back from it, and the cohort."""
    try:
        given = json.loads(assignment) if isinstance(assignment, str) else assignment
        text = json.dumps(dict(given["task"]), sort_keys=True, separators=(",", ":")).encode("ascii")
        return text, json.loads(text, parse_int=_exact, parse_float=_exact, parse_constant=_exact), given.get("cohort")
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):  # deep, circular, or of other types
        because = "its assignment is not JSON of a task, or has a number that is not an integer of 53 bits"
        raise ClientError("task", because, "the assignment of a discreet.local.Task") from None


def _exact(text: str) -> int:
    if not text.lstrip("-").isdigit() or abs(int(text)) > _LARGEST:
        raise ValueError(text)
    return int(text)


def _check(task: Any) -> None:
    """Validate every field that a draw depends on; the task is untrusted input."""
    _require(task.get("format") == "discreet.local.task/1", "its format is unknown")
    o, repeat, most = task.get("oracle"), task.get("repeat"), task.get("max_values")
    _require(isinstance(o, dict) and o.get("kind") in [*_ORACLES], "its oracle is unknown")
    kind = o["kind"]
    _check_loss(o, _ORACLES[kind][1], task.get("epsilon"))
    size = o["size"] if "size" in o else o["steps"] + 1
    _require(2 <= size <= 2**24, f"it has {size} values, not from 2 to 2**24")
    _require(repeat in ("fresh", "memoised", "two_stage"), "its repeat is unknown")
    if repeat == "two_stage":
        _require(kind in ("krr", "lh", "unary"), f"reports of {kind} in two stages show which are of one client")
        _require(isinstance(task.get("second"), dict), "'second' is missing")
        _check_loss(task["second"], "one zero" if kind == "unary" else "ratio", task.get("epsilon_second"))
    _require(most is None or _is_integer(most, 1), "its max_values is not a positive integer or null")
    _require(_is_integer(task.get("cohorts"), 1, 2**16), "its number of cohorts is not from 1 to 65536")
    _require(_is_integer(task.get("default"), 0, size - 1), "its default is not a slot")
    _require(_domain(task)[0] == size, f"its domain has not as many values as its oracle, {size}")


def _check_loss(fields: Fields, names: str, epsilon: object) -> None:
    """Refuse other fields, integers out of their ranges, and a likelihood ratio above e^epsilon."""
    _require({*fields} - {"kind"} == {*names.split()}, f"its oracle or second stage has not the fields {names}")
    for name in names.split():
        pair: Any = fields[name]
        if name not in _PAIRS:
            _require(_is_integer(pair, 1), f"its {name!r} is not a positive integer")
            continue
        _require(isinstance(pair, list) and len(pair) == 2 and _is_integer(pair[1], 1), f"its {name!r} is not a pair")
        low, high = (pair[1], _LARGEST) if name == "ratio" else (0, pair[1])
        _require(_is_integer(pair[0], low, high), f"its {name!r} is out of range")
    if "ratio" in names:
        a, b = fields["ratio"]
    else:  # p (1 - q) / ((1 - p) q)
        (a, b), (c, d) = fields["one"], fields["zero"]
        _require(a * d >= c * b, "its 'one' is less than its 'zero'")
        a, b = a * (d - c), (b - a) * c
    numerator, denominator = _rational(epsilon)
    _require(0 <= numerator <= 64 * denominator, f"its epsilon {epsilon} is not between 0 and 64")
    term = total = 2**128
    for count in range(1, 400):  # the first terms of the series of e^epsilon, each rounded down
        term = term * numerator // (count * denominator)
        total += term
    _require(b > 0 and a * 2**128 <= b * total, f"its likelihoods differ by a factor above e^{epsilon}")


def _rational(text: Any) -> tuple[int, int]:
    _require(type(text) is str and _RATIONAL.fullmatch(text), "a number is not a decimal or a fraction as text")
    whole, _, divisor = text.partition("/")
    digits, _, decimals = whole.partition(".")
    _require(not divisor or int(divisor), f"{text!r} divides by zero")
    return int(digits + decimals), int(divisor or 1) * 10 ** len(decimals)


def _domain(task: Any) -> tuple[int, Callable[[Any], int]]:
    """The number of slots, and the slot of a value: the default one for a value outside of the domain."""
    domain, default = task.get("domain"), int(task["default"])
    _require(isinstance(domain, dict) and len(domain.keys() & {"size", "values", "steps"}) == 1, "it has no domain")
    if "values" in domain:
        _require(isinstance(domain["values"], list) and {*map(type, domain["values"])} <= {str}, "a value is not text")
        slots = {value: slot for slot, value in enumerate(domain["values"])}
        _require(len(slots) == len(domain["values"]), "a value is twice in its domain")
        return len(slots), lambda value: slots.get(_typed(value, str), default)
    if "size" in domain:
        size = domain["size"]
        return size, lambda value: value if 0 <= _typed(value, int) < size else default
    (a, b), (c, d), steps = _rational(domain.get("low")), _rational(domain.get("high")), domain["steps"]
    _require(a * d < c * b and _is_integer(steps, 1), "its domain is empty")

    def step(value: float) -> int:
        """The nearest step, the upper one of two, in integers."""
        if isinstance(_typed(value, float, int), float) and not math.isfinite(value):
            return default if math.isnan(value) else steps * (value > 0)
        x, y = value.as_integer_ratio()
        numerator, denominator = (x * b - a * y) * d * steps, y * (c * b - a * d)
        return int(min(max((2 * numerator + denominator) // (2 * denominator), 0), steps))

    return steps + 1, step


def _typed(value: Any, *types: type) -> Any:
    if type(value) not in types:
        raise ClientError("value", f"it is {type(value).__name__}", f"{types[0].__name__}, as the domain of the task")
    return value


class _Records:
    """Append-only JSON records, in a dict or a file. The first in a file decide between processes, without a lock."""

    def __init__(self, state: State) -> None:
        self.state, self.process = state, os.getpid()

    def read(self) -> list[dict[str, Any]]:
        if isinstance(self.state, dict):
            return list(self.state.setdefault("records", []))
        if not Path(self.state).exists():
            return []
        with Path(self.state).open("r+b") as file:
            records = [record for line in file if isinstance(record := _parse(line), dict)]
            os.fsync(file.fileno())  # nothing counts that a crash could still take back
        return records

    def append(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        if isinstance(self.state, dict):
            if os.getpid() != self.process:
                raise ClientError("state", "a process after a fork has its own copy of the dict", "a file as state")
            self.state["records"].append(record)
            return self.read()
        line = f"\n{json.dumps(record)}\n".encode()
        with open(self.state, "ab", buffering=0, opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            if file.write(line) != len(line):
                raise ClientError("state", "the disk is full", "free space, and the same call")
            os.fsync(file.fileno())
        if os.name == "posix":  # the name of a new file is on the disk too
            folder = os.open(Path(self.state).absolute().parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        return self.read()


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


class Client:
    """Makes reports of values for one task.

    With `repeat="fresh"` each report has new randomness, and n reports about one person cost n epsilon.
    With `repeat="memoised"` equal values have equal payloads: reports show when a value changes and which are of one
    client, and cost epsilon for each distinct value. After `max_values` distinct values every other value counts as the
    default of the task, with a payload of its own, so that the client is never silent. `repeat="two_stage"` randomises
    the memoised outcome again in each report. Values outside of the domain count as the default.

    Args:
        assignment: `{"task": ..., "cohort": ...}` from the operator, as a dict or JSON text.
        secret: At least 16 random bytes, for this person and for good. Default: the state holds one of 32 bytes.
        state: File, or dict that the caller stores before a report is sent. It pins task, cohort and secret, and holds
            the values visited, readable. Memoised tasks need it. Processes may share a file, not a dict.
        hash: SHA-256 of the task, in hexadecimal, that the client accepts. Default: that of the state, else any.

    Raises:
        ClientError: If the task is of another format, not the pinned one, or loses more than epsilon, or has no state.

    Example:
        >>> import discreet as dp
        >>> task = {"format": "discreet.local.task/1", "name": "emoji", "domain": {"values": ["smile", "tear"]},
        ...         "oracle": {"kind": "krr", "size": 2, "ratio": [3, 1]}, "epsilon": "1.0987", "repeat": "fresh",
        ...         "default": 0, "cohorts": 1, "max_values": None, "max_bytes": 40}
        >>> len(dp.local.Client({"task": task, "cohort": 0}).report("tear"))
        32
    """

    def __init__(
        self, assignment: Any, secret: bytes | None = None, state: State | None = None, hash: str | None = None
    ) -> None:
        text, task, cohort = _read(assignment)
        self._hash = hashlib.sha256(text).digest()
        _require(hash in (None, self._hash.hex()), f"its hash {self._hash.hex()} is not the pinned one, {hash}")
        _check(task)
        o = task["oracle"]
        _require(_is_integer(cohort, 0, task["cohorts"] - 1), "its cohort is out of range")
        _require(task.get("trust") != "dap", "its clients send shares to aggregators of DAP, not reports")
        self._header = b"\x01" + self._hash[:8] + cohort.to_bytes(2, "big")
        self._supply: Supply = _system_bytes  # private, so that only tests put other bytes in its place
        self._draw, self._second = _ORACLES[o["kind"]][0](o, self._hash, cohort), None
        self._slot, (length, self._encode) = _domain(task)[1], _payload(o)
        _require(_is_integer(task.get("max_bytes"), 31 + length), "its reports are longer than its max_bytes")
        if task["repeat"] == "two_stage":
            second = task["second"] | {"size": _ORACLES[o["kind"]][2](o)}
            self._second = _coins(second) if o["kind"] == "unary" else _krr(second)
        self._outcomes: dict[int, Any] = {}
        self._is_fresh, self._default, self._most = task["repeat"] == "fresh", task["default"], task.get("max_values")
        self._pin(cohort, secret, state)

    def report(self, value: Any, batch: int = 0) -> bytes:
        """One report of a value.

        Args:
            value: An integer, text or number, as the domain of the task.
            batch: Number of the batch, of 32 bits. Default 0.

        Returns:
            The report, in version 1 of the format.

        Raises:
            ClientError: If a type is another, or there is no randomness.
        """
        slot, bits = self._slot(value), _RandomBits(self._supply)
        if not _is_integer(batch, 0, 2**32 - 1):
            raise ClientError("batch", f"{batch!r} is not a number of 32 bits", "batch=0")
        outcome = self._draw(bits, slot) if self._is_fresh else self._permanent(slot)
        payload = self._encode(self._second(bits, outcome) if self._second else outcome)
        return b"".join((self._header, batch.to_bytes(4, "big"), bits.take(16), payload))

    def _permanent(self, slot: int) -> Any:
        if slot not in self._outcomes:
            visited = self._visit(slot)
            label = self._hash + self._header[9:] + (b"value" + slot.to_bytes(4, "big") if visited else b"default")
            outcome = self._draw(_RandomBits(_stream(self._secret, label)), slot if visited else self._default)
            self._outcomes[slot] = outcome
        return self._outcomes[slot]

    def _visit(self, slot: int) -> bool:
        """Whether a slot is one of the first `max_values` in the state; a new one is stored if there is room."""
        if self._most is None:
            return True
        for read in (self._records.read, lambda: self._records.append({"visited": slot})):
            records = read()
            _require(any("task" in each for each in records), "its state has lost its first record")
            slots = list(dict.fromkeys(each["visited"] for each in records if "visited" in each))[: self._most]
            if slot in slots or len(slots) == self._most:
                break
        return slot in slots

    def _pin(self, cohort: int, secret: bytes | None, state: Any) -> None:
        """Write what the state pins if it is new; refuse another task, cohort or secret than its first header has."""
        if not self._is_fresh and state is None:
            raise ClientError("state", "a memoised client has to know what it visited", "state='client.state'")
        if secret is not None and (type(secret) is not bytes or len(secret) < 16):
            raise ClientError("secret", "it is not 16 bytes or more", "secret=None, for one in the state")
        given = b"" if self._is_fresh else secret
        self._records = _Records({} if state is None else state)
        records = self._records.read()
        if not any("task" in record for record in records):
            _require(not records, "its state has lost its first record")
            own = _system_bytes(32)[:32] if given is None else given
            records = self._records.append(self._pins(own, cohort) | {"secret": own.hex() if given is None else None})
        header = next(record for record in records if "task" in record)
        self._secret = bytes.fromhex(header["secret"] or "") if given is None else given
        for name, value in self._pins(self._secret, cohort).items():
            _require(header.get(name) == value, f"its {name} is not the one in the state")

    def _pins(self, secret: bytes, cohort: int) -> dict[str, Any]:
        pins = {"format": "discreet.local.state/1", "task": self._hash.hex(), "cohort": cohort}
        return pins | {"secret_check": hmac.digest(secret, self._hash + self._header[9:] + b"state", "sha256").hex()}
