"""Programs of one array, each with branches on data: what one tape has to serve, or may not be wrong about.

A module lists them in PROGRAMS; in TRAPS those that a careless join gets wrong; in CASES, by title, those that are made. POINTS is SIX if a module has none.

The corpus is minimised as a fuzzer's: a program has a docstring or comment that tells why it is there, or runs an arc of the package, or nests three kinds
of syntax, as no other program or test of tests/flow does.
"""

import numpy as np

# Of six numbers: with ties, without any positive, in order.
SIX = [
    np.array(x) for x in (
        [0.4, -0.3, 1.2, 0.8, -1.1, 0.1], [-0.6, 0.9, -0.2, 1.7, 0.3, -0.9], [1.4, 0.2, 0.6, -0.7, -0.1, 2.1], [0.0, 0.5, 1.0, -0.5, 0.3, 0.2],
        [-0.2, -0.4, -0.9, -0.1, -0.3, -0.6], [0.3, 0.6, 0.7, 0.9, 1.1, 1.6], [0.3, 0.25, -1.0, -0.5, 1.0, 1.5], [2.0, -2.0, 2.0, -2.0, 2.0, -2.0],
    )
]  # fmt: skip
# Of two numbers.
TWO = np.array([[0.4, 0.8], [0.71, -0.33], [-0.9, 0.95], [6.0, 0.5]])
