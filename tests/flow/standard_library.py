"""Fresh copies of modules of the standard library, with every function and method replaced by its translation."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import types
import unittest
import warnings

import pytest

import_helper = pytest.importorskip("test.support.import_helper", reason="this Python has no tests")

# Parts in C of a module that has the same in Python, which is what is to be run.
IN_C = {"heapq": ["_heapq"], "bisect": ["_bisect"], "statistics": ["_statistics"], "json": ["_json"], "functools": ["_functools"], "datetime": ["_datetime"]}


@contextlib.contextmanager
def imported_afresh(root, *others):
    """Let imports make these modules and those in them anew, the first without its part in C; afterwards all are what they were."""
    blocked = IN_C.get(root, [])
    roots = {root, *others, *blocked}
    kept = {name: module for name, module in sys.modules.items() if _belongs(name, roots)}
    for name in kept:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(blocked))
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _belongs(name, roots)]:
            del sys.modules[name]
        sys.modules.update(kept)


def _belongs(name, roots):
    return any(name == root or name.startswith(root + ".") for root in roots)


def fresh_module(name):
    """A copy of a module that nothing else has, with its Python parts in place of those in C."""
    with imported_afresh(name.partition(".")[0]):
        return importlib.import_module(name)


def translated_module(name, translated):
    """A fresh copy of a module and its submodules, of which each function is translated."""
    with imported_afresh(name.partition(".")[0]):
        return import_translated(name, translated)


def import_translated(name, translated):
    """Import a module and translate it and its submodules where they are."""
    module = importlib.import_module(name)
    for key, other in list(sys.modules.items()):
        if _belongs(key, [name.partition(".")[0]]):
            translate_module(other, translated)
    return module


def published_tests(name, root, translated, without=()):
    """Run the interpreter's own tests of a module, on a copy that is translated; on a plain copy if `translated` is None.

    Args:
        name: the test module, without "test.".
        root: the module that it tests.
        without: parts of the names of tests that are left out.

    Returns:
        Dict from a test's name to how it ended.
    """
    test_name = f"test.{name}"
    with imported_afresh(root, test_name):
        import_translated(root, translated or (lambda function: function))
        given = import_helper.import_fresh_module
        import_helper.import_fresh_module = lambda name, *rest, **more: sys.modules[name] if name == root else given(name, *rest, **more)
        try:
            tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(test_name))
            return dict(_result(test) for test in _each(tests) if not any(part in test.id() for part in without))
        finally:
            import_helper.import_fresh_module = given


def _each(suite):
    for test in suite:
        yield from _each(test) if isinstance(test, unittest.TestSuite) else [test]


def _result(test):
    result = unittest.TestResult()
    random = importlib.import_module("random")
    state = random.getstate()
    random.seed(1)  # some tests draw numbers
    try:
        with warnings.catch_warnings():
            # assertWarns looks into every module that is loaded, of which some warn when they are looked into.
            warnings.simplefilter("ignore")
            test.run(result)
    finally:
        random.setstate(state)
    problems = [text.strip().splitlines()[-1] for _, text in result.errors + result.failures]
    return test.id(), "; ".join(problems) or ("skipped" if result.skipped else "passed")


def translate_module(module, translated):
    """Replace the functions of a module, the methods of its classes, and the functions in its tables."""
    made = {}

    def of(value):
        """The translation of a function, or of those in a property and the like; anything else as it is."""
        if isinstance(value, types.FunctionType):
            if value.__module__ != module.__name__ or not _has_source(value):
                return value
            if value not in made:
                made[value] = translated(value)
            return made[value]
        if isinstance(value, (staticmethod, classmethod)):
            return type(value)(of(value.__func__)) if isinstance(value.__func__, types.FunctionType) else value
        if type(value) is property:
            return property(*(part and of(part) for part in (value.fget, value.fset, value.fdel)), value.__doc__)
        return value

    def visit(holder, seen):
        for name, value in list(vars(holder).items()):
            if isinstance(value, type) and value.__module__ == module.__name__ and value not in seen:
                visit(value, seen | {value})
            elif type(value) is dict and name[:2] != "__":
                value.update({key: of(entry) for key, entry in value.items()})
            elif (new := of(value)) is not value:
                setattr(holder, name, new)

    visit(module, frozenset())
    return module


def _has_source(function):
    try:
        return bool(inspect.getsource(function)) and not function.__code__.co_filename.startswith("<")
    except (OSError, TypeError):
        return False
