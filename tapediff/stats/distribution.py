"""The common part of all distributions: SciPy's arguments, location and scale, support, and functions derived from others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ..base.source_location import user_site
from ..errors import UnsupportedFunction
from ..ir.instruction import Operand, is_tracked, of_form
from ..numpy_api.joining import as_value
from ..ops.elementwise.arithmetic import FLOOR
from ..ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from ..ops.elementwise.structure import STOP_GRADIENT

# A function of the argument and the shapes of a distribution.
Formula = Callable[..., Operand]


def as_operand(value: Operand) -> Operand:
    """A tracked value unchanged, a list of them joined; anything else as floats."""
    if is_tracked(value):
        return value
    if type(value) is float:
        return np.float64(value)
    array = as_value(value)
    return array if is_tracked(array) else np.asarray(array, dtype=float)[()]


def positive(value: Operand) -> Operand:
    """Replace a parameter by NaN where it is not positive, so that every result is NaN there."""
    if type(value) is np.float64 and value > 0.0:
        return value
    return SELECT(value > 0.0, value, np.nan)


def all_of(first: Operand, *masks: Operand) -> Operand:
    """The conjunction of masks; a literal True is skipped."""
    for mask in masks:
        first = mask if first is True else first if mask is True else LOGICAL_AND(first, mask)
    return first


def choose(condition: Operand, x: Operand, y: Operand) -> Operand:
    """Select by the condition; x itself if the condition is a literal True."""
    return x if condition is True else SELECT(condition, x, y)


def _logarithm(p: Operand, q: Operand) -> Operand:
    """log(p), from the smaller of p and q = 1 - p."""
    is_small = p < 0.5
    return SELECT(is_small, np.log(SELECT(is_small, p, 0.5)), np.log1p(-SELECT(is_small, 0.5, q)))


def _always(*_: Operand) -> bool:
    return True


@dataclass(frozen=True)
class Support:
    """The support of a distribution in its standardised variable; all functions also get the shapes.

    Attributes:
        inside: a mask where the density at z is positive and finite.
        middle: a point inside for all shapes, or a function of these.
        at_edge: the log density outside of `inside`: -inf, or a function.
        below, above: masks where z is below or above the whole support.
    """

    inside: Formula = _always
    middle: float | Formula = 0.0
    at_edge: Formula | None = None
    below: Formula | None = None
    above: Formula | None = None

    def point(self, shapes: tuple[Operand, ...]) -> Operand:
        """A point inside."""
        return self.middle(*shapes) if callable(self.middle) else self.middle


EVERYWHERE = Support()


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """A univariate distribution, with the scipy.stats methods that a log density needs: same names, arguments and values.

    The formulas use the standardised variable and the shapes, and hold inside the support only: elsewhere they are evaluated at
    its middle instead. On plain numbers and arrays the methods return NumPy's results.

    Attributes:
        name: SciPy's.
        shapes: the names of its shape parameters, in SciPy's order.
        density: the logarithm of the density or of the probability.
        support: where the density is positive.
        valid: a mask where the shapes are valid.
        functions: cdf, logcdf, sf, logsf, ppf, isf; missing ones are derived from the others, if possible.
    """

    name: str
    shapes: tuple[str, ...]
    density: Formula
    support: Support = EVERYWHERE
    valid: Formula = _always
    functions: dict[str, Formula] = field(default_factory=dict)
    is_discrete = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "__module__", "tapediff.stats")  # so that pickle finds it by its name

    def __repr__(self) -> str:
        return f"<tapediff.stats.{self.name}>"

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, *args: Operand, **named: Operand) -> NoReturn:
        raise UnsupportedFunction(
            f"a frozen distribution, tapediff.stats.{self.name}(...)", at=user_site(),
            fix=f"pass the parameters to the method: tapediff.stats.{self.name}.{'logpmf' if self.is_discrete else 'logpdf'}(x, ...)",
        )  # fmt: skip

    @of_form("entries")
    def cdf(self, x: Operand, *args: Operand, **named: Operand) -> Operand:
        """The probability of values up to x."""
        return self._probability("cdf", x, args, named, 0.0, 1.0)

    @of_form("entries")
    def logcdf(self, x: Operand, *args: Operand, **named: Operand) -> Operand:
        """The logarithm of cdf."""
        return self._probability("logcdf", x, args, named, -np.inf, 0.0)

    @of_form("entries")
    def sf(self, x: Operand, *args: Operand, **named: Operand) -> Operand:
        """The probability of values above x."""
        return self._probability("sf", x, args, named, 1.0, 0.0)

    @of_form("entries")
    def logsf(self, x: Operand, *args: Operand, **named: Operand) -> Operand:
        """The logarithm of sf."""
        return self._probability("logsf", x, args, named, 0.0, -np.inf)

    @of_form("entries")
    def ppf(self, q: Operand, *args: Operand, **named: Operand) -> Operand:
        """The x with cdf(x) = q."""
        return self._quantile("ppf", q, args, named)

    @of_form("entries")
    def isf(self, q: Operand, *args: Operand, **named: Operand) -> Operand:
        """The x with sf(x) = q."""
        return self._quantile("isf", q, args, named)

    @np.errstate(all="ignore")
    def _log_density(self, x: Operand, args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
        shapes, loc, scale = self._parameters(args, named)
        z = self._standardised(x, loc, scale)
        inside = self._inside(z, shapes)
        value = self.density(choose(inside, z, self.support.point(shapes)), *shapes)
        if scale is not None:
            value = value - np.log(scale)
        if inside is not True:
            edge = -np.inf if self.support.at_edge is None else self.support.at_edge(z, *shapes)
            value = SELECT(inside, value, SELECT(IS_NAN(z), np.nan, edge))
        return choose(self.valid(*shapes), value, np.nan)

    @np.errstate(all="ignore")
    def _probability(
        self, name: str, x: Operand, args: tuple[Operand, ...], named: dict[str, Operand], lowest: float, highest: float
    ) -> Operand:
        formula = self._formula(name)
        shapes, loc, scale = self._parameters(args, named)
        z = self._standardised(x, loc, scale)
        z = FLOOR(z) if self.is_discrete else z
        below = None if self.support.below is None else self.support.below(z, *shapes)
        above = None if self.support.above is None else self.support.above(z, *shapes)
        if below is None and scale is not None:  # at infinity a scale has the derivative 0, not 0 times infinity
            below, above = EQUAL(z, -np.inf), EQUAL(z, np.inf)
        outside = [mask for mask in (below, above) if mask is not None]
        argument = z
        for mask in outside:
            argument = SELECT(mask, self.support.point(shapes), argument)
        value = formula(argument, *shapes)
        if below is not None:
            value = SELECT(below, lowest, value)
        if above is not None:
            value = SELECT(above, highest, value)
        if outside:
            value = SELECT(IS_NAN(z), np.nan, value)
        return choose(self.valid(*shapes), value, np.nan)

    @np.errstate(all="ignore")
    def _quantile(self, name: str, q: Operand, args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
        formula = self._formula(name)
        shapes, loc, scale = self._parameters(args, named)
        q = as_operand(q)
        q = SELECT(LOGICAL_AND(q >= 0.0, q <= 1.0), q, np.nan)
        value = choose(self.valid(*shapes), formula(q, *shapes), np.nan)
        value = value if scale is None else value * scale
        return value if loc is None else value + loc

    def _formula(self, name: str) -> Formula:
        known = self.functions
        if name in known:
            return known[name]
        if name in ("logcdf", "logsf") and "cdf" in known:
            near, other = known[name.removeprefix("log")], known["sf" if name == "logcdf" else "cdf"]
            return lambda z, *shapes: _logarithm(near(z, *shapes), other(z, *shapes))
        if name == "isf" and "ppf" in known:
            return lambda q, *shapes: known["ppf"](1.0 - q, *shapes)
        raise UnsupportedFunction(f"{name} of tapediff.stats.{self.name}", at=user_site(), fix="integrate or sum its density")

    def _inside(self, z: Operand, shapes: tuple[Operand, ...]) -> Operand:
        return self.support.inside(z, *shapes)

    def _parameters(self, args: tuple[Operand, ...], named: dict[str, Operand]) -> tuple[tuple[Operand, ...], Operand, Operand]:
        """Parse shapes, location and scale by SciPy's rules; None for a missing location or scale."""
        names = (*self.shapes, "loc") if self.is_discrete else (*self.shapes, "loc", "scale")
        if len(args) > len(names):
            raise TypeError(f"{self.name} takes at most the parameters {', '.join(names)}, but {len(args)} were given")
        given = dict(zip(names, args))
        for key, value in named.items():
            if key not in names or key in given:
                problem = "two values for" if key in given else "an unknown"
                raise TypeError(f"{self.name} got {problem} parameter {key!r}; it has {', '.join(names)}")
            given[key] = value
        missing = [name for name in self.shapes if name not in given]
        if missing:
            raise TypeError(f"{self.name} is missing the parameter {missing[0]!r}")
        shapes = tuple(as_operand(given[name]) for name in self.shapes)
        loc, scale = (as_operand(given[name]) if name in given else None for name in ("loc", "scale"))
        return shapes, loc, None if scale is None else positive(scale)

    def _standardised(self, x: Operand, loc: Operand, scale: Operand) -> Operand:
        z = as_operand(x)
        z = z if loc is None else z - loc
        return z if scale is None else z / scale


