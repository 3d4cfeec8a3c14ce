"""The examples at the end of a command's help, in lines that a shell takes as they are printed."""

import re

_MARK = "Example: "
_LONGEST = 78
"""Columns of a terminal of 80, without the indentation of the help."""
_NOT_WRAPPED = "\b\n"
"""What stands before a paragraph that the help prints line by line."""


def examples(*commands: str) -> str:
    """The end of a help: a paragraph for each command, continued by a backslash where a line would be too long."""
    return "\n\n".join(_NOT_WRAPPED + _in_lines(_MARK + command) for command in commands)


def in_epilog(epilog: str | None) -> list[str]:
    """The commands in the end of a help, each on one line."""
    paragraphs = [each.removeprefix(_NOT_WRAPPED) for each in (epilog or "").split("\n\n")]
    lines = [re.sub(r" \\\n\s*", " ", each) for each in paragraphs]
    return [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)]


def _in_lines(command: str) -> str:
    first, *options = re.split(" (?=--)", command)
    lines = [first]
    for option in options:
        if len(f"{lines[-1]} {option} \\") > _LONGEST:
            lines.append(f"  {option}")
        else:
            lines[-1] += f" {option}"
    return " \\\n".join(lines)
