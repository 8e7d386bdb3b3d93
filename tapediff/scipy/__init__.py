"""SciPy's functions of arrays and of functions, for calls with tracked values inside recordings.

Comes in: a call of scipy.integrate, optimize, signal, ndimage or spatial.distance, by recording/python_state/scipy_functions.py.
Goes out: SciPy's result, tracked. Open first: `calls.py`, then a module, each with the name of SciPy's.
"""
