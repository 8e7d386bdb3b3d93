"""The ten posteriors of tests/posteriors, with the time that Stan takes for one gradient."""

import functools
import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import numpy

from tests.posteriors import models

from .problem import Problem

STAN = json.loads((Path(__file__).parent / "stan.json").read_text())["microseconds"]

# garch, hmm_example and hudson_lynx_hare have Python loops.
TITLES = {
    "eight_schools": "posterior: eight schools",
    "arK": "posterior: AR(5)",
    "garch": "posterior: GARCH(1, 1), Python loop",
    "low_dim_gauss_mix": "posterior: mixture of two normals",
    "gp_regr": "posterior: Gaussian process, n = 11",
    "hmm_example": "posterior: hidden Markov model, Python loop",
    "hudson_lynx_hare": "posterior: Lotka-Volterra, Python loop",
    "radon": "posterior: radon, 85 counties",
    "nes2000": "posterior: nes2000, linear regression",
    "Mtbh": "posterior: capture-recapture",
}


@functools.cache
def log_density(name, namespace):
    """The model as it stands in tests/posteriors, with another library in the place of NumPy."""
    library = models if namespace == "numpy" else models_in(namespace)
    return library.MODELS[name](data_of(name))


def data_of(name):
    content = json.loads((Path(models.__file__).parent / "data" / f"{name}.json").read_text())
    return {key: numpy.asarray(value, dtype=float) for key, value in content["data"].items()}


@functools.cache
def models_in(namespace):
    """A copy of the module whose `np`, `expit`, `gammaln` and triangular solver are those of jax or autograd."""
    specification = importlib.util.spec_from_file_location(f"models_in_{namespace}", models.__file__)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    if namespace == "jax.numpy":
        import jax.numpy as np
        from jax.scipy import linalg, special
    else:
        import autograd.numpy as np
        from autograd.scipy import linalg, special
    module.np, module.td = np, SimpleNamespace(linalg=linalg)
    module.expit, module.gammaln = special.expit, special.gammaln
    return module


def _problem(name):
    _, points = models.load(name)

    plain = log_density(name, "numpy")

    def function(u, np=numpy):
        return plain(u) if np is numpy else log_density(name, np.__name__)(u)

    return Problem(f"posterior_{name}", TITLES[name], function, (points[0][0],), taped=plain, stan=STAN[name])


PROBLEMS = tuple(_problem(name) for name in models.MODELS)
