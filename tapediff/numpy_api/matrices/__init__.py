"""Functions on matrices: products, einsum, numpy.linalg.

Comes in: NumPy's arguments, some of them tracked. Goes out: recorded operations. Open first: `products.py`.
"""
