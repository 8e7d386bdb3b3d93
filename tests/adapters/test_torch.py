"""Compiled gradients in PyTorch's graphs, and PyTorch's functions on tapes."""

import numpy as np
import pytest

import tapediff as td

torch = pytest.importorskip("torch")
adapter = pytest.importorskip("tapediff.adapters.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_go_through_a_graph(dtype):
    """On both paths of a function that branches, with layers before and after it."""
    f = adapter.to_torch(lambda x: np.sum(x**2) if x[0] > 0 else np.sum(np.exp(x)))
    for sign in (1.0, -1.0):
        x = (sign * torch.arange(1.0, 4.0, dtype=dtype)).requires_grad_()
        result = torch.sin(f(2 * x))
        result.backward()
        same = x.detach().clone().requires_grad_()
        torch.sin(((2 * same) ** 2).sum() if sign > 0 else torch.exp(2 * same).sum()).backward()
        assert (result.dtype, x.grad.dtype) == (dtype, dtype)
        np.testing.assert_allclose(x.grad, same.grad, rtol=1e-12 if dtype == torch.float64 else 1e-4)


def test_several_tensors_and_data():
    """Data are shared by all calls; a second derivative is refused."""
    f = adapter.to_torch(lambda a, b, y: np.sum((y - a @ b) ** 2), np.arange(2.0))
    a, b = (
        torch.ones(2, 3, dtype=torch.float64, requires_grad=True),
        torch.ones(3, dtype=torch.float64, requires_grad=True),
    )
    assert torch.autograd.gradcheck(f, (a, b))
    (gradient,) = torch.autograd.grad(f(a, b), b, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.sum().backward()


def test_functions_of_torch_on_tapes():
    """Value and gradient in a recorded function, with one tensor and with two."""
    of_torch = adapter.from_torch(lambda x: torch.tanh(x) * x)
    x = np.array([0.3, -0.4])
    gradient = td.gradient(td.compile(lambda x: np.sum(of_torch(x) ** 2), x), 2 * x)
    np.testing.assert_allclose(gradient, td.gradient(lambda x: np.sum((np.tanh(x) * x) ** 2), 2 * x), rtol=1e-12)
    product = adapter.from_torch(lambda a, b: a @ b)
    np.testing.assert_allclose(td.gradient(lambda b: product(np.eye(2) * 3, b).sum(), x), [3.0, 3.0])
