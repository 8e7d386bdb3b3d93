"""Facts about the interpreter: the roles of its instructions, by name, and what its reference counts tell about a value's holders.

Both differ between versions of CPython. On an unlisted version nothing counts as known: callers refuse, or do what is right for
any code.
"""

from __future__ import annotations

import dis
import opcode
import sys
from types import CodeType

# The supported versions, on which the tests run.
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
IS_KNOWN = sys.implementation.name == "cpython" and sys.version_info[:2] in PYTHONS

# Since 3.14 operators and calls borrow the references of variables: the callee's argument, and a variable assigned from it, do not count.
# Variables assigned from an attribute, an entry of a container or a returned value count. Nothing is known of free-threaded builds,
# which count in two places, and of the just-in-time compiler, which elides counts.
LENDS = sys.version_info >= (3, 14)
_compiler = getattr(sys, "_jit", None)
COUNTS_REFERENCES = IS_KNOWN and "t" not in getattr(sys, "abiflags", "") and not (_compiler is not None and _compiler.is_enabled())

# The instructions that are read; tests/base/test_byte_code.py lists those that are ignored. `co_code` has neither specialised
# instructions nor those of debuggers and profilers.
ROLES: dict[str, frozenset[str]] = {role: frozenset(names.split()) for role, names in {
    "local": "LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW",
    "two locals": "LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "cell": "LOAD_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF",
    "global": "LOAD_GLOBAL LOAD_NAME LOAD_FROM_DICT_OR_GLOBALS",
    "attribute": "LOAD_ATTR LOAD_METHOD",
    "constant": "LOAD_CONST LOAD_SMALL_INT LOAD_COMMON_CONSTANT",
    "tuple": "BUILD_TUPLE",
    "store local": "STORE_FAST STORE_FAST_STORE_FAST STORE_FAST_LOAD_FAST",
    "store cell": "STORE_DEREF",
    "delete cell": "DELETE_DEREF",
    "store name": "STORE_NAME",
    "store global": "STORE_GLOBAL",
    "store attribute": "STORE_ATTR",
    "delete": "DELETE_FAST DELETE_NAME DELETE_GLOBAL",
    "read entries": "BINARY_SUBSCR BINARY_SLICE",
    "write entries": "STORE_SUBSCR STORE_SLICE",
    "operator": "BINARY_OP",
    "identity": "IS_OP",
    "match class": "MATCH_CLASS",
    "call": "CALL CALL_KW CALL_FUNCTION_EX",
    "beside a call": "PRECALL KW_NAMES",
    "stack": "COPY SWAP",
    "pop": "POP_TOP",
    "nothing": "CACHE NOP EXTENDED_ARG PUSH_NULL NOT_TAKEN",
    "intrinsic": "CALL_INTRINSIC_1",
    "enter with": "BEFORE_WITH LOAD_SPECIAL",
    "handler": "PUSH_EXC_INFO",
    "leave with": "WITH_EXCEPT_START",
    "except": "CHECK_EXC_MATCH",
    "except group": "CHECK_EG_MATCH",
    "leave handler": "POP_EXCEPT",
    "raise again": "RERAISE",
    "jump if false": "POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_FALSE",
    "pause": "SEND",
}.items()}  # fmt: skip
# The instructions with which a `with` enters its block.
ENTER_WITH = (("BEFORE_WITH",), ("COPY", "LOAD_SPECIAL", "SWAP", "SWAP", "LOAD_SPECIAL", "CALL"))
_ROLE = {name: role for role, names in ROLES.items() for name in names}
_SUBSCRIPT = next((k for k, (name, _) in enumerate(getattr(opcode, "_nb_ops", [("", "")])) if name == "NB_SUBSCR"), None)
_BY_NUMBER = {number: _ROLE[name] for name, number in dis.opmap.items() if name in _ROLE}


def names_of(*roles: str) -> frozenset[str]:
    """The instructions of some roles."""
    return frozenset().union(*(ROLES[role] for role in roles))


def operands(code: CodeType, *roles: str) -> list[str]:
    """The names in instructions of some roles, each once, in order; on an unknown interpreter, all names of the code, too."""
    wanted, found = names_of(*roles), list[str]()
    for instruction in dis.get_instructions(code):
        if instruction.opname in wanted:
            found += instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    return list(dict.fromkeys(found if IS_KNOWN else (*found, *code.co_names)))


def has(code: CodeType, *roles: str) -> bool:
    """True if a code has instructions of some roles, or if that is unknown."""
    wanted = names_of(*roles)
    return not IS_KNOWN or any(instruction.opname in wanted for instruction in dis.get_instructions(code))


def role_at(code: CodeType, offset: int) -> str | None:
    """The role of the instruction at an offset; None if it has none, and on an unknown interpreter."""
    if not IS_KNOWN:
        return None
    role = _BY_NUMBER.get(code.co_code[offset])
    return "read entries" if role == "operator" and code.co_code[offset + 1] == _SUBSCRIPT else role


def is_held_elsewhere(value: tuple[object], own: int) -> bool:
    """True if anything beyond the known references holds an object, or if that is unknown.

    Args:
        value: the object in a tuple: a reference lent by a variable does not count on all versions, an entry does.
        own: how many variables, attributes and entries of containers are known to hold it. Parameters do not count, except `*args`,
            whose tuple does.
    """
    return not COUNTS_REFERENCES or sys.getrefcount(value[0]) > own + _IN_TUPLE


# The references that the tuple and its entry, as an argument, add.
_IN_TUPLE = 2
