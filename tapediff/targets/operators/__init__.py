"""The operators as users call them: products with Jacobians and Hessians, the matrices, and derivatives by a number.

Comes in: a target and its arguments. Goes out: derivatives, of the same structure. Open first: `products.py`.
"""
