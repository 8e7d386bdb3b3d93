"""Adapters whose library is missing."""

import sys

import numpy as np
import pytest

from tapediff.adapters import iminuit, jax, nutpie, pymc, required, torch


def total(x):
    return np.sum(x**2)


CALLS = {
    "torch": (lambda: torch.to_torch(total), "PyTorch; fix: pip install 'tapediff[torch]'"),
    "jax": (lambda: jax.to_jax(total, np.ones(2)), "JAX; fix: pip install 'tapediff[jax]'"),
    "pytensor.tensor": (lambda: pymc.to_pytensor(total, np.ones(2)), "PyTensor; fix: pip install 'tapediff[pymc]'"),
    "iminuit": (lambda: iminuit.minuit(total, {"x": 1.0}), "iminuit; fix: pip install 'tapediff[optimisation]'"),
    "nutpie": (nutpie._nutpie, "nutpie; fix: pip install 'tapediff[sampling]', or pip install nutpie"),
}


@pytest.mark.parametrize("module", CALLS)
def test_an_adapter_says_how_to_install_its_library(module, monkeypatch):
    """The error of a missing library has its name, and the command that installs it."""
    monkeypatch.setitem(sys.modules, module, None)
    call, text = CALLS[module]
    with pytest.raises(ImportError) as raised:
        call()
    assert str(raised.value) == f"this adapter needs {text}"


def test_a_library_that_is_there_is_imported():
    """The module itself is returned."""
    assert required("numpy.linalg", "NumPy", "numpy") is np.linalg
