"""Record a call: all that it shows, raises, logs, warns, prints and leaves behind, in terms that two runs can share.

What differs between any two runs is masked: moments of the run itself, paths of its directories and of its source, and
words that look random (hashes, keys, addresses, names of temporary files). Masked words are kept aside: one that comes
again in every run on one dataset and never on its neighbour is not random, but a name for the data.
"""

import contextlib
import datetime as dt
import io
import json
import logging
import os
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from discreet import home
from discreet.release.release import MeasuredColumn, Release
from discreet.session.session import Session

T = TypeVar("T")

CHANNELS = (
    "status",
    "error",
    "cost",
    "keys",
    "shape",
    "margins",
    "text",
    "ledger",
    "log",
    "warnings",
    "printed",
    "files",
)

_OF_THE_RUN = ("time", "hash", "previous", "key", "signature", "ledger", "request")
_WITH_MARGINS_FROM_VALUES = ("mean", "variance", "standard deviation")
_ROOMS = "private"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+\d\d:\d\d|Z)?")
_RANDOM = re.compile(
    r"(?:\b(?=\d*[a-f])|(?<=/private/)|(?<=\breceipt )|(?<=\"ledger\":\"))[0-9a-f]{12,}\b"
    r"|ed25519:[\w+/=]{44}|\btmp[a-z0-9_]{8}\b"
)
"""A word of 12 digits or more is a number, unless a letter is among them or it stands where a random name does."""
_ADDRESS = re.compile(r"\b(?:at )?0x[0-9a-f]{8,}\b")
_OF_AN_OBJECT = "at 0x"
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_SLACK = dt.timedelta(seconds=1)


@dataclass(frozen=True)
class Observation:
    """What one call showed in each channel, as masked JSON with its masked words, its integers and its time."""

    channels: Mapping[str, str]
    masked: Mapping[str, frozenset[str]]
    seconds: float
    measured: tuple[MeasuredColumn, ...] = ()
    is_private: bool = False


class Witness:
    """Makes calls and keeps what each showed, by name."""

    def __init__(self, places: Mapping[str, Path], data: object, since: dt.datetime) -> None:
        self._places, self._data, self._since = places, data, since
        self.session: Session | None = None
        self.seen: dict[str, Observation] = {}

    def watch(self, call: str, make: Callable[[], Any]) -> Any:
        """What the call returns, or None where it raised."""
        with _listening() as heard:
            start = time.perf_counter()
            result, error = _attempt(make)
            seconds = time.perf_counter() - start
            texts = {} if error else _texts(result)
        release = result if isinstance(result, Release) else None
        shown = {
            "status": f"returned {type(result).__name__}" if error is None else f"raised {type(error).__name__}",
            "error": list(_exception_chain(error)),
            **_parts(release),
            "text": texts if release is None else {way: _without_numbers(release, text) for way, text in texts.items()},
            **_ledger_state(self.session),
            **vars(heard),
            "files": files_below(self._places),
        }
        masks = {channel: _Mask(self._places, self._data, self._since) for channel in CHANNELS}
        channels = {channel: json.dumps(mask.plain(shown[channel])) for channel, mask in masks.items()}
        words = {channel: frozenset(mask.words) for channel, mask in masks.items()}
        found = (release.measured, release.private) if release else ()
        self.seen[call] = Observation(channels, words, seconds, *found)
        return result


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def within_a_day(look: Callable[[], T], today: Callable[[], dt.date] = _today) -> T:
    """What is seen within one day; what midnight came into is looked at again, since ledgers tell charges by day."""
    while True:
        day = today()
        seen = look()
        if today() == day:
            return seen


def is_address(word: str) -> bool:
    """Whether a masked word is what Python prints of an object's place in memory, which is often the same by chance."""
    return word.startswith(_OF_AN_OBJECT)


@contextlib.contextmanager
def surroundings() -> Iterator[dict[str, Path]]:
    """A home and a temporary directory of their own, empty at first and gone at the end."""
    kept, kept_directory = {name: os.environ.get(name) for name in (home.VARIABLE, "TMPDIR")}, tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="discreet-audit-", ignore_cleanup_errors=True) as parent:
        places = {"home": Path(parent, "home"), "temporary": Path(parent, "temporary")}
        for place in places.values():
            place.mkdir(mode=0o700)
        os.environ |= {home.VARIABLE: str(places["home"]), "TMPDIR": str(places["temporary"])}
        tempfile.tempdir = str(places["temporary"])
        try:
            yield places
        finally:
            tempfile.tempdir = kept_directory
            for name, value in kept.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def files_below(places: Mapping[str, Path]) -> list[str]:
    """Names and modes of files and directories, with sizes where others may list them; rooms with rows stay shut."""
    found = []
    for word, place in places.items():
        for path in place.rglob("*"):
            parts = path.relative_to(place).parts
            if parts[0] == _ROOMS and len(parts) > 2:
                continue
            with contextlib.suppress(FileNotFoundError):  # a journal that a library deletes meanwhile
                status = path.stat()
                is_listed = word != "home" and path.is_file()
                size = f" {status.st_size} bytes" if is_listed else ""
                found.append(f"{word}/{'/'.join(parts)} {status.st_mode & 0o777:o}{size}")
    return sorted(found, key=lambda name: _RANDOM.sub("", name))


@dataclass
class _Heard:
    """What was logged, warned and printed."""

    log: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)


