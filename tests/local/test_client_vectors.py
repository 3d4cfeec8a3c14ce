"""The clients in Python and in JavaScript make the same bytes of the same bytes, and refuse the same tasks."""

import json
import random
import subprocess
from itertools import product
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from discreet.local.client import Client, ClientError
from local.local_tasks import JAVASCRIPT, KINDS, TWO_STAGES, case, in_javascript, in_python, node_command, task
from local.refusals import REFUSALS, changed

GOLDEN = Path(__file__).parent / "vectors.json"
EPSILONS = ("0.5", "1", "3")
SIZES = (2, 3, 16, 65, 300)
NUMBERS = [0, -5, 3.3, 100, {"number": "NaN"}, {"number": "Infinity"}, {"number": "-Infinity"}, 12.7499, 1e-300, 1e300]


def shapes():
    """Every oracle with every repeat that it has, at each size and epsilon."""
    for kind, size, epsilon in product(KINDS, SIZES, EPSILONS):
        for repeat in ("fresh", "memoised", *(["two_stage"] if kind in TWO_STAGES else [])):
            yield kind, size, epsilon, repeat


def cases():
    """Cases with 10,000 reports and a few more: values of the domain, and some outside of it."""
    known = list(shapes())
    each = -(-10_000 // len(known))
    for number, (kind, size, epsilon, repeat) in enumerate(known):
        source = random.Random(number)  # noqa: S311 - test vectors
        numeric = kind in ("duchi", "hybrid")
        values = [source.choice(NUMBERS) if numeric else source.randrange(-1, size + 1) for _ in range(each)]
        fields = {} if numeric or number % 3 else {"domain": {"values": [f"{chr(233 + i)} {i}" for i in range(size)]}}
        if fields:
            values = [f"{chr(233 + i)} {i}" for i in values]
        yield case(task(kind, size, epsilon, repeat, **fields), values, number)


def test_the_client_in_javascript_has_at_most_200_lines_and_imports_nothing():
    text = JAVASCRIPT.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    assert "import " not in text
    assert "require(" not in text


@pytest.mark.full
def test_ten_thousand_reports_are_the_same_in_python_and_in_javascript():
    known = list(cases())
    assert sum(len(each["values"]) for each in known) >= 10_000
    for each, answer in zip(known, in_javascript(known), strict=True):
        assert answer == each["expected"], each["assignment"]["task"]["oracle"]


def test_the_golden_vectors_are_what_both_clients_make():
    """A change of these bytes is a change of the wire format or of a draw: clients in the field would disagree."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for each in golden:
        tape = iter(bytes.fromhex(each["entropy"]))
        found = in_python(each, lambda size, tape=tape: bytes(next(tape) for _ in range(size)))
        assert found | {"used": len(each["entropy"]) // 2} == each["expected"]
    assert list(in_javascript(golden)) == [each["expected"] for each in golden]


def test_the_golden_vectors_have_every_oracle_and_repeat():
    tasks = [each["assignment"]["task"] for each in json.loads(GOLDEN.read_text(encoding="utf-8"))]
    assert {(each["oracle"]["kind"], each["repeat"]) for each in tasks} == {
        (kind, repeat) for kind, _, _, repeat in shapes()
    }


def test_both_clients_refuse_the_same_tasks():
    refused = []
    for name, fields in REFUSALS.items():
        assignment = changed(fields)
        with pytest.raises(ClientError):
            Client(assignment, state={})
        refused.append({"assignment": assignment, "entropy": "", "values": [], "state": {}, "name": name})
    for each, answer in zip(refused, in_javascript(refused), strict=True):
        assert set(answer) == {"refused"}, each["name"]


SAVES = """
import { pathToFileURL } from "node:url";
const { Client } = await import(pathToFileURL(process.argv[1]));
const task = JSON.parse(process.argv[2]), events = [];
let stored, works = true;
const save = async (state) => {
  if (!works) throw new Error("disk full");
  stored = JSON.stringify(state);
};
const open = (state) => Client.open({ task, cohort: 0 }, { state, save });
const payload = async (client, value) => Buffer.from((await client.report(value)).slice(31)).toString("hex");
const first = await open({}), second = await open(JSON.parse(stored));
const before = await payload(first, 1);
events.push(JSON.parse(stored).records.length === 2, before === (await payload(second, 1)));
works = false;
for (const value of [2, 2]) events.push(await payload(first, value).then(() => false, () => true));
works = true;
await payload(first, 2);
const third = await open(JSON.parse(stored));
const rest = new Set(await Promise.all([3, 4, 5, 6].map((value) => payload(third, value))));
events.push(rest.size === 2, before === (await payload(third, 1)), JSON.parse(stored).records.length === 4);
const refused = { task: { ...task, name: "another" }, cohort: 0 };
events.push(await Client.open(refused, { state: JSON.parse(stored) }).then(() => false, () => true));
events.push(await Client.open({ task, cohort: 0 }).then(() => false, () => true));
console.log(JSON.stringify(events));
"""


def test_the_client_in_javascript_stores_its_state_before_a_report_leaves():
    """Also when storing failed before; a client that reads it goes on where the first one ended."""
    given = task("krr", 100_000, "1", "memoised")
    run = subprocess.run(
        [node_command(), "--input-type=module", "-e", SAVES, JAVASCRIPT, json.dumps(given)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(run.stdout) == [True] * 9


TABS = """
import { pathToFileURL } from "node:url";
const { Client } = await import(pathToFileURL(process.argv[1]));
const task = JSON.parse(process.argv[2]), pause = () => new Promise((done) => setTimeout(done, 5 * Math.random()));
const assignment = { task, cohort: 0 };
let disk = "{}", turn = Promise.resolve();
const load = () => JSON.parse(disk), lock = (work) => (turn = turn.then(work, work));
const save = (state) => lock(async () => { // as docs/local.md has it; a pause stands for a slow disk
  await pause();
  const stored = load().records ?? [], known = new Set(stored.map((record) => record.visited));
  const records = [...stored, ...state.records.filter((record) => !known.has(record.visited))];
  await pause();
  disk = JSON.stringify({ records });
  return { records };
});
const open = () => Client.open(assignment, { state: load(), save });
const payload = async (client, value) => Buffer.from((await client.report(value)).slice(31)).toString("hex");
const tabs = await Promise.all([...Array(20).keys()].map(open));
const shown = await Promise.all(tabs.map((tab) => payload(tab, 7)));
const many = await Promise.all(tabs.map((tab, value) => payload(tab, value)));
const again = await Promise.all(tabs.map((tab) => payload(tab, 7)));
disk = "{}";
await open();
const refused = await tabs[0].report(99_999).then(() => "", (error) => error.message);
console.log(JSON.stringify([new Set(shown).size, new Set([...shown, ...many]).size, new Set([...shown, ...again]).size,
  refused.includes("lost its first record")]));
"""


@pytest.mark.pitfall("C5")
@pytest.mark.guarantee("local.client")
def test_tabs_that_share_a_state_report_one_outcome_of_a_value_and_visit_together_no_more_than_max_values():
    """With two visits left to 20 tabs: what is stored decides, not the state that a tab has read."""
    given = task("krr", 100_000, "1", "memoised", max_values=2)
    run = subprocess.run(
        [node_command(), "--input-type=module", "-e", TABS, JAVASCRIPT, json.dumps(given)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(run.stdout) == [1, 3, 1, True]


def test_the_wheel_has_the_client_in_javascript():
    files = WheelBuilder(str(JAVASCRIPT.parents[3])).recurse_included_files()
    assert "discreet/local/client.mjs" in {file.distribution_path for file in files}


def write_golden() -> None:
    """Write the golden file anew, from Python with `src` and `tests` on its path."""
    known = [(kind, repeat) for kind, size, epsilon, repeat in shapes() if (size, epsilon) == (16, "1")]
    found = []
    for number, (kind, repeat) in enumerate(known):
        values = [0.5, -1, 12.75, 4, 4] if kind in ("duchi", "hybrid") else [3, 15, 16, 0, 7, 3]
        found.append(case(task(kind, 16, "1", repeat), values, number))
    GOLDEN.write_text("[\n" + ",\n".join(json.dumps(each) for each in found) + "\n]\n", encoding="utf-8")
