"""SciPy's special functions over lanes, by symbol; the Hurwitz zeta function, which SciPy does not export."""

from __future__ import annotations

import math
from collections.abc import Callable

from .gamma_functions import digamma
from .power import power
from .simd import Code, Value, any_lane, as_values, call_scalar, constant, floor, select, type_of

_INF = float("inf")
_NAN = float("nan")
# Functions on doubles of scipy.special.cython_special, by their names there.
_EXPORTED = {
    name: name
    for name in (
        "gammaln", "loggamma", "gamma", "rgamma", "gammasgn", "erf", "erfc", "erfcx", "erfi", "erfinv", "erfcinv", "ndtr",
        "log_ndtr", "ndtri", "ndtri_exp", "i0", "i0e", "i1", "i1e", "j0", "j1", "y0", "y1", "k0", "k0e", "k1", "k1e", "expi",
        "exp1", "dawsn", "spence", "entr", "zetac", "beta", "betaln", "binom", "poch", "rel_entr", "kl_div", "gammainc",
        "gammaincc", "gammaincinv", "gammainccinv", "betainc", "betaincc", "betaincinv", "betainccinv", "iv", "ive", "jv",
        "jve", "owens_t", "yv", "kv", "kve", "expn", "stdtr", "stdtrit", "ellipk", "ellipe", "boxcox", "boxcox1p", "inv_boxcox",
        "inv_boxcox1p", "sindg", "cosdg", "tandg", "cotdg", "hyp1f1", "hyp2f1", "exp10", "wrightomega",
        "hyperu", "ellipkm1", "ellipkinc", "ellipeinc", "struve", "modstruve",
    )
} | {"digamma": "psi", "psi": "psi"}  # fmt: skip
# B(2j) / (2j)!, of the Euler-Maclaurin formula.
_BERNOULLI = (
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
)


def _exported(routine: str) -> Callable[..., Value]:
    # Functions that Cython exports take a trailing flag; the module's own ignore it.
    return lambda *operands: call_scalar(f"tapediff_special_{routine}", *operands, trailing="i32 0")


# Functions with several results: SciPy's name, the position of the result, and the number of results.
SEVERAL_RESULTS = {
    "sine_integral": ("sici", 0, 2), "cosine_integral": ("sici", 1, 2), "sinh_integral": ("shichi", 0, 2),
    "cosh_integral": ("shichi", 1, 2), "fresnel_s": ("fresnel", 0, 2), "fresnel_c": ("fresnel", 1, 2), "airy_ai": ("airy", 0, 4),
    "airy_ai_prime": ("airy", 1, 4), "airy_bi": ("airy", 2, 4), "airy_bi_prime": ("airy", 3, 4),
    "airy_ai_scaled": ("airye", 0, 4), "airy_ai_prime_scaled": ("airye", 1, 4), "airy_bi_scaled": ("airye", 2, 4),
    "airy_bi_prime_scaled": ("airye", 3, 4),
}  # fmt: skip


def _one_result(routine: str, position: int, count: int) -> Callable[[Value], Value]:
    symbol, name = f"tapediff_special_{routine}", f"tapediff_special_{routine}_{position}"
    places = "\n".join(f"%r{k} = alloca double" for k in range(count))
    definition = (
        f"define internal double @{name}(double %x) noinline nounwind willreturn memory(none) {{\n{places}\n"
        f"call void @{symbol}(double %x, {', '.join(f'ptr %r{k}' for k in range(count))})\n"
        f"%y = load double, ptr %r{position}\nret double %y\n}}"
    )

    def function(x: Value) -> Value:
        x.code.symbols.add(symbol)
        x.code.declare(f"declare void @{symbol}(double{', ptr' * count}) nounwind willreturn memory(argmem: write)")
        return call_scalar(name, x, definition=definition)

    return function


SPECIAL_FUNCTIONS: dict[str, Callable[..., Value]] = {name: _exported(routine) for name, routine in _EXPORTED.items()} | {
    name: _one_result(*result) for name, result in SEVERAL_RESULTS.items()
}


