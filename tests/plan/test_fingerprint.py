"""Fingerprints of one question of every kind never change, whatever is renamed, released or planned otherwise."""

import json
import shutil
import subprocess
import sys
import tokenize
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

import discreet as dp
import golden_questions
from discreet.ledger import SQLiteLedger
from discreet.plan import fingerprint as module
from discreet.plan.fingerprint import FORMS, Context, Form, Question, canonical, fingerprint
from discreet.plan.physical import Keys
from discreet.planner import format_0
from discreet.session.pipeline import Pipeline
from golden_questions import OPENINGS, OTHER_NOISE, QUESTIONS

GOLDEN = Path(__file__).parents[1] / "golden"
WRITTEN = golden_questions.written(GOLDEN / "ledger" / "questions-6cc4f2e.answers.json")
SOURCE = Path(dp.__file__).parent
CONTEXT = Context((("t", 1),), is_private=True)


class RecordedLedger(SQLiteLedger):
    """A ledger that notes the fingerprints under which it is asked to charge."""

    def charge_together(self, parts, *, question, former=(), **words):
        self.known_by = question, former
        return super().charge_together(parts, question=question, former=former, **words)


class FormerToo(Pipeline):
    """A pipeline that notes the former fingerprint of an opening too, though an opening is never repeated."""

    def charge_interactive(self, plan, question, prepared):
        opened = super().charge_interactive(plan, question, prepared)
        self.ledger.known_by = self.ledger.known_by[0], (format_0.fingerprint(plan, self.context(plan.dataset)),)
        return opened


