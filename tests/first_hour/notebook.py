"""Runs cells in a real Jupyter kernel of this environment, and says what each printed or raised."""

import json
import sys

import nbformat
from nbclient import NotebookClient


def run(cells: list[str]) -> list[dict[str, str]]:
    """The text and the error of every cell; the cells after an error run too."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, allow_errors=True).execute()
    return [_outcome(cell.outputs) for cell in notebook.cells]


def _outcome(outputs: list[dict]) -> dict[str, str]:
    printed = [each["text"] for each in outputs if each.get("name") == "stdout"]
    shown = [each["data"]["text/plain"] for each in outputs if "data" in each]
    raised = [f"{each['ename']}: {each['evalue']}" for each in outputs if each["output_type"] == "error"]
    return {"text": "".join([*printed, *shown]), "raised": "".join(raised)}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
