"""Logistic regression trained by Opacus on Adult, for scripts/bench learning.

Rows have the slots of discreet, divided by the root of the number of columns, so that each has norm 1. Batches are
Poisson samples, momentum is 0.9, gradients are clipped at 1, and the noise is found by the PRV accountant. Opacus takes
the rate of the samples and the normaliser from the number of rows of the data.
"""

from functools import cache
from itertools import product
from typing import Any

import torch
from learning_job import DELTA, Parts, Setting, run
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from torch.utils.data import DataLoader, TensorDataset

BATCH = 4_096
SETTINGS = [{"epochs": epochs, "rate": rate} for epochs, rate in product((5, 20, 60), (0.5, 2.0, 8.0))]


class Rows(TensorDataset):
    """Rows that are read a batch at a time: one by one takes most of the time of a fit."""

    def __getitems__(self, places: list[int]) -> list[Any]:
        return [tensor[places] for tensor in self.tensors]


@cache
def noise(epsilon: float, rate: float, epochs: int) -> float:
    found: float = get_noise_multiplier(
        target_epsilon=epsilon, target_delta=DELTA, sample_rate=rate, epochs=epochs, accountant="prv"
    )
    return found


def vectors(rows: Parts) -> Any:
    columns = rows["numbers"].shape[1] + rows["codes"].shape[1]
    return torch.tensor(rows["slots"], dtype=torch.float32) / columns**0.5


def scores(rows: Parts, others: Parts, epsilon: float, setting: Setting) -> Any:
    inputs, targets = vectors(rows), torch.tensor(rows["labels"], dtype=torch.float32)
    model = torch.nn.Linear(inputs.shape[1], 1)
    torch.nn.init.zeros_(model.weight)
    loader = DataLoader(Rows(inputs, targets), batch_size=BATCH, collate_fn=list)
    model, optimizer, loader = PrivacyEngine(accountant="prv").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=setting["rate"], momentum=0.9),
        data_loader=loader,
        noise_multiplier=noise(epsilon, 1 / len(loader), setting["epochs"]),
        max_grad_norm=1.0,
    )
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(setting["epochs"]):
        for batch, truth in loader:
            optimizer.zero_grad()
            loss(model(batch)[:, 0], truth).backward()
            optimizer.step()
    with torch.no_grad():
        return model(vectors(others))[:, 0].numpy()


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(scores, packages=["opacus", "torch"], settings=SETTINGS, defaults=None)