class Continuous(Distribution):
    """A distribution with a density."""

    @of_form("entries")
    def logpdf(self, x: Operand, *args: Operand, **named: Operand) -> Operand:
        """The logarithm of the density at x: `logpdf(x, *shapes, loc=0, scale=1)`.

        -inf outside of the support, with derivative zero; NaN if a parameter is not valid, as in SciPy. If it is infinite at an edge
        of the support, its derivative is zero too.
        """
        return self._log_density(x, args, named)

    @of_form("entries")
    def pdf(self, x: Operand, *args: Operand, **named: Operand) -> Operand:
        """The density at x."""
        log_density = self._log_density(x, args, named)
        return SELECT(EQUAL(log_density, -np.inf), 0.0, np.exp(log_density))  # not 0 times an infinite slope


class Discrete(Distribution):
    """A distribution of integers. They are data: no derivative is taken in them."""

    is_discrete = True

    @of_form("entries")
    def logpmf(self, k: Operand, *args: Operand, **named: Operand) -> Operand:
        """The logarithm of the probability of k: `logpmf(k, *shapes, loc=0)`. -inf, with derivative zero, if k is impossible."""
        return self._log_density(k, args, named)

    @of_form("entries")
    def pmf(self, k: Operand, *args: Operand, **named: Operand) -> Operand:
        """The probability of k."""
        return np.exp(self._log_density(k, args, named))

    def _standardised(self, x: Operand, loc: Operand, scale: Operand) -> Operand:
        return STOP_GRADIENT(super()._standardised(x, loc, scale))

    def _inside(self, z: Operand, shapes: tuple[Operand, ...]) -> Operand:
        return all_of(EQUAL(z, FLOOR(z)), self.support.inside(z, *shapes))
