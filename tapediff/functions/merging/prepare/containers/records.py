"""Classes whose instances are nothing but their attributes, all of which are known when one is made."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
from dataclasses import dataclass, replace
from types import CodeType, FunctionType, MemberDescriptorType, SimpleNamespace
from typing import NamedTuple

from .....base.byte_code import operands
from .....ir.instruction import Tree
from ...nodes import copied
from ...purity import OF_CLASSES, is_record
from ..source import NoSource, definition_of


class Field(NamedTuple):
    """An attribute: its name, and the default of the argument that it is given by, if there is one."""

    name: str
    default: object


@dataclass(frozen=True)
class RecordClass:
    """A class of records.

    Attributes:
        parameters: the arguments of its constructor, in their order, of which all from `keyword_only` on are given by name.
        values: by attribute, the expression of the arguments that it starts as.
        is_frozen: attributes cannot be assigned to.
        can_be_replaced: dataclasses.replace makes a changed copy.
        is_tuple: of a named tuple, of which the method _replace does.
        version: another one once methods, what they refer to, or constants of the class have changed.
    """

    parameters: tuple[Field, ...]
    keyword_only: int
    values: tuple[tuple[str, ast.expr], ...]
    is_frozen: bool
    can_be_replaced: bool
    is_tuple: bool = False
    version: int = 0

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.values)

    @property
    def key(self) -> object:
        """The same for classes that are alike."""
        defaults = tuple((field.name, type(field.default), repr(field.default)) for field in self.parameters)
        values = tuple((name, ast.dump(value)) for name, value in self.values)
        return defaults, self.keyword_only, values, self.is_frozen, self.can_be_replaced, self.is_tuple, self.version


def record_class(kind: object) -> RecordClass | None:
    """A class whose instances are their attributes and no more; None of any other object."""
    if not isinstance(kind, type) or type(kind) is not type or kind is SimpleNamespace:
        return None
    members, behaviour = _members(kind), _behaviour(kind)
    known = _KNOWN.get(kind)
    if known is None or not (_are_same(known.members, members) and _are_same(known.behaviour, behaviour)):
        version = 0 if known is None else known.version + (not _are_same(known.behaviour, behaviour))
        found = _found(kind)
        _KNOWN[kind] = known = _Known(members, behaviour, version, found and replace(found, version=version))
    return known.record


class _Known(NamedTuple):
    """What a class consists of, what its methods do, and what was found of it."""

    members: list[object]
    behaviour: list[object]
    version: int
    record: RecordClass | None


_KNOWN: dict[type, _Known] = {}


def method_of(kind: type, name: str) -> FunctionType | None:
    """The method that is called by a name; None if it is none that gets the object and no more."""
    found = _member(kind, name)
    return found if type(found) is FunctionType else None


def property_of(kind: type, name: str) -> FunctionType | None:
    """The function that computes a property; None if there is none."""
    found = _member(kind, name)
    return found.fget if type(found) is property and type(found.fget) is FunctionType else None


def class_constant(kind: type, name: str) -> int | float | bool | str | None:
    """The value of an attribute that is the same number or text for all objects of a class."""
    found = _member(kind, name)
    return found if type(found) in _CONSTANTS else None  # type: ignore[return-value]  # by its type


def _member(kind: type, name: str) -> object:
    """What a class has under a name that is no attribute of its objects."""
    record = record_class(kind)
    if record is None or name in record.attributes or name.startswith("_" if record.is_tuple else "__"):
        return None
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def globals_of(code: CodeType) -> frozenset[str]:
    """The names of other modules' and built-in objects that a code refers to, and comprehensions in it."""
    inner = [globals_of(c) for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(operands(code, "global")).union(*inner)


def _behaviour(kind: type) -> list[object]:
    """What methods and properties of a class do, and the constants that it has."""
    found: list[object] = []
    for base in kind.__mro__[:-1]:
        for member in vars(base).values():
            function = member.fget if type(member) is property else member
            if type(function) is FunctionType:
                code, known = function.__code__, function.__globals__
                found += [code, *(function.__defaults__ or ())]
                found += [known.get(name, getattr(builtins, name, None)) for name in sorted(_names_of(code))]
            elif type(member) in _CONSTANTS:
                found.append(member)
    return found


_names_of = functools.lru_cache(maxsize=1024)(globals_of)


def _members(kind: Tree) -> list[object]:
    init = kind.__init__
    own: list[object] = [init, init.__code__, init.__defaults__, init.__kwdefaults__] if type(init) is FunctionType else []
    return own + [part for base in kind.__mro__ for part in (base, *vars(base), *vars(base).values()) if base is not object]


def _are_same(first: list[object], second: list[object]) -> bool:
    return len(first) == len(second) and all(a is b for a, b in zip(first, second))


def _found(kind: Tree) -> RecordClass | None:
    if is_record(kind):
        return _of_named_tuple(kind)
    for base in kind.__mro__[:-1]:
        options = vars(base).get("__dataclass_params__")
        if any(not _is_harmless(name, member, options) for name, member in vars(base).items()):
            return None
    options = vars(kind).get("__dataclass_params__")
    if options is not None and "__init__" in vars(kind) and is_generated(vars(kind)["__init__"]):
        found = _of_dataclass(kind) if options.init else None
    else:
        init = next((vars(base)["__init__"] for base in kind.__mro__[:-1] if "__init__" in vars(base)), None)
        found = _of_init(init) if type(init) is FunctionType and not is_generated(init) else None
    has_slots = not kind.__dictoffset__
    if found is None or any(not _is_plain_attribute(kind, name, has_slots) for name in found.attributes):
        return None
    return found


def _of_named_tuple(kind: Tree) -> RecordClass | None:
    fields, defaults = kind._fields, kind._field_defaults
    found = tuple(Field(name, defaults.get(name, NO_DEFAULT)) for name in fields)
    # Anything may have been put in the place of what reads a field, or in that of the constructor's defaults.
    are_fields = all(type(vars(kind).get(name)).__name__ == "_tuplegetter" for name in fields)
    if not are_fields or not all(_is_constant(field.default) for field in found):
        return None
    values = tuple((name, ast.Name(name, ast.Load())) for name in fields)
    return RecordClass(found, len(fields), values, is_frozen=True, can_be_replaced=False, is_tuple=True)


def _of_dataclass(kind: Tree) -> RecordClass | None:
    options, fields = kind.__dataclass_params__, dataclasses.fields(kind)
    code = kind.__init__.__code__
    taken = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    by_name = {field.name: field for field in fields}
    # Fields that are no arguments, and arguments that are no fields, have values that are computed.
    if set(taken) != set(by_name) or hasattr(kind, "__post_init__"):
        return None
    found: list[Field] = []
    for name in taken:
        default = by_name[name].default
        if by_name[name].default_factory is not dataclasses.MISSING:
            return None
        found.append(Field(name, NO_DEFAULT if default is dataclasses.MISSING else default))
    if not all(_is_constant(field.default) for field in found):
        return None
    values = tuple((field.name, ast.Name(field.name, ast.Load())) for field in found)
    return RecordClass(tuple(found), code.co_argcount - 1, values, bool(options.frozen), True)


def _of_init(init: FunctionType) -> RecordClass | None:
    """By a constructor that assigns each of its arguments, and constants, to attributes."""
    code, defaults = init.__code__, init.__defaults__ or ()
    if code.co_kwonlyargcount or code.co_posonlyargcount or code.co_flags & _VARYING or code.co_freevars:
        return None
    try:
        definition = definition_of(code)
    except NoSource:
        return None
    names = code.co_varnames[: code.co_argcount]
    filled = (NO_DEFAULT,) * (len(names) - len(defaults)) + defaults
    parameters = tuple(Field(name, default) for name, default in zip(names, filled))
    if not names or not all(_is_constant(field.default) for field in parameters) or isinstance(definition, ast.Lambda):
        return None
    values: list[tuple[str, ast.expr]] = []
    for statement in definition.body:
        if isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            continue
        found = _assignments(statement, names[0])
        if found is None or not all(_is_of(value, names[1:]) for _, value in found):
            return None
        values += found
    taken = sorted(value.id for _, value in values if isinstance(value, ast.Name))
    if len({name for name, _ in values}) < len(values) or taken != sorted(names[1:]):
        return None
    made = tuple((name, copied(value)) for name, value in values)
    return RecordClass(parameters[1:], len(parameters) - 1, made, False, False)


def _assignments(statement: ast.stmt, own: str) -> list[tuple[str, ast.expr]] | None:
    """The attributes that a statement of a constructor assigns to, with their values; None if it does anything else."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        pairs = [(statement.target, statement.value)]
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,), value = statement.targets, statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts))
    else:
        return None
    found: list[tuple[str, ast.expr]] = []
    for target, value in pairs:
        if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == own):
            return None
        found.append((target.attr, value))
    return found


def _is_of(value: ast.expr, names: tuple[str, ...]) -> bool:
    """Whether an expression is one of these arguments or a number."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
        return isinstance(value, ast.Constant) and type(value.value) in (int, float)
    return (isinstance(value, ast.Name) and value.id in names) or (isinstance(value, ast.Constant) and _is_constant(value.value))


def arguments_of(node: ast.Call, made: RecordClass) -> dict[str, ast.expr] | None:
    """The arguments of a constructor by their names, defaults included; None where Python would raise an error or has to unpack some."""
    if any(isinstance(a, ast.Starred) for a in node.args) or len(node.args) > made.keyword_only:
        return None
    found = {field.name: value for field, value in zip(made.parameters, node.args)}
    known = {field.name for field in made.parameters}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in found or keyword.arg not in known:
            return None
        found[keyword.arg] = keyword.value
    for field in made.parameters:
        if field.name not in found:
            if field.default is NO_DEFAULT:
                return None
            found[field.name] = ast.copy_location(ast.Constant(field.default), node)  # type: ignore[arg-type]  # a constant
    return found


NO_DEFAULT = object()

_CONSTANTS = (int, float, bool, str, type(None))

# *args and **kwargs.
_VARYING = 0x04 | 0x08


def _is_constant(value: object) -> bool:
    return value is NO_DEFAULT or type(value) in _CONSTANTS


def is_generated(member: object) -> bool:
    """Whether a method is one that dataclasses write."""
    return type(member) is FunctionType and member.__code__.co_filename == "<string>"


def _is_harmless(name: str, member: object, options: Tree) -> bool:
    """Whether what a class defines has no part in making instances, and in reading and assigning their attributes."""
    if name in ("__setattr__", "__delattr__"):
        return is_generated(member) and options is not None and bool(options.frozen)
    return not name.startswith("__") or name in _HARMLESS


_HARMLESS = OF_CLASSES | frozenset(f"__{name}__" for name in "init repr str hash eq lt le gt ge replace getstate setstate".split())


def _is_plain_attribute(kind: type, name: str, has_slots: bool) -> bool:
    """Whether an attribute of an instance is what was assigned to it: no property, method, or the like."""
    member = next((vars(base)[name] for base in kind.__mro__[:-1] if name in vars(base)), None)
    if name.startswith("__") or hasattr(object, name):
        return False
    return isinstance(member, MemberDescriptorType) or (type(member) in _CONSTANTS and not has_slots)
