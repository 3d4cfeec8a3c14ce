"""Networks of layers that read each row alone, as plain data and as modules of torch with the gradient of each row.

A network is rebuilt from its description, so hooks, buffers and modes of a given module do not come along. Layers are
those of a list: an operation across rows, such as batch normalisation, is not on it.

Needs the extra: pip install "discreet[torch]".
"""

import copy
import math
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, UnsupportedError, missing_extra
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import Codes
from discreet.learning.sgd.tensors import Weights

if find_spec("torch") is None or find_spec("opacus") is None:
    raise missing_extra("a network", "torch or opacus", "torch")

import torch
from opacus.grad_sample import GradSampleModule

Layer = dict[str, Any]
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
    "GELU": ("approximate",),
    "Identity": (),
    "ReLU": (),
    "SiLU": (),
    "Sigmoid": (),
    "Tanh": (),
}
"""The layers that a network may have, with their arguments."""


def describe(module: Any) -> tuple[Layer, ...]:
    """The layers of a module, as plain data.

    Args:
        module: A `torch.nn.Sequential` of layers on the list, or one such layer.

    Returns:
        The layers in order.

    Raises:
        UnsupportedError: If a layer is not on the list, or two layers share weights.
    """
    leaves = _leaves(module)
    tensors = [id(tensor) for leaf in leaves for tensor in leaf.parameters()]
    if len(set(tensors)) < len(tensors):
        raise UnsupportedError(
            "layers that share weights",
            because="the gradient of a row has one place for each weight of each layer",
            instead="layers with weights of their own",
        )
    return tuple(_layer(leaf) for leaf in leaves)


def _leaves(module: Any) -> list[Any]:
    if type(module) is torch.nn.Sequential:
        return [leaf for each in module for leaf in _leaves(each)]
    return [module]


def _layer(module: Any) -> Layer:
    kind = type(module).__name__
    if kind not in ARGUMENTS or type(module) is not getattr(torch.nn, kind):
        raise UnsupportedError(
            f"a network with the layer {kind}",
            because="only layers that are known to read each row alone are allowed",
            instead=f"torch.nn.Sequential of these layers: {', '.join(ARGUMENTS)}",
        )
    layer: Layer = {"layer": kind}
    for name in ARGUMENTS[kind]:
        value = getattr(module, name)
        layer[name] = value is not None if name == "bias" else value
    if kind == "LayerNorm":
        layer["normalized_shape"] = _one_width(layer["normalized_shape"])
    return layer


def _one_width(shape: Sequence[int]) -> int:
    if len(shape) != 1:
        raise UnsupportedError(
            "layer normalisation over several axes",
            because="the first of two axes is that of the rows",
            instead="torch.nn.LayerNorm(64)",
        )
    return int(shape[0])


def module_weights(module: Any) -> dict[str, NDArray[np.float32]]:
    """The weights of a given module, by the names that they have in a rebuilt one."""
    return {
        f"{place}.{name}": tensor.detach().to("cpu", torch.float32).numpy().copy()
        for place, leaf in enumerate(_leaves(module))
        for name, tensor in leaf.named_parameters()
    }


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> tuple[Layer, ...]:
    """Layers of linear maps with ReLU between them."""
    widths = [inputs, *hidden, outputs]
    layers: list[Layer] = []
    for low, high in pairwise(widths):
        layers += [{"layer": "Linear", "in_features": low, "out_features": high, "bias": True}, {"layer": "ReLU"}]
    return tuple(layers[:-1])


def build(layers: Sequence[Layer], *, is_repeatable: bool = False) -> Any:
    """A module of torch with fresh weights; with the same ones at each call, for tests, where it is repeatable."""
    modules = []
    with torch.random.fork_rng(devices=(), enabled=is_repeatable):
        if is_repeatable:
            torch.manual_seed(0)
        for layer in layers:
            arguments = {name: layer[name] for name in ARGUMENTS[layer["layer"]]}
            modules.append(getattr(torch.nn, layer["layer"])(**arguments))
    return torch.nn.Sequential(*modules).to(torch.float32)


