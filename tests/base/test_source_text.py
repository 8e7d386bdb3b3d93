"""The source of a function is that which it was compiled from."""

from tapediff.base import source_text


def test_sets_of_constants_are_equal_in_any_order():
    """0 and 8 share a place in a small table: which comes first depends on which was put in first."""

    def f(k):
        return k in {0, 8}

    def with_set(constants):
        return f.__code__.replace(co_consts=tuple(constants if isinstance(c, frozenset) else c for c in f.__code__.co_consts))

    sets = frozenset([0, 8]), frozenset([8, 0])
    assert list(sets[0]) != list(sets[1])
    assert source_text._is_same(*map(with_set, sets))
    assert not source_text._is_same(with_set(frozenset([0, 1])), with_set(frozenset([0, True, 2])))
    assert not source_text._is_same(with_set(frozenset([1])), with_set(frozenset([True])))
