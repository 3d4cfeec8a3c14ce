"""pycanon and anjana by their own Pythons: one question on one CSV file, time and answer as JSON. Needs no discreet.

PYTHON anonymity_answers.py '{"what": "k", "file": "people.csv", "quasi": ["zip"], "sensitive": "disease"}'
"""

import contextlib
import importlib
import io
import json
import sys
import time
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped,unused-ignore]


def pycanon(what: str, frame: Any, quasi: list[str], sensitive: str) -> Any:
    """One metric of a frame."""
    from pycanon import anonymity, metrics  # noqa: PLC0415

    if what == "k":
        return anonymity.k_anonymity(frame, quasi)
    if what == "average risk":
        return metrics.average_rir(frame, quasi)
    metric = {
        "l": anonymity.l_diversity,
        "entropy l": anonymity.entropy_l_diversity,
        "t": anonymity.t_closeness,
    }[what]
    return metric(frame, quasi, [sensitive])


def anjana(frame: Any, quasi: list[str], k: int, suppression: float) -> dict[str, Any]:
    """k-anonymity by generalising; each column has its values, and the star above them."""
    from anjana.anonymity import k_anonymity  # noqa: PLC0415
    from anjana.anonymity.utils import utils  # noqa: PLC0415

    hierarchies = {name: {0: frame[name].to_numpy(), 1: np.array(["*"] * len(frame))} for name in quasi}
    table = k_anonymity(frame, [], quasi, k, suppression, hierarchies)
    return {"rows": len(table), "levels": utils.get_transformation(table, quasi, hierarchies)}


def frame_of(request: dict[str, Any]) -> Any:
    """The file, or a frame with a fault's trigger."""
    if "columns" in request:
        frame = pd.DataFrame(request["columns"])
        return frame.set_axis(request["index"]) if "index" in request else frame
    return pd.read_csv(request["file"], dtype=str, keep_default_na=False)


def main() -> None:
    """Answer the request of the first argument."""
    request = json.loads(sys.argv[1])
    frame, quasi = frame_of(request), request["quasi"]
    importlib.import_module(request["peer"] + ".anonymity")
    start = time.process_time()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if request["peer"] == "pycanon":
                answer = pycanon(request["what"], frame, quasi, request["sensitive"])
            else:
                answer = anjana(frame, quasi, request["k"], request["suppression"])
    except Exception as error:  # noqa: BLE001 - what a peer raises is its answer
        answer = f"{type(error).__name__}: {error}"
    print(json.dumps({"seconds": time.process_time() - start, "answer": answer}, default=float))


if __name__ == "__main__":
    main()