class Network:
    """A network on the slots of declared features, under public weights.

    Args:
        layers: Its layers.
        slots: Number of slots of each feature; the input of a row is one-hot.
        classes: Number of classes, which is that of the outputs.
        is_repeatable: Whether weights begin the same at each call, for tests.

    Raises:
        ParameterError: If the layers do not fit the inputs, the classes or one another.
    """

    def __init__(
        self, layers: Sequence[Layer], slots: Sequence[int], classes: int, *, is_repeatable: bool = False
    ) -> None:
        self.layers, self.slots = tuple(layers), tuple(slots)
        self._module = build(layers, is_repeatable=is_repeatable)
        self._samples: Any = None
        shape = self._output_shape()
        if shape != (1, classes):
            raise ParameterError(
                f"a network that does not map {sum(slots):,} inputs to {classes:,} outputs",
                because="a row is the one-hot code of its features, and each class has an output",
                instead=f"torch.nn.Sequential(torch.nn.Linear({sum(slots)}, {classes}))",
            )

    def _output_shape(self) -> tuple[int, ...] | None:
        try:
            with torch.no_grad():
                return tuple(self._module(torch.zeros(1, sum(self.slots))).shape)
        except RuntimeError:
            return None

    @property
    def length(self) -> int:
        """Number of weights."""
        return sum(tensor.numel() for tensor in self._module.parameters())

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights by name."""
        return {name: tensor.detach().numpy().copy() for name, tensor in self._module.named_parameters()}

    def put(self, weights: Weights) -> "Network":
        """Take weights by name."""
        if {name: array.shape for name, array in weights.items()} != {
            name: array.shape for name, array in self.weights().items()
        }:
            raise ValueError("weights of another network")
        with torch.no_grad():
            for name, tensor in self._module.named_parameters():
                tensor.copy_(torch.from_numpy(np.array(weights[name], dtype=np.float32)))
        return self

    def vector(self) -> NDArray[np.float64]:
        """All weights, one after another."""
        return np.concatenate([array.ravel() for array in self.weights().values()]).astype(np.float64)

    def at(self, vector: NDArray[np.float64]) -> "Network":
        """The network with the weights of a vector."""
        sizes = [math.prod(array.shape) for array in self.weights().values()]
        pieces = np.split(vector, np.cumsum(sizes)[:-1])
        with torch.no_grad():
            for tensor, piece in zip(self._module.parameters(), pieces, strict=True):
                tensor.copy_(torch.from_numpy(piece.astype(np.float32)).reshape(tensor.shape))
        return self

    def logits(self, codes: Codes) -> NDArray[np.float64]:
        """The outputs of each row, in 64 bits: other rows change them less than a step of the lattice."""
        with torch.no_grad():
            module = copy.deepcopy(self._module).to(torch.float64)
            found: NDArray[np.float64] = module(self._inputs(codes).to(torch.float64)).numpy()
        return found

    def gradients(self, codes: Codes, target: Integers) -> NDArray[np.float32]:
        """The gradient of the cross entropy of each row, by Opacus; the losses are not kept."""
        if self._samples is None:
            self._samples = GradSampleModule(self._module, batch_first=True, loss_reduction="sum").train()
        self._samples.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(
            self._samples(self._inputs(codes)), torch.from_numpy(target), reduction="sum"
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Full backward hook")  # inputs need no gradient
            loss.backward()
        parts = [tensor.grad_sample.reshape(len(codes), -1) for tensor in self._module.parameters()]
        found: NDArray[np.float32] = torch.cat(parts, dim=1).detach().numpy().copy()
        self._samples.zero_grad(set_to_none=True)
        return found

    def _inputs(self, codes: Codes) -> Any:
        """One-hot codes."""
        places = codes.astype(np.int64) + np.cumsum([0, *self.slots[:-1]])
        inputs = np.zeros((len(codes), sum(self.slots)), dtype=np.float32)
        np.put_along_axis(inputs, places, 1.0, axis=1)
        return torch.from_numpy(inputs)
