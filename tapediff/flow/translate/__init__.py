"""Translates a function once: operations that may depend on data become operators that inspect their operands.

Open first: `statements.py`.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Iterable
from types import CellType, CodeType, FunctionType
from typing import NamedTuple

from ...base.source_text import FUTURES, NoSource, definition_of, without_warnings
from ..anything import Object
from .expressions import FRAME_FUNCTIONS, OPERATORS, NotTranslated, parameters_of
from .scopes import own_nodes
from .statements import Translator

_LOCALS = ".<locals>."
_FACTORY = "_factory_"
_DEFINITION = "_function_"


class Translation(NamedTuple):
    """The translated code of a function, or the reason that there is none."""

    code: CodeType | None
    reason: str = ""
    definition: ast.FunctionDef | None = None

    @property
    def text(self) -> str:
        """The translated function as text."""
        return "" if self.definition is None else ast.unparse(self.definition)


# The translated code's variable for the operators; operators.py fills it.
OPERATORS_CELL = CellType()

_known: dict[int, tuple[CodeType, Translation]] = {}
_made: dict[int, CodeType] = {}
# By block code, the variables of the enclosing function.
_variables: dict[int, frozenset[str]] = {}
# By block code, the indices of the free variables that it stores.
_stored: dict[int, tuple[int, ...]] = {}

_UNBOUND = re.compile(r"cannot access free variable '(\w+)' where it is not associated with a value in enclosing scope")


def unbound_local(error: NameError) -> NameError:
    """Restate a block's NameError as one of the function's own variable."""
    found = _UNBOUND.fullmatch(str(error))
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if type(error) is not NameError or found is None or trace is None or found[1] not in _variables.get(id(trace.tb_frame.f_code), ()):
        return error
    made = UnboundLocalError(f"cannot access local variable '{found[1]}' where it is not associated with a value")
    made.__context__, made.__cause__ = error.__context__, error.__cause__
    made.__suppress_context__ = error.__suppress_context__
    return made.with_traceback(error.__traceback__)


def translation_of(code: CodeType) -> Translation:
    """The translation of a function's code, made once."""
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = code, _translate(code)
    return known[1]


def is_translated(function: FunctionType) -> bool:
    """True for translated functions and those that they define."""
    return id(function.__code__) in _made


def is_function(code: CodeType) -> bool:
    """True for a translated function's code, false for that of its blocks."""
    return id(code) in _variables


def untranslated(code: CodeType) -> str | None:
    """The reason that code runs unchanged; None for translated code."""
    if id(code) in _made:
        return None
    known = _known.get(id(code))
    return known[1].reason if known is not None else "it is part of code that runs as it is"


def is_raised_by_translated(error: BaseException) -> bool:
    """True for an error that a translated function raises itself."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and id(trace.tb_frame.f_code) in _made


def stored_cells(block: Object) -> tuple[CellType, ...]:
    """The cells of variables that a block may assign to; all its cells if unknown."""
    closure = getattr(block, "__closure__", None) or ()
    positions = _stored.get(id(getattr(block, "__code__", None)))
    return closure if positions is None else tuple([closure[k] for k in positions])


def _translate(code: CodeType) -> Translation:
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return Translation(None, "it is asynchronous")
    try:
        definition = copy.deepcopy(definition_of(code))
        calls = [n.func for n in ast.walk(definition) if isinstance(n, ast.Call)]
        called = {f.id for f in calls if isinstance(f, ast.Name)} & (FRAME_FUNCTIONS - {"globals"})
        if called:
            raise NotTranslated(f"it calls {sorted(called)[0]}(), which looks at its variables")
        if any(isinstance(n, ast.TryStar) for n in own_nodes([definition] if isinstance(definition, ast.Lambda) else definition.body)):
            raise NotTranslated("it has an except*")
        translator = Translator()
        translator.names[_DEFINITION] = code.co_name
        function = translator.function(definition, _DEFINITION)
        found = _compiled(function, code, translator)
    except (NoSource, NotTranslated, SyntaxError) as why:
        return Translation(None, str(why))
    return Translation(found, "", function)


def _compiled(function: ast.FunctionDef, code: CodeType, translator: Translator) -> CodeType:
    """Compile a translated definition, with the names for tracebacks."""
    cells = [name for name in code.co_freevars if name != OPERATORS]
    factory = ast.FunctionDef(_FACTORY, parameters_of(OPERATORS, *cells), [function], [], None)
    factory.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
    module = ast.fix_missing_locations(ast.copy_location(ast.Module([ast.copy_location(factory, function)], []), function))
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == OPERATORS:
            # Python attributes a method call to the attribute's last line.
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    made = without_warnings(lambda: compile(module, code.co_filename, "exec", flags=code.co_flags & FUTURES, dont_inherit=True))
    (outer,) = (c for c in made.co_consts if isinstance(c, CodeType))
    (inner,) = (c for c in outer.co_consts if isinstance(c, CodeType))
    return _renamed(inner, translator, code.co_qualname, code.co_name, frozenset())


def _renamed(code: CodeType, translator: Translator, qualname: str, around: str, own: frozenset[str]) -> CodeType:
    names, variables = translator.names, translator.variables
    # Lambdas are parts of expressions of the enclosing function; the program's own are functions here.
    name = around if code.co_name == "<lambda>" else names.get(code.co_name, code.co_name)
    own = variables.get(code.co_name, own)
    constants = tuple([_renamed(c, translator, qualname, name, own) if isinstance(c, CodeType) else c for c in code.co_consts])
    path = code.co_qualname.removeprefix(_FACTORY + _LOCALS)
    parts = [part for part in path.split(_LOCALS) if part not in variables and part != _DEFINITION]
    shown = [part if part not in names else names[part] for part in parts]
    if path == _DEFINITION:
        whole = qualname
    else:
        ending = [] if code.co_name in names and not name.startswith("<") else shown
        whole = _LOCALS.join([qualname, *ending])
        for comprehension in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
            whole = whole.replace(comprehension + _LOCALS, comprehension + ".")
    if not code.co_flags & inspect.CO_OPTIMIZED:
        # A class body, which holds its own name.
        constants = tuple([whole if isinstance(c, str) and c == code.co_qualname else c for c in constants])
    made = code.replace(co_name=name, co_qualname=whole, co_consts=constants)
    _made[id(made)] = made
    if code.co_name in translator.stores or code.co_name == "<lambda>":
        _note_stores(made, translator.stores.get(code.co_name, ()))
    if code.co_name in variables or code.co_name == "<lambda>":
        _variables[id(made)] = own
    return made


def _note_stores(code: CodeType, own: Iterable[str]) -> None:
    """Note the variables that a block stores, directly or in inner blocks."""
    found = set(own)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found.update(inner.co_freevars[k] for k in _stored.get(id(inner), ()))
    _stored[id(code)] = tuple([k for k, name in enumerate(code.co_freevars) if name in found])


def translated(function: FunctionType) -> FunctionType:
    """Translate a function, keeping globals, cells and defaults; unchanged if there is no source."""
    if is_translated(function):
        return function
    code = translation_of(function.__code__).code
    if code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    closure = tuple(OPERATORS_CELL if name == OPERATORS else cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__doc__, made.__module__, made.__qualname__ = function.__doc__, function.__module__, function.__qualname__
    made.__annotations__ = function.__annotations__
    return made
