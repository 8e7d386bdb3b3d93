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
    """Data are shared by all calls; the second derivative is the Hessian's, by each tensor and by what stands before them."""
    f = adapter.to_torch(lambda a, b, y: np.sum((y - a @ b) ** 2), np.arange(2.0))
    a, b = (
        torch.ones(2, 3, dtype=torch.float64, requires_grad=True),
        torch.ones(3, dtype=torch.float64, requires_grad=True),
    )
    assert torch.autograd.gradcheck(f, (a, b))
    assert torch.autograd.gradgradcheck(f, (a, b))
    assert torch.autograd.gradgradcheck(lambda b: torch.sin(f(a.detach(), torch.exp(b))), (b,))


def test_gradients_are_new_tensors_and_only_those_that_are_wanted():
    """A graph that is kept gives the same gradient again, though PyTorch adds to its tensors in place; one of two tensors; none."""
    f = adapter.to_torch(lambda a, b=None: np.sum(a**2) if b is None else np.sum(a * b))
    x, y = torch.ones(3, dtype=torch.float64, requires_grad=True), torch.full((3,), 2.0, dtype=torch.float64)
    for loss in (f(x), f(x, x.detach() * 2)):
        x.grad = None
        for count in (1, 2, 3):
            loss.backward(retain_graph=True)
            np.testing.assert_array_equal(x.grad, [2.0 * count] * 3)
    changed = y.clone().requires_grad_()
    loss = f(changed)
    loss.backward(retain_graph=True)
    with torch.no_grad():
        changed += 1.0
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()
    by_second = y.clone().requires_grad_()
    f(x.detach(), by_second).backward()
    np.testing.assert_array_equal(by_second.grad, [1.0] * 3)
    assert not f(y).requires_grad
    assert f(y).item() == 12.0
    scalar = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    adapter.to_torch(lambda a: a**2)(scalar).backward()
    assert scalar.grad.item() == 6.0
    assert scalar.grad.shape == ()


def test_second_derivatives_are_those_of_the_hessian_and_third_ones_are_refused():
    """Whatever PyTorch computes them with: a derivative that it took for zero would be a wrong one."""

    def cubic(x):
        return np.sum(x**3) * x[0] if x[0] > 0 else np.sum(x**2)

    f, x = adapter.to_torch(cubic), torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    for at in (x, (-x).detach().requires_grad_()):
        expected = td.hessian(cubic, at.detach().numpy())
        np.testing.assert_allclose(torch.autograd.functional.hessian(f, at), expected, rtol=1e-12)
        (gradient,) = torch.autograd.grad(f(at), at, create_graph=True)
        (gradient**2).sum().backward()  # a penalty on gradients
        np.testing.assert_allclose(at.grad, 2.0 * expected @ td.gradient(cubic, at.detach().numpy()), rtol=1e-12)
    single = torch.tensor([0.5, -1.0], dtype=torch.float32, requires_grad=True)
    np.testing.assert_allclose(torch.autograd.functional.hessian(f, single), td.hessian(cubic, np.array([0.5, -1.0])), rtol=1e-5)
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated twice, and not three times"):
        torch.autograd.grad(second.sum(), x)
    with pytest.raises(RuntimeError, match="differentiated twice, and not three times"):
        torch.autograd.functional.jacobian(lambda x: torch.autograd.functional.hessian(f, x, create_graph=True), x)


def test_second_derivatives_at_tensors_that_were_changed_are_refused():
    """Before the first derivative by tapediff, after it by PyTorch."""
    f = adapter.to_torch(lambda a: np.sum(a**3))
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    loss = f(x)
    with torch.no_grad():
        x += 1.0
    with pytest.raises(RuntimeError, match="changed in place"):
        torch.autograd.grad(loss, x, create_graph=True)
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    with torch.no_grad():
        x += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(gradient.sum(), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype):
    """Results are rounded to the tensor's type."""
    x = torch.tensor([0.5, -2.0], dtype=dtype, requires_grad=True)
    value = adapter.to_torch(lambda x: np.sum(x**2))(x)
    value.backward()
    assert (value.dtype, value.item()) == (dtype, 4.25)
    np.testing.assert_array_equal(x.grad.float(), [1.0, -4.0])


def test_what_is_no_tensor_of_floats_is_refused():
    """Whole numbers, whose results would be rounded; and lists."""
    f = adapter.to_torch(lambda x: np.sum(x) / 2)
    for x in (torch.tensor([1, 2]), [1.0, 2.0], np.ones(2), torch.tensor([True])):
        with pytest.raises(TypeError, match=r"has to be a tensor of floats; fix: torch\.tensor"):
            f(x)
    assert f(torch.nn.Parameter(torch.ones(3, dtype=torch.float64))).item() == 1.5


def test_functions_of_torch_on_tapes():
    """Value and gradient in a recorded function, with one tensor and with two."""
    of_torch = adapter.from_torch(lambda x: torch.tanh(x) * x)
    x = np.array([0.3, -0.4])
    gradient = td.gradient(td.compile(lambda x: np.sum(of_torch(x) ** 2), x), 2 * x)
    np.testing.assert_allclose(gradient, td.gradient(lambda x: np.sum((np.tanh(x) * x) ** 2), 2 * x), rtol=1e-12)
    product = adapter.from_torch(lambda a, b: a @ b)
    np.testing.assert_allclose(td.gradient(lambda b: product(np.eye(2) * 3, b).sum(), x), [3.0, 3.0])


def test_a_posterior_is_a_function_of_its_unconstrained_vector():
    """With the data that it has."""
    post = td.Posterior(lambda m, s, y: -np.sum((y - m) ** 2) / s, m=td.real(), s=td.positive(), data={"y": np.arange(3.0)})
    u = torch.tensor([0.5, -0.25], dtype=torch.float64, requires_grad=True)
    adapter.to_torch(post)(u).backward()
    np.testing.assert_allclose(u.grad, post.log_density_gradient(u.detach().numpy())[1], rtol=1e-12)