class Recorded(dp.Session):
    _pipeline_class = FormerToo


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A session over a ledger that the commit before format 1 wrote."""
    home = tmp_path_factory.mktemp("golden")
    shutil.copy(GOLDEN / "ledger" / "questions-6cc4f2e.sqlite", home / "ledger.sqlite")
    ledger = RecordedLedger(home / "ledger.sqlite", key=home / "key", anchors=home / "anchors")
    ledger.take_over(reason="its anchors are lost")
    with ledger, golden_questions.opened(ledger, kind=Recorded) as opened:
        yield opened


@pytest.mark.pitfall("B19")
@pytest.mark.parametrize("name", [*QUESTIONS, *OPENINGS])
def test_every_kind_of_question_keeps_its_fingerprint_in_both_formats(session, name):
    (QUESTIONS | OPENINGS)[name](session)
    current, former = session.ledger.known_by
    assert current == json.loads((GOLDEN / "fingerprints.json").read_text())[name]
    assert (former == (WRITTEN[name]["names"][0][1],)) is (name not in OTHER_NOISE)


def test_no_two_kinds_of_question_share_a_fingerprint():
    known = json.loads((GOLDEN / "fingerprints.json").read_text())
    assert len(set(known.values())) == len(known) == len(QUESTIONS | OPENINGS)


@pytest.mark.parametrize("forms", [FORMS, format_0.OWN_FORMS], ids=["every format", "format 0"])
def test_no_field_of_a_class_is_left_out_of_its_form(forms):
    """A new field goes into the form, and into `later` with the value that its absence stands for."""
    for kind, form in forms.items():
        attributes = {"rows" if kind is Keys and each == "canonical_rows" else each for each in form.attributes}
        assert attributes == {each.name for each in fields(kind)}, kind
        assert set(form.later) <= set(form.attributes.values())


def test_every_class_has_a_tag_of_its_own():
    assert len({form.tag for form in FORMS.values()}) == len(FORMS)


def test_an_attribute_that_was_renamed_is_written_by_the_name_that_it_had():
    @dataclass(frozen=True)
    class Renamed:
        contribution_bounds: int
        share: int = 0

    forms = {Renamed: Form("renamed", "Old", "contribution_bounds=caps share", {"share": 0})}
    assert canonical(Renamed(3), forms) == '{"caps":3,"is":"Old"}'
    assert canonical(Renamed(3, 1), forms) == '{"caps":3,"is":"Old","share":1}'


def test_a_class_that_is_not_in_the_table_has_no_fingerprint():
    class Other(Keys):
        pass

    with pytest.raises(TypeError, match="Other has no canonical text"):
        fingerprint(Question("table", {"keys": Other()}, {}), CONTEXT)


def test_the_context_and_the_price_are_part_of_a_fingerprint():
    question = Question("table", {"a": 1}, {"epsilon": 1})
    others = [
        (question, Context((("t", 2),), is_private=True)),
        (question, Context((("u", 1),), is_private=True)),
        (question, Context((("t", 1), ("u", 1)), is_private=True)),
        (question, Context((("t", 1),), is_private=False)),
        (question, Context((("t", 1),), True, (("wards", "3:ab"),))),
        (Question("batch", {"a": 1}, {"epsilon": 1}), CONTEXT),
        (Question("table", {"a": 2}, {"epsilon": 1}), CONTEXT),
        (Question("table", {"a": 1}, {"epsilon": 2}), CONTEXT),
    ]
    assert len({fingerprint(question, CONTEXT), *(fingerprint(*other) for other in others)}) == len(others) + 1


@contextmanager
def _other_names(kinds):
    names = {kind: kind.__name__ for kind in kinds}
    try:
        for kind, name in names.items():
            kind.__name__ = kind.__qualname__ = f"Renamed{name}"
        yield
    finally:
        for kind, name in names.items():
            kind.__name__ = kind.__qualname__ = name


@pytest.mark.pitfall("B19")
def test_neither_the_version_nor_the_name_of_a_class_is_part_of_a_fingerprint(session, monkeypatch):
    ask = QUESTIONS["unknown keys"]
    ask(session)
    before = session.ledger.known_by
    monkeypatch.setattr("discreet.version.__version__", "9.9.9")
    with _other_names({*format_0.OWN_FORMS, *format_0.MECHANISMS}):
        assert ask(session).repeated
    assert session.ledger.known_by == before


RENAMED = (
    "Pushdown",
    "Scan",
    "SumSteps",
    "CountRows",
    "CountValues",
    "Apply",
    "Constant",
    "Read",
    "JoinedRows",
    "PerUnit",
    "AutoBoundsAggregate",
    "HierarchyCounts",
    "Search",
    "Discovery",
    "Recipe",
    "Offset",
    "LocalReading",
    "PrivatePlan",
    "AggregatePlan",
    "DiscoveryPlan",
    "HierarchyPlan",
    "RangePlan",
    "QuantilePlan",
    "AutoBoundsPlan",
    "SelectionPlan",
    "TopKeysPlan",
    "SmoothPlan",
    "SampleAndAggregatePlan",
    "ModelPlan",
    "SynthesisPlan",
    "BatchPlan",
    "SparseVectorPlan",
    "OnlineRangesPlan",
    "Scales",
)


def _renamed(path: Path) -> str:
    """The text of a module in which classes have other names; strings stay as they are."""
    with path.open("rb") as file:
        tokens = [
            token._replace(string=f"Other{token.string}") if token.string in RENAMED else token
            for token in tokenize.tokenize(file.readline)
        ]
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for token in reversed(tokens):
        if token.type == tokenize.NAME and token.string.startswith("Other") and token.string[5:] in RENAMED:
            (row, start), (_, end) = token.start, token.end
            lines[row - 1] = lines[row - 1][:start] + token.string + lines[row - 1][end:]
    return "".join(lines)


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """A copy of the library as a later version may be: classes are renamed, and the version is another."""
    home = tmp_path_factory.mktemp("later")
    shutil.copytree(SOURCE, home / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (home / "discreet").rglob("*.py"):
        path.write_text(_renamed(path), encoding="utf-8")
    (home / "discreet" / "version.py").write_text('"""A later version."""\n\n__version__ = "0.2.0"\n')
    return home


def _repeated(home: Path, ledger: Path, names: list[str], **options: object) -> dict:
    """What the copy of the library under `home` answers from a ledger, and what it spends on that."""
    run = [sys.executable, golden_questions.__file__, "--repeat", str(ledger), json.dumps(names), json.dumps(options)]
    done = subprocess.run(run, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(home)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PLANNED_OTHERWISE = [
    "every aggregate",
    "every aggregate, gaussian",
    "automatic bounds of a mean",
    "a batch with a delta",
]
QUICK = [name for name in QUESTIONS if not name.startswith("sample")]


@pytest.mark.pitfall("B19")
def test_a_version_with_other_names_of_classes_repeats_what_the_first_one_stored(later, tmp_path):
    """Format 0: the ledger was written by the commit before this format."""
    shutil.copy(GOLDEN / "ledger" / "questions-6cc4f2e.sqlite", tmp_path / "ledger.sqlite")
    same = [name for name in QUICK if name not in OTHER_NOISE]
    told = _repeated(later, tmp_path / "ledger.sqlite", same)
    assert told["version"] == "0.2.0"
    assert told["charges"] == 0
    assert told["answers"] == {name: WRITTEN[name]["answer"] for name in same}


@pytest.mark.pitfall("B19")
def test_a_version_that_plans_otherwise_repeats_what_this_one_stores(later, tmp_path):
    """Format 1: with another share for the sum of a mean, as a better planner may choose them."""
    planned = later / "discreet" / "planner" / "resolve" / "measures.py"
    before = planned.read_text(encoding="utf-8")
    planned.write_text(before.replace("SHARE_OF_A_MEANS_SUM = Fraction(3, 5)", "SHARE_OF_A_MEANS_SUM = Fraction(1, 2)"))
    assert planned.read_text(encoding="utf-8") != before
    try:
        golden_questions.write(tmp_path / "ledger.sqlite", tmp_path, PLANNED_OTHERWISE)
        answers = json.loads((tmp_path / "ledger.answers.json").read_text())
        told = _repeated(later, tmp_path / "ledger.sqlite", PLANNED_OTHERWISE)
    finally:
        planned.write_text(before)
    assert told["charges"] == 0
    assert told["answers"] == {name: answers[name]["answer"] for name in PLANNED_OTHERWISE}


def test_the_format_has_a_number():
    assert module.FORMAT == 1


@pytest.mark.pitfall("B19")
def test_conditional_values_text_matches_and_parts_of_dates_keep_their_fingerprints():
    t = dp.table("t")
    nodes = {
        "case": dp.when(t.a, 1).otherwise(0),
        "case without otherwise": dp.when(t.a, 1).when(t.b, 2),
        "text match": t.s.starts_with("é%"),
        "truncate": t.d.truncate("week"),
        "date part": t.d.part("weekday"),
    }
    found = {name: fingerprint(Question("table", {"a": each.node}, {}), CONTEXT)[:16] for name, each in nodes.items()}
    assert found == {
        "case": "f6411bba03daac87",
        "case without otherwise": "7c5db605cb96b63f",
        "text match": "3a090c8ff6c7eec0",
        "truncate": "1cf926e5f713afd5",
        "date part": "0d8607a27b59b84d",
    }
    assert canonical(nodes["text match"].node) == (
        '{"how":"starts","is":"TextMatch","operand":{"is":"Column","name":"s"},"text":"é%"}'
    )
