"""Commands on a ledger have the same options."""

from cli.command_tree import COMMANDS

NAMES = {"where": ["--ledger"], "key": ["--signing-key"], "anchors": ["--anchors"], "reason": ["--reason"]}


def test_each_option_has_one_name_in_every_command_on_a_ledger():
    seen = set()
    for name, command in COMMANDS.items():
        for parameter in command.params if name.startswith("ledger ") else ():
            if parameter.name in NAMES:
                assert parameter.opts == NAMES[parameter.name], name
                seen.add(parameter.name)
    assert seen == set(NAMES)
