"""Transforms: from a tape to the instructions of its derivative.

Comes in: a tape. Goes out: more instructions, recorded like the user's own, so that derivatives of derivatives need nothing new.
Open first: `reverse.py`; `cotangents.py` has the cotangents collected so far; `reverse_loop.py` is the same for the body of a loop.
`map_rows.py` evaluates a tape for many rows at once, and `lanes/` runs recurrences of several iterations of an outer loop side by side;
`triplets.py` and `triplet_rules.py` compute the matrix of a linear tape entry by entry, and `place_triplets.py` writes it;
`sparsity.py` finds which entries of a Jacobian may be other than zero, and `coloring.py` which columns may share a product.
"""
