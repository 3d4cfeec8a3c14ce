"""Networks of layers that read each row alone; the gradient of each row by Opacus."""

import numpy as np
import pytest

from discreet.errors import ParameterError, UnsupportedError

torch = pytest.importorskip("torch", reason="networks need discreet[torch]")
pytest.importorskip("opacus", reason="networks need discreet[torch]")

from discreet.learning.sgd.network import Network, describe, perceptron  # noqa: E402

nn = torch.nn


def test_a_module_is_described_as_plain_data():
    module = nn.Sequential(nn.Linear(5, 3), nn.Sequential(nn.ReLU(inplace=True), nn.LayerNorm(3)), nn.Linear(3, 2))
    assert [layer["layer"] for layer in describe(module)] == ["Linear", "ReLU", "LayerNorm", "Linear"]


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(3), nn.Dropout(), nn.Softmax(dim=0), nn.Flatten(0)])
def test_layers_that_are_not_on_the_list_are_refused(layer):
    with pytest.raises(UnsupportedError, match=type(layer).__name__):
        describe(nn.Sequential(nn.Linear(5, 3), layer))


def test_layer_normalisation_across_rows_is_refused():
    with pytest.raises(UnsupportedError, match="several axes"):
        describe(nn.LayerNorm((4, 3)))


def test_layers_that_share_weights_are_refused():
    shared = nn.Linear(3, 3)
    with pytest.raises(UnsupportedError, match="share"):
        describe(nn.Sequential(shared, nn.ReLU(), shared))


def test_a_network_that_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="outputs"):
        Network(perceptron(5, (3,), 2), (2, 4), 2)


def test_gradients_of_rows_are_those_of_torch_alone():
    network = Network(perceptron(6, (4,), 3), (2, 4), 3)
    codes = np.array([[0, 1], [1, 3], [0, 0]], dtype=np.uint16)
    target = np.array([0, 2, 1], dtype=np.int64)
    found = network.gradients(codes, target)
    plain = Network(network.layers, (2, 4), 3).put(network.weights())  # without the hooks of Opacus
    for row in range(3):
        plain._module.zero_grad()
        logits = plain._module(plain._inputs(codes[row : row + 1]))
        nn.functional.cross_entropy(logits, torch.from_numpy(target[row : row + 1])).backward()
        own = torch.cat([tensor.grad.ravel() for tensor in plain._module.parameters()]).numpy()
        assert found[row] == pytest.approx(own, abs=1e-6)


def test_weights_go_in_and_out():
    network = Network(perceptron(6, (4,), 3), (2, 4), 3)
    vector = np.arange(network.length, dtype=np.float64)
    assert (network.at(vector).vector() == vector).all()
    with pytest.raises(ValueError, match="another network"):
        network.put({})


def test_weights_begin_at_random_and_alike_for_tests():
    layers = perceptron(6, (4,), 3)
    vectors = [Network(layers, (2, 4), 3, is_repeatable=same).vector() for same in (True, True, False, False)]
    assert (vectors[0] == vectors[1]).all()
    assert not (vectors[2] == vectors[3]).any()


def test_other_rows_do_not_change_the_logits_of_a_row_by_a_step():
    network = Network(perceptron(40, (16,), 3), (40,), 3)
    codes = np.arange(40, dtype=np.uint16)[:, None]
    alone = np.concatenate([network.logits(codes[row : row + 1]) for row in range(40)])
    assert np.abs(network.logits(codes) - alone).max() < 2.0**-40
