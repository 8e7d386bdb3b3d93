"""Mutable state of the process is in three objects: settings, the toolchain, and the state that recordings share."""

import ast
from itertools import chain

from test_layers import PACKAGE

OBJECTS = {"settings", "toolchain", "process", "state"}  # the last: of the interpreter of control flow, in each thread

# What functions change of a module's own names, and why it is not in one of the objects.
ELSEWHERE = {
    "base/fork_locks.py": {"_forking", "_locks"},  # the locks themselves, by which the objects are whole in a child
    "numpy_api/composed/numpys_own.py": {"_COPIES"},  # of NumPy's modules, which live as long
    "ir/pytree.py": {"REGISTERED"},  # the classes that users register, as in copyreg
    "compiler/numba_backend/kernel.py": {"linecache"},  # Python's own: where debuggers and tracebacks look for sources
    "flow/builtins/lists_and_dicts.py": {"dict", "keys"},  # methods of builtin classes by name, and functions of the module `keys`
    "flow/calls/callables.py": {"_functions"},  # the latest functions in translated form
    "flow/users_code.py": {"KNOWN"},  # what is known of classes; forgotten when an attribute of a class is set
    "flow/containers/items.py": {"keys", "sets"},  # functions of the modules `keys` and `sets`
    "flow/operations/dunder.py": {"KNOWN"},  # what is known of classes
    "flow/translate/__init__.py": {"_known", "_made", "_stored", "_variables"},  # translations of codes, which live as long
    "functions/callees/body.py": {"_recent"},  # the latest callees, which hold tapes
    "recording/joined_forms.py": {"_forms"},  # set once, when targets are imported
    "functions/callees/tape_callee.py": {"_callees"},  # the callees of equal bodies, while somebody holds them
    "functions/state_changes.py": {"_seen"},  # the code that was warned of, as long as it lives
    "recording/arrays/numbers.py": {"REFLECTED"},  # filled by the module itself, for other operators than Python calls
    "recording/python_state/math_functions.py": {"math"},  # Python's own, while something is recorded
    "targets/evaluate/shared_programs.py": {"_of_functions"},  # the latest programs of functions, which hold kernels
}

CHANGES = {
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "move_to_end", "pop",
    "popitem", "remove", "setdefault", "sort", "update",
}  # fmt: skip


def changed_by_functions(module):
    """The names of a module, imported ones as well, that its functions change.

    These stand first where a function stores into an object or calls a method that changes it; a name that is bound in the function, or in
    one inside it, is its own.
    """
    found = set()
    tops = chain.from_iterable(n.body if isinstance(n, ast.ClassDef) else [n] for n in module.body)
    for function in (n for n in tops if isinstance(n, ast.FunctionDef)):
        changed, own, of_module = set(), set(), set()
        for node in ast.walk(function):
            kind = type(node)
            if kind is ast.Global:
                of_module.update(node.names)
            elif kind is ast.arg:
                own.add(node.arg)
            elif kind is ast.FunctionDef:
                own.add(node.name)
            elif kind is ast.Name and type(node.ctx) is ast.Store:
                own.add(node.id)
            elif kind in (ast.Attribute, ast.Subscript) and type(node.ctx) is not ast.Load:
                changed.add(first_name(node))
            elif kind is ast.Call and type(node.func) is ast.Attribute and node.func.attr in CHANGES:
                changed.add(first_name(node.func))
        found |= (changed - own) | of_module
    return found - {None, "np"}  # np.sort(x) changes nothing


def first_name(node):
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def test_functions_change_no_other_state_of_modules():
    found = {
        str(file.relative_to(PACKAGE)): changed
        for file in PACKAGE.rglob("*.py") if (changed := changed_by_functions(ast.parse(file.read_text())) - OBJECTS)
    }  # fmt: skip
    assert found == ELSEWHERE


def test_changes_are_found():
    module = ast.parse("""
from x import there
a, b, c, d, e = {}, [], set(), thing(), 0
def f(g, local):
    global e
    e = 1
    local.add(1)
    mine = []
    mine.append(a)
    d.part.attribute = there.get(1)
    return lambda: c.add(2)
class C:
    def m(self):
        self.x = b.append(1)
        del a[0]
        there[1] += 1
""")
    assert changed_by_functions(module) == {"a", "b", "c", "d", "e", "there"}