def polygamma(n: int, x: Value) -> Value:
    """The n-th derivative of digamma, for a Python integer n."""
    if n == 0:
        return digamma(x)
    return math.factorial(n) * (-1.0) ** (n + 1) * zeta(n + 1.0, x)


def zeta(s, q) -> Value:
    """The Hurwitz zeta function, the sum of (q + k)**-s over k >= 0; NaN for s < 1 and for q < -1e5.

    Error: about 3 ulp for positive q. Cost: one power and about 30 operations, and one power more for every term with
    q + k < s + 10; in a helper function that the module has once.
    Source: Euler-Maclaurin formula, as in Cephes zeta.c (Moshier 1989).
    """
    s, q = as_values(s, q)
    code, width = q.code, max(s.width, q.width)
    lanes = type_of("f64", width)
    name, helper = _zeta_helper(width)
    for declaration in helper:
        code.declare(declaration)
    # Adding 0.0 broadcasts a one-lane operand, and turns q = -0.0, a pole, into 0.0.
    zeros = constant(code, 0.0, "f64", width)
    left, right = s + zeros, q + zeros
    return Value(code, code.emit(f"call {lanes} @{name}({lanes} {left.ref}, {lanes} {right.ref})"), "f64", width)


def _zeta_helper(width: int) -> tuple[str, list[str]]:
    """The name of the helper function, and its definition with its declarations."""
    lanes, name = type_of("f64", width), f"tapediff_zeta_v{width}"
    code = Code("entry")
    s, q = Value(code, "%s", "f64", width), Value(code, "%q", "f64", width)
    total, a = Value(code, "%total", "f64", width), Value(code, "%a", "f64", width)
    bound = select(s < 1000.0, s, 1000.0) + 10.0
    start = select(q < -1e5, _NAN, q)
    code.line("br label %test")
    code.start("test")
    back = len(code.lines)
    code.line(f"br i1 {any_lane(a < bound).ref}, label %body, label %end")
    code.start("body")
    active = a < bound
    next_total = select(active, total + power(a, -s), total)
    next_a = select(active, a + 1.0, a)
    code.line("br label %test")
    zero, last = constant(code, 0.0, "f64", width).ref, code.block
    phis = [
        f"%total = phi {lanes} [ {zero}, %entry ], [ {next_total.ref}, %{last} ]",
        f"%a = phi {lanes} [ {start.ref}, %entry ], [ {next_a.ref}, %{last} ]",
    ]
    code.lines[back:back] = phis
    code.start("end")
    result = total + _remainder(s, a)
    result = select((q <= 0.0) & floor(q).eq(q) | s.eq(1.0), _INF, result)
    result = select(s < 1.0, _NAN, result)
    body = "\n".join(code.lines)
    definition = (
        f"define internal {lanes} @{name}({lanes} %s, {lanes} %q) noinline nounwind {{\n"
        f"entry:\n{body}\nret {lanes} {result.ref}\n}}"
    )
    return name, [*code.declarations, definition]


def _remainder(s: Value, a: Value) -> Value:
    """The sum of (a + k)**-s over k >= 0, for a much larger than s."""
    # For s above 1000 the sum is below the smallest double, but the polynomial in s would overflow.
    bounded = select(s > 1000.0, 1000.0, s)
    inverse = 1.0 / a
    square = inverse * inverse
    factor, total = bounded * inverse, 0.5
    for j, coefficient in enumerate(_BERNOULLI):
        total = coefficient * factor + total
        factor = factor * ((bounded + (2.0 * j + 1.0)) * (bounded + (2.0 * j + 2.0))) * square
    mean = 1.0 / (bounded - 1.0) + total * inverse
    # a**-s alone would underflow for huge a.
    huge = a > 1e8
    return power(a, select(huge, 1.0 - s, -s)) * select(huge, mean, mean * a)
