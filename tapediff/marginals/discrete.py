"""Log densities with some of their arguments summed out, each over a few values."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import numpy as np

from ..base.source_location import user_site
from ..errors import ArgumentMismatch, NonScalarOutput, hides_frames
from ..ir.instruction import Operand, Tree
from ..special import logsumexp


def discrete(count: int) -> range:
    """The values 0, 1, ..., count - 1 of an argument that td.marginal sums out. Raises ArgumentMismatch for no positive integer."""
    if type(count) is not int or count < 1:
        raise ArgumentMismatch("a discrete argument takes a positive number of values", got=repr(count), fix="td.discrete(3)")
    return range(count)


@hides_frames
class Marginal:
    """A log density without its discrete arguments, and their posterior; see td.marginal."""

    def __init__(self, f: Callable[..., Operand], over: dict[str, range]) -> None:
        whole = inspect.signature(f)
        if not over or any(name not in whole.parameters or not isinstance(values, range) for name, values in over.items()):
            raise ArgumentMismatch("td.marginal sums out arguments of the function", got=f"{over} for {whole}",
                                   fix="td.marginal(f, k=td.discrete(3))")  # fmt: skip
        self.f, self.over, self._whole, self.__name__ = f, over, whole, getattr(f, "__name__", "f")
        self.__signature__ = whole.replace(parameters=[p for name, p in whole.parameters.items() if name not in over])

    def _terms(self, args: tuple[Tree, ...], named: dict[str, Tree]) -> Operand:
        """The log density at all values of the discrete arguments, in an array with an axis for each."""
        given, terms = self.__signature__.bind(*args, **named).arguments, []
        for values in itertools.product(*self.over.values()):
            every, bound = {**given, **dict(zip(self.over, values))}, self._whole.bind_partial()
            bound.arguments.update({name: every[name] for name in self._whole.parameters if name in every})
            term = self.f(*bound.args, **bound.kwargs)
            if np.ndim(term):
                raise NonScalarOutput(f"{self.__name__} returned an array; td.marginal needs a number", at=user_site(),
                                      got=f"shape {np.shape(term)}", fix="reduce the output, e.g. with .sum()")  # fmt: skip
            terms.append(term)
        return np.reshape(np.stack(terms), tuple(map(len, self.over.values())))

    def __call__(self, *args: Tree, **named: Tree) -> Operand:
        return logsumexp(self._terms(args, named))

    def posterior(self, *args: Tree, **named: Tree) -> Operand:
        """The probabilities of the discrete arguments given the others, which add up to 1; an axis for each."""
        terms = self._terms(args, named)
        return np.exp(terms - logsumexp(terms))


def marginal(f: Callable[..., Operand], /, **over: range) -> Marginal:
    """A log density with discrete arguments summed out: log sum_k exp(f(theta, k, *data)).

    Args:
        f: a log density, a number; it gets the discrete arguments as Python integers, to branch on or to index with.
        over: the arguments to sum out: k=td.discrete(3). Of several, all combinations.

    Returns:
        Marginal: a function of the other arguments, for every verb; .posterior(theta, *data) has the probabilities of k.

    Raises:
        ArgumentMismatch: f has no such argument.
        NonScalarOutput, when called: f returns an array.

    Cost: f for each combination of values.
    Source: Stan User's Guide, chapter "Latent discrete parameters".

    ```python
    mixture = td.marginal(lambda m, k, y: td.stats.norm.logpdf(y, m[k]) - np.log(2.0), k=td.discrete(2))
    print(td.gradient(mixture, np.array([-1.0, 2.0]), td.Constant(0.3)), mixture.posterior(np.array([-1.0, 2.0]), 0.3))
    ```
    """
    return Marginal(f, over)
