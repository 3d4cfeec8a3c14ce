"""Refusals have three parts, failures one sentence, and the page that lists them prints what the library prints."""

import ast
import copy
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from discreet import errors
from discreet.errors import Failure, ParameterError, Refusal, short_traceback, suggestion

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "errors.md"
CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.DiscreetError)]
REFUSALS = [kind for kind in CLASSES if issubclass(kind, Refusal)]
BLOCK = re.compile(
    r"^```python run(?P<raises> raises)?\n(?P<code>.*?)^```\n(?:\n```text output\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)

# runs in the process that stands for the reader
READER = """
import contextlib, io, json, sys
namespace, printed = {"__name__": "__main__"}, []
for code in json.load(sys.stdin):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        try:
            exec(compile(code, "<page>", "exec"), namespace)
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__qualname__}: {error}")
    printed.append(shown.getvalue())
json.dump(printed, sys.stdout)
"""


def _refused(what="sum of 'cost'", because="nothing bounds it", instead="bounds=(0, 1)") -> Refusal:
    return ParameterError(what, because=because, instead=instead)


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_keeps_its_three_parts_and_prints_them(kind):
    refusal = kind("sum of 'cost'", because="nothing bounds it", instead="bounds=(0, 1)")
    assert (refusal.what, refusal.because, refusal.instead) == ("sum of 'cost'", "nothing bounds it", "bounds=(0, 1)")
    assert str(refusal) == "sum of 'cost'\n  because  nothing bounds it\n  instead  bounds=(0, 1)"


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_survives_a_copy_and_another_process(kind):
    refusal = kind("what", because="because", instead="instead")
    for twin in (pickle.loads(pickle.dumps(refusal)), copy.deepcopy(refusal)):  # noqa: S301 - our own bytes
        assert type(twin) is kind
        assert str(twin) == str(refusal)


def test_a_refusal_without_a_reason_or_a_way_out_cannot_be_written():
    with pytest.raises(TypeError):
        Refusal("what", because="because")
    with pytest.raises(TypeError):
        Refusal("what", instead="instead")


def test_a_failure_says_one_sentence_and_takes_nothing():
    assert str(Failure()) == errors.FAILURE
    with pytest.raises(TypeError):
        Failure("a cell of somebody")
    assert str(pickle.loads(pickle.dumps(Failure()))) == errors.FAILURE  # noqa: S301 - our own bytes


def test_the_tree_in_the_docstring_draws_every_class_where_it_hangs():
    tree = errors.__doc__.partition("A `Refusal` has three parts")[0]
    drawn = re.findall(r"^ {4}([│├└─ ]*)(\w+)  ?", tree, re.MULTILINE)
    drawn = [(branch, name) for branch, name in drawn if hasattr(errors, name)] + [("", "DiscreetError")]
    assert sorted(name for _, name in drawn) == sorted(kind.__name__ for kind in CLASSES)
    for branch, name in drawn:
        parents = {0: Exception, 4: errors.DiscreetError, 8: Refusal, 12: errors.UnsupportedError}
        assert getattr(errors, name).__bases__[0] is parents[len(branch)]


def test_the_nearest_known_name_is_suggested():
    assert suggestion("agee", ["ward", "age", "cost"]) == "age"


def test_where_no_name_is_near_the_known_ones_are_listed_and_many_are_cut():
    assert suggestion("zzz", ["age", "cost"]) == "one of 'age', 'cost'"
    assert suggestion("zzz", [f"column{i}" for i in range(50)]).endswith("'column11', ...")
    assert suggestion("zzz", []) == "none: no name is known here"


@pytest.mark.timing
def test_a_name_of_a_million_characters_is_answered_at_once():
    start = time.perf_counter()
    suggestion("a" * 1_000_000, [f"column{i}" for i in range(200)])
    assert time.perf_counter() - start < 10


def _deep(times: int) -> None:
    if times:
        _deep(times - 1)
    try:
        {}["a cell of somebody"]
    except KeyError:
        raise _refused()  # noqa: B904 - the context is what must not be shown


def test_a_guarded_call_raises_from_one_frame_and_shows_no_other_exception():
    @short_traceback
    def call() -> None:
        _deep(30)

    with pytest.raises(ParameterError) as caught:
        call()
    printed = "".join(traceback.format_exception(caught.value))
    assert "somebody" not in printed
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2
    assert len(printed.splitlines()) <= 15


def test_a_guarded_call_keeps_its_name_its_answer_and_foreign_errors():
    @short_traceback
    def halved(number: int) -> float:
        """Half of it."""
        return 1 / number

    assert (halved.__name__, halved.__doc__, halved(2)) == ("halved", "Half of it.", 0.5)
    with pytest.raises(ZeroDivisionError):
        halved(0)


def _texts(node: ast.AST) -> list[str]:
    """The texts in a piece of code, with an ellipsis for each value that is put into them."""
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)]
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    return [text for child in ast.iter_child_nodes(node) for text in _texts(child)]


def _messages() -> list[tuple[str, str]]:
    found = []
    names = {kind.__name__ for kind in REFUSALS}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                for part in (*node.args, *(keyword.value for keyword in node.keywords)):
                    found += [(f"{path.name}:{node.lineno}", text) for text in _texts(part)]
    return found


def test_refusals_are_worded_alike():
    messages = _messages()
    assert len(messages) > 200
    for place, text in messages:
        assert not re.search(r"\b(please|invalid|sorry|oops)\b", text, re.IGNORECASE), (place, text)
        assert not re.search(r"(?<!\.\.)[.!]$", text), (place, text)


def _blocks() -> list[re.Match[str]]:
    return list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))


def test_the_page_of_errors_has_a_heading_and_an_example_for_every_class():
    headings = re.findall(r"^### (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    abstract = {errors.DiscreetError, Refusal}
    assert sorted(headings) == sorted(kind.__name__ for kind in CLASSES if kind not in abstract)
    shown = [block["output"].partition(":")[0] for block in _blocks() if block["raises"]]
    assert {f"discreet.errors.{name}" for name in headings} == set(shown)


def test_the_page_of_errors_draws_the_tree_of_the_module():
    tree = re.search(r"```text\n(DiscreetError.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert inspect.cleandoc(errors.__doc__).replace("\n    ", "\n").count(tree.strip()) == 1


def test_the_examples_of_the_page_of_errors_print_what_the_page_says(tmp_path):
    blocks = _blocks()
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", READER],
        input=json.dumps([block["code"] for block in blocks]),
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
        env=os.environ | {"DISCREET_HOME": str(tmp_path / "home"), "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for block, printed in zip(blocks, json.loads(result.stdout), strict=True):
        assert printed == (block["output"] or ""), block["code"]


def test_the_nearest_name_is_found_whatever_its_case():
    assert suggestion("AGE", ["ward", "age"]) == "age"
    assert suggestion("age", ["Ward", "Age"]) == "Age"


def test_an_unknown_call_is_an_attribute_error_too():
    refusal = errors.UnknownCallError("x", because="y", instead="z")
    assert isinstance(refusal, AttributeError)
    assert isinstance(refusal, Refusal)
