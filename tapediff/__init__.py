"""tapediff: a tape-based reverse-mode automatic-differentiation engine for plain NumPy code. The order below is the data flow.

A module is loaded when a name of it is first used: importing everything takes three times as long as importing NumPy if no byte code
is kept, and a program that only catches td.TapediffError, or a process that only unpickles, needs little of it.
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING

from .base import fork_locks as fork_locks  # first, so that no other module is half imported in a child
from .base.operating_system import IMPORT_FAILURES, raise_if_out_of_memory

if TYPE_CHECKING:  # for type checkers and editors; a test keeps it equal to HOME
    from .errors import (
        ArgumentMismatch, DtypeMismatch, FrozenRandomWarning, GuardFailed, GuardWarning, InvalidGuardValue, InvalidRule, InvalidTape,
        LoopTooLong, MemoryBudgetExceeded, NewTape, NoMode, NonScalarOutput, NotConverged, NotPositiveDefinite, PosteriorError,
        ShapeMismatch, StaleTape, TapediffError, TrackedValueEscaped, TrackedValueLeaked, Undetermined, UnstableBranch,
        UnsupportedFunction, UnwrittenElement,
    )  # fmt: skip
    from .ir.arguments import Cache, Constant, ConstantOrCache, Output
    from .ir.pytree import register_container
    from .ir.tape import Tape
    from .recording.recorder import is_recording
    from .recording.creation import asarray, empty, full, ones, zeros
    from .targets.record_function import record
    from .targets.compile_target import compile
    from .targets.compiled_tape import CompiledTape
    from .targets.native.row_arguments import Rows
    from .targets.margins import Margin
    from .targets.export.export import Exported, export
    from .targets.guarded_tape import GuardedTape
    from .recording.arguments.declared_sizes import Size, spec
    from .recording.arguments.static import static
    from .functions.subtape import SubTape, checkpoint, subtape
    from .functions.primitive import Primitive, primitive
    from .functions.branches import cond, switch
    from .functions.loops import fori_loop, scan, while_loop
    from .targets.derivatives import grad, hessian, jacfwd, jacobian, jacrev, stop_gradient, value_and_grad, vmap
    from .targets.operators.gradients import gradient, value_and_gradient
    from .targets.operators.products import jvp, linearize, vjp
    from .targets.operators.hessian_products import hvp, value_gradient_and_hvp
    from .targets.operators.matrices import value_and_jacobian, value_gradient_and_hessian
    from .targets.operators.of_numbers import (
        derivative, derivatives, second_derivative, value_and_derivative, value_derivative_and_second_derivative,
    )  # fmt: skip
    from .targets.operators.sparse import linear_operator, sparse_hessian, sparse_jacobian
    from .posterior.parameters import (
        cholesky_corr, corr_matrix, cov_matrix, interval, lower, ordered, positive, positive_ordered, real, simplex, unit_vector, upper,
        zero_sum,
    )  # fmt: skip
    from .posterior.posterior import Posterior
    from .marginals.discrete import discrete, marginal
    from .marginals.laplace import laplace
    from .rounding import error_estimate
    from .uncertainty import covariance, propagate, sensitivities
    from .profiling import profile
    from .doctor import show_versions
    from . import debug, implicit, interpolate, linalg, ode, params, random, sparse, special, stats, testing, tree

__version__ = "0.1.0"

__all__ = [
    "ArgumentMismatch", "Cache", "CompiledTape", "Constant", "ConstantOrCache", "DtypeMismatch", "Exported", "FrozenRandomWarning",
    "GuardFailed", "GuardWarning", "GuardedTape", "InvalidGuardValue", "InvalidRule", "InvalidTape", "LoopTooLong", "Margin",
    "MemoryBudgetExceeded", "NewTape", "NoMode", "NonScalarOutput", "NotConverged", "NotPositiveDefinite", "Output", "Posterior",
    "PosteriorError", "Primitive", "Rows", "ShapeMismatch", "Size", "StaleTape", "SubTape", "Tape", "TapediffError",
    "TrackedValueEscaped", "TrackedValueLeaked", "Undetermined", "UnstableBranch", "UnsupportedFunction", "UnwrittenElement", "asarray",
    "checkpoint", "cholesky_corr", "compile", "cond", "corr_matrix", "cov_matrix", "covariance", "debug", "derivative", "derivatives",
    "discrete", "empty", "error_estimate", "export", "fori_loop", "full", "grad", "gradient", "hessian", "hvp", "implicit", "interpolate",
    "interval", "is_recording", "jacfwd", "jacobian", "jacrev", "jvp", "laplace", "linalg", "linear_operator", "linearize", "lower",
    "marginal", "ode", "ones", "ordered", "params", "positive", "positive_ordered", "primitive", "profile", "propagate", "random", "real",
    "record", "register_container", "scan", "second_derivative", "sensitivities", "show_versions", "simplex", "sparse", "sparse_hessian",
    "sparse_jacobian", "spec", "special", "static", "stats", "stop_gradient", "subtape", "switch", "testing", "tree", "unit_vector",
    "upper", "value_and_derivative", "value_and_grad", "value_and_gradient", "value_and_jacobian",
    "value_derivative_and_second_derivative", "value_gradient_and_hessian", "value_gradient_and_hvp", "vjp", "vmap", "while_loop",
    "zero_sum", "zeros",
]  # fmt: skip

MODULES = {
    "errors": (
        "ArgumentMismatch DtypeMismatch FrozenRandomWarning GuardFailed GuardWarning InvalidGuardValue InvalidRule InvalidTape "
        "LoopTooLong MemoryBudgetExceeded NewTape NoMode NonScalarOutput NotConverged NotPositiveDefinite PosteriorError "
        "ShapeMismatch StaleTape TapediffError TrackedValueEscaped TrackedValueLeaked Undetermined UnstableBranch "
        "UnsupportedFunction UnwrittenElement"
    ),
    "ir.arguments": "Cache Constant ConstantOrCache Output",
    "ir.pytree": "register_container",
    "ir.tape": "Tape",
    "recording.recorder": "is_recording",
    "recording.creation": "asarray empty full ones zeros",
    "targets.record_function": "record",
    "targets.compile_target": "compile",
    "targets.compiled_tape": "CompiledTape",
    "targets.native.row_arguments": "Rows",
    "targets.margins": "Margin",
    "targets.export.export": "Exported export",
    "targets.guarded_tape": "GuardedTape",
    "recording.arguments.declared_sizes": "Size spec",
    "recording.arguments.static": "static",
    "functions.subtape": "SubTape checkpoint subtape",
    "functions.primitive": "Primitive primitive",
    "functions.branches": "cond switch",
    "functions.loops": "fori_loop scan while_loop",
    "targets.derivatives": "grad hessian jacfwd jacobian jacrev stop_gradient value_and_grad vmap",
    "targets.operators.gradients": "gradient value_and_gradient",
    "targets.operators.products": "jvp linearize vjp",
    "targets.operators.hessian_products": "hvp value_gradient_and_hvp",
    "targets.operators.matrices": "value_and_jacobian value_gradient_and_hessian",
    "targets.operators.of_numbers": "derivative derivatives second_derivative value_and_derivative value_derivative_and_second_derivative",
    "targets.operators.sparse": "linear_operator sparse_hessian sparse_jacobian",
    "posterior.parameters": (
        "cholesky_corr corr_matrix cov_matrix interval lower ordered positive positive_ordered real simplex unit_vector upper zero_sum"
    ),
    "posterior.posterior": "Posterior",
    "marginals.discrete": "discrete marginal",
    "marginals.laplace": "laplace",
    "rounding": "error_estimate",
    "uncertainty": "covariance propagate sensitivities",
    "profiling": "profile",
    "doctor": "show_versions",
}
"""The public names of each module. No module is called like one of them: loading it would put the module in the name's place."""

HOME = {name: module for module, names in MODULES.items() for name in names.split()}


def _load(name: str) -> object:
    """Load the public name or module of tapediff (PEP 562); from then on it is an attribute like any other."""
    if name.startswith("__"):  # asked for by inspect, doctest, pickle: never a module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Modules make no garbage, and are half of what a short program collects.
    collects = gc.isenabled()
    gc.disable()
    try:
        if name in HOME:
            found = globals()[name] = getattr(import_module(f".{HOME[name]}", __name__), name)
            return found
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as missing:
        if missing.name != f"{__name__}.{name}":
            raise  # a module of tapediff that needs something not installed
        raise import_module(".numpy_api.alternatives", __name__).missing_name(__name__, name, __all__) from None
    except IMPORT_FAILURES as error:
        raise_if_out_of_memory(error)
        raise
    finally:
        if collects:
            gc.enable()


# Type checkers know the names from above, and report misspelt names.
if not TYPE_CHECKING:
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
