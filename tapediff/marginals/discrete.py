"""Log densities with some of their arguments summed out, each over a few values."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from ..base.source_location import user_site
from ..base.wrapper import Wrapper
from ..errors import ArgumentMismatch, NonScalarOutput, hides_frames
from ..ir.instruction import Operand, Tree
from ..special import logsumexp
from ..targets.evaluate.nested_recording import is_recorded
from ..targets.guarded_tape import GuardedTape
from .chains import Chain, chain_of


@dataclass(frozen=True)
class Discrete:
    """An argument that td.marginal sums out; see td.discrete."""

    count: int
    shape: int | tuple[int, ...] | str


def discrete(count: int, shape: int | tuple[int, ...] | str = ()) -> Discrete:
    """The values 0, 1, ..., count - 1 of an argument that td.marginal sums out.

    Args:
        count: the number of values.
        shape: of an array of such quantities; the name of another argument for as many as that has rows.

    Raises:
        ArgumentMismatch: count is no positive integer.
    """
    if type(count) is not int or count < 1:
        raise ArgumentMismatch("a discrete argument takes a positive number of values", got=repr(count), fix="td.discrete(3)")
    return Discrete(count, shape)


@hides_frames
class Marginal:
    """A log density without its discrete arguments, and their posterior; see td.marginal."""

    def __init__(self, f: Callable[..., Operand], over: dict[str, Discrete]) -> None:
        whole = inspect.signature(f)
        if not over or any(name not in whole.parameters or not isinstance(values, Discrete) for name, values in over.items()):
            raise ArgumentMismatch("td.marginal sums out arguments of the function", got=f"{over} for {whole}",
                                   fix="td.marginal(f, k=td.discrete(3))")  # fmt: skip
        self.f, self.over, self.whole, self.__name__ = f, over, whole, getattr(f, "__name__", "f")
        self.__signature__ = whole.replace(parameters=[p for name, p in whole.parameters.items() if name not in over])
        self._numbers = [name for name, values in over.items() if values.shape == ()]
        self._arrays = [name for name in over if name not in self._numbers]
        counts = sorted({over[name].count for name in self._arrays})
        if len(counts) > 1:
            raise ArgumentMismatch("arrays of discrete quantities have one number of values", got=", ".join(map(str, counts)),
                                   fix="the largest one for all; the others' log density is -inf there")  # fmt: skip
        self.count = counts[0] if counts else 1
        if self._arrays:
            # A recording that imports a module of SciPy begins again.
            import_module("scipy.sparse.csgraph")
        # For calls outside of recordings, where a chain would be recorded each time.
        self._logs, self._chains = GuardedTape(self.logs_at), GuardedTape(self.tables_at)

    def __reduce__(self) -> tuple[object, ...]:
        return Marginal, (self.f, self.over)

    def __call__(self, *args: Tree, **named: Tree) -> Operand:
        return logsumexp(self._log_densities(self._given(args, named)))

    def posterior(self, *args: Tree, **named: Tree) -> Tree:
        """The probabilities of the discrete arguments given the others.

        Returns:
            Of single quantities, an array with an axis for each, whose entries add up to 1; of an array, one more axis for its values; of
            several with arrays among them, a dict of each one's own probabilities.
        """
        given = self._given(args, named)
        logs = self._log_densities(given)
        weights = np.exp(logs - logsumexp(logs))
        if not self._arrays:
            return weights
        found = {}
        for k, name in enumerate(self._numbers):
            found[name] = np.sum(weights, axis=tuple(axis for axis in range(len(self._numbers)) if axis != k))
        chains = [chain.probabilities() for chain in self.chains_at(given)]
        mixed = sum(weight * chain for weight, chain in zip(np.reshape(weights, (-1,)), chains))
        for name, part in zip(self._arrays, self._parts(mixed, given)):
            found[name] = part
        return found if len(found) > 1 else found[self._arrays[0]]

    def sample(self, rng: np.random.Generator, *args: Tree, **named: Tree) -> Tree:
        """A draw of the discrete arguments given the others: an integer or an array of them; of several arguments, a dict."""
        found = self.draw(rng, self._given(args, named))
        return found if len(found) > 1 else found.popitem()[1]

    def draw(self, rng: np.random.Generator, given: Mapping[str, Tree]) -> dict[str, Tree]:
        """A draw of the discrete arguments by name."""
        logs = np.asarray(self._log_densities(dict(given)))
        weights = np.exp(logs - np.max(logs)).ravel()
        place = int(rng.choice(len(weights), p=weights / weights.sum()))
        found: dict[str, Tree] = {name: int(k) for name, k in zip(self._numbers, np.unravel_index(place, logs.shape))}
        if self._arrays:
            constant, tables, order, width = self._chains(given)[place]
            drawn = Chain(constant, tables, np.asarray(order), self.count, int(width)).draw(rng)
            found.update(zip(self._arrays, self._parts(drawn, given)))
        return found

    def _given(self, args: tuple[Tree, ...], named: dict[str, Tree]) -> dict[str, Tree]:
        """The other arguments by name."""
        return dict(self.__signature__.bind(*args, **named).arguments)

    def _log_densities(self, given: dict[str, Tree]) -> Operand:
        return self.logs_at(given) if not self._arrays or is_recorded(list(given.values())) else self._logs(given)

    def logs_at(self, given: Mapping[str, Tree]) -> Operand:
        """The log density at all values of single quantities, with arrays summed out: an array with an axis for each of the former."""
        if self._arrays:
            logs = [chain.total() for chain in self.chains_at(given)]
        else:
            logs = [self._number(_Call(self, values)((), given)) for values in self._combinations()]
        return np.reshape(np.stack(logs), tuple(self.over[name].count for name in self._numbers))

    def chains_at(self, given: Mapping[str, Tree]) -> list[Chain]:
        """The tables of arrays of quantities, for all values of single ones."""
        shapes = self._shapes(given)
        return [chain_of(_Call(self, values), shapes, self.count, given, self.__name__) for values in self._combinations()]

    def tables_at(self, given: Mapping[str, Tree]) -> list[tuple[Operand, ...]]:
        return [(chain.constant, chain.tables, chain.order, chain.width) for chain in self.chains_at(given)]

    def _combinations(self) -> itertools.product[tuple[int, ...]]:
        return itertools.product(*(range(self.over[name].count) for name in self._numbers))

    def arguments(self, numbers: tuple[int, ...], arrays: tuple[Operand, ...], given: Mapping[str, Tree]) -> inspect.BoundArguments:
        """The arguments of the density."""
        every = {**given, **dict(zip(self._numbers, numbers)), **dict(zip(self._arrays, arrays))}
        bound = self.whole.bind_partial()
        bound.arguments.update({name: every[name] for name in self.whole.parameters if name in every})
        return bound

    def _number(self, term: Operand) -> Operand:
        if np.ndim(term):
            raise NonScalarOutput(f"{self.__name__} returned an array; td.marginal needs a number", at=user_site(),
                                  got=f"shape {np.shape(term)}", fix="reduce the output, e.g. with .sum()")  # fmt: skip
        return term

    def _shapes(self, given: Mapping[str, Tree]) -> list[tuple[int, ...]]:
        """The shapes of the arrays."""
        found: list[tuple[int, ...]] = []
        for shape in (self.over[name].shape for name in self._arrays):
            if isinstance(shape, str) and shape not in given:
                raise ArgumentMismatch("the shape of discrete quantities names an argument", got=repr(shape),
                                       fix=f"one of {', '.join(given)}")  # fmt: skip
            known = len(given[shape]) if isinstance(shape, str) else shape
            found.append(known if isinstance(known, tuple) else (int(known),))
        return found

    def _parts(self, entries: Operand, given: Mapping[str, Tree]) -> list[Operand]:
        """Split what belongs to all quantities of arrays, along the first axis, in the shapes of the arrays."""
        found, start = list[Operand](), 0
        for shape in self._shapes(given):
            size = int(np.prod(shape))
            found.append(np.reshape(entries[start : start + size], (*shape, *np.shape(entries)[1:])))
            start += size
        return found


class _Call(Wrapper):
    """The density as a function of a tuple of arrays of discrete quantities and of the other arguments, by name."""

    calls = "f"

    def __init__(self, marginal: Marginal, numbers: tuple[int, ...]) -> None:
        self.f, self.marginal, self.numbers, self.__name__ = marginal.f, marginal, numbers, marginal.__name__

    def __call__(self, arrays: tuple[Operand, ...], given: Mapping[str, Tree]) -> Operand:
        bound = self.marginal.arguments(self.numbers, arrays, given)
        return self.f(*bound.args, **bound.kwargs)


def marginal(f: Callable[..., Operand], /, **over: Discrete) -> Marginal:
    """A log density with discrete arguments summed out: log sum_k exp(f(theta, k, *data)).

    Args:
        f: a log density, a number; it gets single discrete arguments as Python integers, to branch on or to index with, and arrays of them
            as arrays, of whose entries each term of the density reads a few.
        over: the arguments to sum out: k=td.discrete(3), or z=td.discrete(3, "y") for one in each row of y.

    Returns:
        Marginal: a function of the other arguments, for every verb; .posterior(theta, *data) has the probabilities of the discrete ones,
        and .sample(rng, theta, *data) draws them.

    Raises:
        ArgumentMismatch: f has no such argument.
        NonScalarOutput, when called: f returns an array.
        UnsupportedFunction, when called: a term of f depends on too many entries of arrays.

    Cost: of single quantities, f for each combination of values. Of arrays, f for each combination of the values of neighbours, which a
        term depends on, and the forward algorithm: K^2 f for a chain of any length. The terms are found on f's tape, where it adds them
        up, also in a loop or td.scan. A loop is recorded iteration by iteration, 10 ms each; every length is recorded anew.
    Source: Stan User's Guide, chapter "Latent discrete parameters"; Rabiner (1989), Proceedings of the IEEE 77(2).

    ```python
    mixture = td.marginal(lambda m, k, y: td.stats.norm.logpdf(y, m[k]) - np.log(2.0), k=td.discrete(2))
    print(td.gradient(mixture, np.array([-1.0, 2.0]), td.Constant(0.3)), mixture.posterior(np.array([-1.0, 2.0]), 0.3))
    ```
    """
    return Marginal(f, over)
