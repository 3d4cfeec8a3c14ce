"""Text in a terminal: long lines are broken between words; a pipe gets every line whole."""

import re
import shutil
import textwrap
from typing import TextIO

_LABEL = re.compile(r" *(?:\S+(?: \S+)*?)?  +")
"""What a line begins with before its text: words and at least two spaces, or spaces alone where a label goes on."""


def print_fitting(text: str, stream: TextIO, *, is_terminal: bool | None = None) -> None:
    """Print a text, broken to the width of the terminal where there is one."""
    shows = stream.isatty() if is_terminal is None else is_terminal
    print(fit(text, shutil.get_terminal_size().columns) if shows else text, file=stream, flush=True)


def fit(text: str, width: int) -> str:
    """A text whose long lines are broken between words, and go on under the text that follows their label."""
    lines: list[str] = []
    for line in text.splitlines():
        label = _LABEL.match(line)
        indent = " " * (label.end() if label and label.end() < width // 2 else 2)
        broken = textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += broken if len(line) > width else [line]
    return "\n".join(lines)