class _Mask:
    """Puts a word in the place of what differs between any two runs, and keeps what it replaced."""

    def __init__(self, places: Mapping[str, Path], data: object, since: dt.datetime) -> None:
        self._since, self._now = since - _SLACK, dt.datetime.now(dt.UTC) + _SLACK
        self._known = {str(path): f"<{word}>" for word, path in places.items()}
        if isinstance(data, str | Path):
            self._known[str(data)] = "<source>"
        self._known |= {f"{day:%Y-%m-%d}": "<today>" for day in (self._since, self._now)}
        self.words: set[str] = set()

    def plain(self, value: Any) -> Any:
        """A value as JSON can say it, masked."""
        if isinstance(value, Mapping):
            return {str(key): self.plain(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(part) for part in value]
        return value if isinstance(value, int | float | None) else self._text(str(value))

    def _text(self, text: str) -> str:
        text = _MOMENT.sub(self._moment, text)
        for known, word in self._known.items():
            text = text.replace(known, word)
        return _ADDRESS.sub(self._address, _RANDOM.sub(self._random, text))

    def _moment(self, found: re.Match[str]) -> str:
        """Moments of the run only: any other may be somebody's."""
        moment = dt.datetime.fromisoformat(found[0])
        aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return "<moment>" if self._since <= aware <= self._now else found[0]

    def _random(self, found: re.Match[str]) -> str:
        self.words.add(found[0])
        return "<random>"

    def _address(self, found: re.Match[str]) -> str:
        self.words.add(found[0])
        return "<address>"


def _attempt(make: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return make(), None
    except Exception as error:  # noqa: BLE001 - any exception is an observation
        return None, error


def _texts(result: Any) -> dict[str, str]:
    """What a person sees of a result, on a terminal and in a notebook."""
    texts = {"str": str(result), "repr": repr(result)}
    page = getattr(result, "_repr_html_", None)
    return texts if page is None else texts | {"html": page()}


def _exception_chain(error: BaseException | None) -> Iterator[dict[str, Any]]:
    """An exception and those behind it: everything that a traceback would print."""
    while error is not None:
        yield {
            "class": f"{type(error).__module__}.{type(error).__qualname__}",
            "text": str(error),
            "arguments": repr(error.args),
            "notes": getattr(error, "__notes__", []),
            "lines": [f"{each.name}, line {each.lineno}" for each in traceback.extract_tb(error.__traceback__)],
        }
        error = error.__cause__ or error.__context__


def _parts(release: Release | None) -> dict[str, Any]:
    """A release without its numbers."""
    if release is None:
        return {"keys": None, "shape": None, "margins": None}
    plain = release.to_json()
    outputs = [
        {"name": out["name"], "kind": out["kind"], "types": [type(value).__name__ for value in out["values"]]}
        for out in plain["outputs"]
    ]
    measured = [{**each, "steps": len(each["steps"])} for each in plain["measured"]]
    receipt = {name: value for name, value in plain["receipt"].items() if name not in _OF_THE_RUN}
    # the text of a signature, and of what was signed, follows from the time and the numbers
    signed = [name for name in ("original", "signature") if name in plain]
    made = {
        "outputs": outputs,
        "measured": measured,
        "receipt": receipt,
        "repeated": release.repeated,
        "signed": signed,
    }
    by_rows = ("keys", "outputs", "measured", "receipt", "original", "signature")
    return {
        "keys": [plain["keys"], release.to_arrow().column_names],
        "shape": {name: value for name, value in plain.items() if name not in by_rows} | made,
        "margins": {o.name: o.margins for o in release.outputs if o.kind not in _WITH_MARGINS_FROM_VALUES},
    }


def _without_numbers(release: Release, text: str) -> str:
    """The text of a release without its receipt, its numbers and the widths that follow from them."""
    receipt = str(release.receipt["hash"])[:12]
    return " ".join(_NUMBER.sub("#", text.replace(receipt, "<receipt>")).split())


def _ledger_state(session: Session | None) -> dict[str, Any]:
    if session is None:
        return {"cost": None, "ledger": None}
    ledger, names = session.ledger, list(session.catalog.protected_tables)
    entries = {name: [vars(entry) | {"time": None} for entry in ledger.history(name)] for name in names}
    return {"cost": {name: vars(ledger.spent(name)) for name in names}, "ledger": entries}


@contextlib.contextmanager
def _listening() -> Iterator[_Heard]:
    """Hear every logger, warning and stream, of Python and of the libraries below it, and let none of it through."""
    heard, out, err = _Heard(), io.StringIO(), io.StringIO()
    with (
        _capture_logs(heard.log),
        _below_python(heard.printed),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        yield heard
    heard.printed += [out.getvalue(), err.getvalue()]
    heard.warnings += [f"{each.category.__name__}: {each.message}" for each in warned]


@contextlib.contextmanager
def _capture_logs(records: list[Any]) -> Iterator[None]:
    """Keep every record as it is made, so that a logger that passes nothing on is heard too."""
    make, level, handlers = logging.getLogRecordFactory(), logging.root.level, logging.root.handlers

    def capture(*arguments: Any, **words: Any) -> logging.LogRecord:
        record = make(*arguments, **words)
        error = record.exc_info[1] if record.exc_info else None
        records.append([record.name, record.levelname, record.getMessage(), list(_exception_chain(error))])
        return record

    logging.setLogRecordFactory(capture)
    logging.root.handlers = [logging.NullHandler()]
    logging.root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logging.setLogRecordFactory(make)
        logging.root.handlers = handlers
        logging.root.setLevel(level)


@contextlib.contextmanager
def _below_python(printed: list[str]) -> Iterator[None]:
    """Hear what is written to the descriptors of standard output and error, past Python's own streams."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in (1, 2)]
        kept = [os.dup(number) for number in (1, 2)]
        for number, file in zip((1, 2), files, strict=True):
            os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            for number, own in zip((1, 2), kept, strict=True):
                os.dup2(own, number)
                os.close(own)
            for file in files:
                file.seek(0)
                printed.append(file.read().decode("utf-8", errors="replace"))
