"""Parsed definitions are read as the server wrote them; text of another form is an error."""

import pytest

from discreet.engines.backends.postgres.node_tree import Node, parse_node_tree


def test_a_node_has_its_fields_lists_and_constants():
    tree = parse_node_tree(
        "({OPEXPR :opno 96 :args ({VAR :varno 1} {CONST :constvalue 4 [ -119 28 0 0 ]}) :location <>})"
    )
    assert isinstance(tree, list)
    (node,) = tree
    assert isinstance(node, Node)
    assert (node.label, node.number("opno"), node["location"], node["absent"]) == ("OPEXPR", 96, None, None)
    variable, constant = node.nodes("args")
    assert variable["varno"] == "1"
    assert constant["constvalue"] == bytes([137, 28, 0, 0])


def test_names_that_a_user_chose_are_no_syntax():
    node = parse_node_tree(r"{TARGETENTRY :resname :hasAggs :other a\ \{\(b\)\} :names (\"x\ y\" \<>) :resjunk false}")
    assert node["resname"] == ":hasAggs"
    assert node["other"] == r"a\ \{\(b\)\}"
    assert node["names"] == [r"\"x\ y\"", r"\<>"]
    assert node["resjunk"] == "false"


@pytest.mark.parametrize(
    "text", ["", "{", "(", "{A :b", "{A b}", "{A :b 1 :b 2}", "{A :b 1 2}", "{A} {B}", ")", "{A :b 1 [ x ]}", "(" * 300]
)
def test_text_of_another_form_is_an_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_node_tree(text)
