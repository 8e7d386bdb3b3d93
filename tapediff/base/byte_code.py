"""What is read of the interpreter: the roles of its instructions, by name, and how far its reference counts tell who holds a value.

Both differ between versions of CPython. Of a version that is not listed nothing counts as known: whoever asks refuses, or does what is
right for any code.
"""

from __future__ import annotations

import dis
import opcode
import sys
from types import CodeType

# The versions whose instructions were looked at, and on which the tests run.
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
IS_KNOWN = sys.implementation.name == "cpython" and sys.version_info[:2] in PYTHONS

# Since 3.14 what a variable holds is lent to operators and calls; the callee's argument and what is assigned from it do not count then.
# What an attribute, an entry of a container or a returned value is assigned to counts. Nothing is known of builds without the global lock,
# which count in two places, and of the just-in-time compiler, which leaves out counts that it finds needless.
LENDS = sys.version_info >= (3, 14)
_compiler = getattr(sys, "_jit", None)
COUNTS_REFERENCES = IS_KNOWN and "t" not in getattr(sys, "abiflags", "") and not (_compiler is not None and _compiler.is_enabled())

# What is read of code; tests/base/test_byte_code.py lists the instructions of which nothing is. `co_code` has neither those that are
# specialised while code runs nor those of debuggers and profilers.
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
# What a `with` begins its block with.
ENTER_WITH = (("BEFORE_WITH",), ("COPY", "LOAD_SPECIAL", "SWAP", "SWAP", "LOAD_SPECIAL", "CALL"))
_ROLE = {name: role for role, names in ROLES.items() for name in names}
_SUBSCRIPT = next((k for k, (name, _) in enumerate(getattr(opcode, "_nb_ops", [("", "")])) if name == "NB_SUBSCR"), None)
_BY_NUMBER = {number: _ROLE[name] for name, number in dis.opmap.items() if name in _ROLE}


def names_of(*roles: str) -> frozenset[str]:
    """The instructions of some roles."""
    return frozenset().union(*(ROLES[role] for role in roles))


def operands(code: CodeType, *roles: str) -> list[str]:
    """The names that instructions of some roles have, each once, in order; on an interpreter that is not known all others, too."""
    wanted, found = names_of(*roles), list[str]()
    for instruction in dis.get_instructions(code):
        if instruction.opname in wanted:
            found += instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    return list(dict.fromkeys(found if IS_KNOWN else (*found, *code.co_names)))


def has(code: CodeType, *roles: str) -> bool:
    """Whether a code has instructions of some roles; also where that cannot be known."""
    wanted = names_of(*roles)
    return not IS_KNOWN or any(instruction.opname in wanted for instruction in dis.get_instructions(code))


def role_at(code: CodeType, offset: int) -> str | None:
    """The role of the instruction at an offset; None for one of which nothing is read, and on an interpreter that is not known."""
    if not IS_KNOWN:
        return None
    role = _BY_NUMBER.get(code.co_code[offset])
    return "read entries" if role == "operator" and code.co_code[offset + 1] == _SUBSCRIPT else role


def is_held_elsewhere(value: tuple[object], own: int) -> bool:
    """Whether more than its own references hold an object; also where that cannot be known.

    Args:
        value: the object in a tuple: what a variable lends to a call does not count on all versions, an entry does.
        own: how many variables, attributes and entries of containers are known to hold it; a parameter is none of them but in a
            function that takes `*args`, of which the tuple is one.
    """
    return not COUNTS_REFERENCES or sys.getrefcount(value[0]) > own + _IN_TUPLE


# The references of a tuple and of an entry of it that is an argument.
_IN_TUPLE = 2
