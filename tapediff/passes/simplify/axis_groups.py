"""Maps the axes of an array to those of its reshaped form."""

from __future__ import annotations


def axis_groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Return the shortest groups of consecutive axes of both shapes that hold the same entries in the same order.

    Axes of length 1 may form a group alone, with no axes in the other shape. An array without entries is one group.
    """
    if 0 in old:
        return [(list(range(len(old))), list(range(len(new))))]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        first_old, first_new = i, j
        left, right = old[i], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        groups.append((list(range(first_old, i)), list(range(first_new, j))))
    groups += [([k], []) for k in range(i, len(old))]
    groups += [([], [k]) for k in range(j, len(new))]
    return groups
