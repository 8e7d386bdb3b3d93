"""A td.Posterior as a shared library with BridgeStan's C functions, for samplers that take Stan models; there is no Python in it.

`bridgestan.StanModel("eight_schools/libmodel.so")`, and other programs that load BridgeStan's libraries, call it as they call a Stan model:
log density, gradient, Hessian and product, with the log-Jacobians or without, and constrained parameters. The data are inside, so the data
that a caller gives are not read. Not there: unconstraining, generated quantities, constants left out (`propto`).
"""

import ctypes
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import tapediff as td

SCHOOLS = json.loads((Path(__file__).parent / "data" / "eight_schools.json").read_text())

LIBRARY = r"""
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "density.h"
#include "constrained.h"
#include "without_jacobian.h"

typedef struct { int unused; } bs_model;
typedef struct { unsigned seed; } bs_rng;
static bs_model model;
int bs_major_version = 2, bs_minor_version = 9, bs_patch_version = 0;

static int failed(int code, char **message) {
    if (code && message && (*message = malloc(80))) snprintf(*message, 80, "the log density has no value here: code %d", code);
    return code;
}
static int missing(const char *what, char **message) {
    if (message && (*message = malloc(80))) snprintf(*message, 80, "%s is not in libraries of tapediff", what);
    return -1;
}
#define CALL(f, ...) failed(jacobian ? density_##f(__VA_ARGS__) : without_jacobian_##f(__VA_ARGS__), message)

bs_model *bs_model_construct(const char *data, unsigned seed, char **message) { (void)data; (void)seed; (void)message; return &model; }
void bs_model_destruct(bs_model *m) { (void)m; }
void bs_free_error_msg(char *message) { free(message); }
int bs_set_print_callback(void (*callback)(const char *, size_t), char **message) { (void)callback; (void)message; return 0; }
const char *bs_name(const bs_model *m) { (void)m; return "@name"; }
const char *bs_model_info(const bs_model *m) { (void)m; return "exported by tapediff"; }
const char *bs_param_names(const bs_model *m, bool tp, bool gq) { (void)m; (void)tp; (void)gq; return "@names"; }
const char *bs_param_unc_names(const bs_model *m) { (void)m; return "@unconstrained"; }
int bs_param_num(const bs_model *m, bool tp, bool gq) { (void)m; (void)tp; (void)gq; return @count; }
int bs_param_unc_num(const bs_model *m) { (void)m; return @size; }
bs_rng *bs_rng_construct(unsigned seed, char **message) {
    bs_rng *rng = malloc(sizeof *rng);
    (void)message;
    if (rng) rng->seed = seed;
    return rng;
}
void bs_rng_destruct(bs_rng *rng) { free(rng); }
int bs_param_constrain(const bs_model *m, bool tp, bool gq, const double *u, double *theta, bs_rng *rng, char **message) {
    (void)m; (void)tp; (void)gq; (void)rng;
    return failed(constrained_value(u, theta), message);
}
int bs_param_unconstrain(const bs_model *m, const double *theta, double *u, char **message) {
    (void)m; (void)theta; (void)u;
    return missing("bs_param_unconstrain", message);
}
int bs_param_unconstrain_json(const bs_model *m, const char *theta, double *u, char **message) {
    (void)m; (void)theta; (void)u;
    return missing("bs_param_unconstrain_json", message);
}
int bs_param_initialize(
    const bs_model *m, const char *inits, bs_rng *rng, double radius, int attempts, bool jacobian, double *u, char **message
) {
    double value, gradient[@size];
    (void)m;
    if (inits && *inits) return missing("a start by name", message);
    while (attempts-- > 0) {
        for (int k = 0; k < @size; k++) {
            rng->seed = rng->seed * 1664525u + 1013904223u;
            u[k] = radius * (2.0 * (rng->seed >> 8) / 16777216.0 - 1.0);
        }
        if (!CALL(value_and_gradient, u, &value, gradient) && value - value == 0.0) return 0;
    }
    return missing("a start with a finite density", message);
}
int bs_log_density(const bs_model *m, bool propto, bool jacobian, const double *u, double *value, char **message) {
    (void)m; (void)propto;
    return CALL(value, u, value);
}
int bs_log_density_gradient(
    const bs_model *m, bool propto, bool jacobian, const double *u, double *value, double *gradient, char **message
) {
    (void)m; (void)propto;
    return CALL(value_and_gradient, u, value, gradient);
}
int bs_log_density_hessian(
    const bs_model *m, bool propto, bool jacobian, const double *u, double *value, double *gradient, double *hessian, char **message
) {
    (void)m; (void)propto;
    int code = CALL(value_and_gradient, u, value, gradient);
    return code ? code : CALL(hessian, u, hessian);
}
int bs_log_density_hessian_vector_product(
    const bs_model *m, bool propto, bool jacobian, const double *u, const double *v, double *value, double *product, char **message
) {
    (void)m; (void)propto;
    int code = CALL(value, u, value);
    return code ? code : CALL(hvp, u, v, product);
}
"""


