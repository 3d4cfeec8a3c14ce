"""The exit codes of all commands, and which of them have a meaning of their own.

A refusal ends with 1 in every command; 2 is of the option parser alone.
"""

OK = 0
PROBLEM = 1
WRONG_CALL = 2
UNDECIDED = 3

MEANINGS = {
    OK: "all is well",
    PROBLEM: "discreet refused, failed, or found a problem",
    WRONG_CALL: "the command was called wrongly; nothing was done",
    UNDECIDED: "no answer: it could not be determined, or is not covered",
}
"""The meaning of each code, for all commands."""

OF_COMMANDS: dict[str, dict[int, str]] = {
    "audit": {
        OK: "nothing found",
        PROBLEM: "a claim is broken, or the audit was refused",
        UNDECIDED: "the audit is void: no conclusion",
    },
    "doctor": {PROBLEM: "something has to be mended"},
    "ledger health": {
        OK: "the ledger serves, and no limit is reached",
        PROBLEM: "it cannot be reached, does not serve, or a limit is reached",
    },
    "ledger move": {PROBLEM: "something does not agree after the move, or it was refused"},
    "ledger recover": {PROBLEM: "something does not agree after the recovery, or it was refused"},
    "ledger verify": {PROBLEM: "something does not agree, a dataset is stopped, or the check was refused"},
    "receipt verify": {PROBLEM: "the receipt was changed, or another key signed it"},
    "release verify": {
        PROBLEM: "the file was changed, or another key signed it",
        UNDECIDED: "nothing is wrong, and no signature covers the numbers or the table",
    },
}
"""What codes mean for single commands; a command that is not here has 0, 1 and 2 in their general meaning."""


def codes_of(command: str) -> dict[int, str]:
    """The exit codes of a command, such as "ledger verify", with their meaning."""
    general = {code: MEANINGS[code] for code in (OK, PROBLEM, WRONG_CALL)}
    return dict(sorted((general | OF_COMMANDS.get(command, {})).items()))