def log_density(mu, tau, theta, y, sigma):
    prior = td.stats.norm.logpdf(mu, 0.0, 5.0) + td.stats.cauchy.logpdf(tau, 0.0, 5.0) + td.stats.norm.logpdf(theta, mu, tau).sum()
    return prior + td.stats.norm.logpdf(y, theta, sigma).sum()


def names(shapes):
    """Stan's: indices from 1 on, the first one running fastest."""
    for name, shape in shapes.items():
        for index in itertools.product(*(range(1, extent + 1) for extent in reversed(shape))):
            yield ".".join([name, *map(str, reversed(index))])


def bridgestan_library(posterior, folder, name):
    """Write `folder/libmodel.so`; return its path."""
    whats = ["value", "value_and_gradient", "hvp", "hessian"]
    start = posterior.example_point()

    def constrained(u):
        values = posterior.layout.constrain(u)[0]
        return np.concatenate([np.ravel(np.transpose(values[parameter])) for parameter in posterior.shapes])

    without = td.GuardedTape(lambda u: posterior.log_density(u, jacobian=False))
    exported = [
        td.export(posterior, folder / "density", what=whats),
        td.export(without, folder / "without_jacobian", start, what=whats),
        td.export(td.GuardedTape(constrained), folder / "constrained", start, what="value"),
    ]
    unconstrained = {block.name: block.unconstrained_shape for block in posterior.layout.blocks}
    known = {
        "name": name, "names": ",".join(names(posterior.shapes)), "unconstrained": ",".join(names(unconstrained)),
        "count": str(posterior.param_num()), "size": str(posterior.param_unc_num()),
    }  # fmt: skip
    text = LIBRARY
    for key in sorted(known, key=len, reverse=True):
        text = text.replace(f"@{key}", known[key])
    (folder / "bridgestan.c").write_text(text)
    library, objects = folder / "libmodel.so", [files.object for files in exported]
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, folder / "bridgestan.c", *objects, "-lm"], check=True)
    return library


def main():
    if shutil.which("cc") is None:
        sys.exit("there is no C compiler")
    data = {"y": np.array(SCHOOLS["y"], float), "sigma": np.array(SCHOOLS["sigma"], float)}
    posterior = td.Posterior(log_density, data=data, mu=td.real(), tau=td.positive(), theta=td.real(shape=8))
    library = ctypes.CDLL(bridgestan_library(posterior, Path("eight_schools").resolve(), "eight_schools"))
    # As a sampler in C does; Python is here for comparison only.
    library.bs_param_names.restype = ctypes.c_char_p
    u, value, gradient, theta = np.linspace(-1.0, 1.0, 10), np.zeros(1), np.zeros(10), np.zeros(10)
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (u, value, gradient, theta)]
    code = library.bs_log_density_gradient(None, True, True, *addresses[:3], None)
    code |= library.bs_param_constrain(None, True, True, addresses[0], addresses[3], None, None)
    expected = posterior.log_density_gradient(u)
    is_same = value[0] == expected[0] and np.array_equal(gradient, expected[1])
    print(f"code {code}, log density {value[0]:.6f}, same as in Python: {is_same}")
    print(dict(zip(library.bs_param_names(None, False, False).decode().split(","), theta.round(2).tolist())))


if __name__ == "__main__":
    main()
