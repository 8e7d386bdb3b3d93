"""Every instruction of the running interpreter is classified, and on one that is not known nothing is guessed."""

import ast
import dis
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapediff
from tapediff.base import byte_code
from tapediff.base.byte_code import ROLES, has, is_held_elsewhere, operands, role_at

# Of which nothing is read, in any of the versions; those that the compiler alone sees among them.
OTHERS = frozenset("""
    ANNOTATIONS_PLACEHOLDER ASYNC_GEN_WRAP BEFORE_ASYNC_WITH BUILD_CONST_KEY_MAP BUILD_INTERPOLATION BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE
    BUILD_STRING BUILD_TEMPLATE CALL_INTRINSIC_2 CLEANUP_THROW COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY_FREE_VARS DELETE_ATTR DELETE_SUBSCR
    DICT_MERGE DICT_UPDATE END_ASYNC_FOR END_FOR END_SEND ENTER_EXECUTOR EXIT_INIT_CHECK FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER
    GET_AITER GET_ANEXT GET_AWAITABLE GET_ITER GET_LEN GET_YIELD_FROM_ITER IMPORT_FROM IMPORT_NAME IMPORT_STAR INTERPRETER_EXIT JUMP
    JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE JUMP_IF_TRUE_OR_POP
    JUMP_NO_INTERRUPT LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_CLOSURE LOAD_FAST_AND_CLEAR LOAD_LOCALS
    LOAD_SUPER_ATTR LOAD_SUPER_METHOD LOAD_ZERO_SUPER_ATTR LOAD_ZERO_SUPER_METHOD MAKE_CELL MAKE_FUNCTION MAP_ADD MATCH_KEYS MATCH_MAPPING
    MATCH_SEQUENCE POP_BLOCK POP_ITER POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE
    POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_NONE
    POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE PREP_RERAISE_STAR PRINT_EXPR RAISE_VARARGS RESERVED RESUME RETURN_CONST RETURN_GENERATOR RETURN_VALUE
    SETUP_ANNOTATIONS SETUP_CLEANUP SETUP_FINALLY SETUP_WITH SET_ADD SET_FUNCTION_ATTRIBUTE SET_UPDATE STORE_FAST_MAYBE_NULL TO_BOOL
    TRACE_RECORD UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE YIELD_VALUE
""".split())

# Roles that some versions have no instruction of: by the first version that has, and the first that has not.
_ONLY = {"two locals": (13, 99), "beside a call": (11, 13), "intrinsic": (12, 99)}

is_known = pytest.mark.skipif(not byte_code.IS_KNOWN, reason="the byte code of this interpreter is not read")


@is_known
def test_every_instruction_of_this_interpreter_is_classified_once():
    """A new version that has others fails here, and is not to be listed before they are looked at."""
    read = [name for names in ROLES.values() for name in names]
    assert len(read) == len(set(read))
    assert not OTHERS.intersection(read)
    found = {name for name in dis.opmap if not name.startswith("INSTRUMENTED_")}
    assert found - OTHERS <= set(read)


@is_known
def test_every_role_has_an_instruction_here():
    """But those that only some versions have."""
    minor = sys.version_info[1]
    for role, names in ROLES.items():
        first, beyond = _ONLY.get(role, (11, 99))
        assert bool(names & set(dis.opmap)) == (first <= minor < beyond), role


def test_instructions_are_named_in_one_table():
    """What other files compare with a name of an instruction is in the table, or a misspelt name would never be found."""
    read = {name for names in ROLES.values() for name in names}
    for path in Path(tapediff.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if "opname" in text or "byte_code" in text:
            strings = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
            # "JUMP" is looked for in names.
            assert strings & (OTHERS | set(dis.opmap)) - {"JUMP"} <= read, path
    readers = [path.name for path in Path(tapediff.__file__).parent.rglob("*.py") if "dis.opmap" in path.read_text()]
    assert readers == ["byte_code.py"]


def _reads_and_writes(x, y, k):
    x[k] = y[k]
    x[1:] = y[1:]
    x[k:] = y[:k]
    x[k] += y[k]
    return x


def _roles(code):
    roles = [role_at(code, i.offset) for i in dis.get_instructions(code)]
    return [role.split()[0] for role in roles if role in ("read entries", "write entries")]


@is_known
def test_reads_and_writes_of_entries_are_told_apart():
    """Whatever instruction stands for them: for slices since 3.12, for reads since 3.14; specialised after many calls, and traced."""
    code, expected = _reads_and_writes.__code__, ["read", "write", "read", "write", "read", "write", "read", "read", "write"]
    assert _roles(code) == expected
    for _ in range(100):
        _reads_and_writes([1.0, 2.0], [3.0, 4.0], 1)
    assert _roles(code) == expected
    seen, traced = [], sys.gettrace()

    def trace(frame, event, _):
        if frame.f_code is code:
            frame.f_trace_opcodes = True
            seen.append(role_at(code, frame.f_lasti))
        return trace

    # Python 3.12 reports instructions only where a frame asks for them before the tracer is set.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        _reads_and_writes([1.0, 2.0], [3.0, 4.0], 1)
    finally:
        sys.settrace(traced)
    assert [role.split()[0] for role in dict.fromkeys(seen) if role in ("read entries", "write entries")] == ["read", "write"]
    assert _roles(code) == expected
    assert has(code, "write entries")
    assert not has((lambda x: x[1:]).__code__, "write entries")


@is_known
def test_names_are_listed_with_those_that_share_an_instruction():
    def program():
        a = b = np
        total = a
        return b, total, len

    assert operands(program.__code__, "global") == ["np", "len"]
    assert {"a", "b", "total"} <= set(operands(program.__code__, "store local"))


def test_references_are_counted_in_one_way():
    """What a variable lends counts on some versions only; but these measure what they compare with, in the same way."""
    readers = {path.name for path in Path(tapediff.__file__).parent.rglob("*.py") if "getrefcount(" in path.read_text()}
    assert readers == {"byte_code.py", "items.py", "rebound.py", "tracked.py"}


@is_known
@pytest.mark.skipif(not byte_code.COUNTS_REFERENCES, reason="the references of this interpreter are not counted")
def test_references_tell_who_holds_a_value(monkeypatch):
    """A variable alone, with a list, with a view; nobody but the variable is known of on other interpreters."""
    alone = [np.ones(3)].pop()
    assert not is_held_elsewhere((alone,), 1)
    held = [alone]
    assert is_held_elsewhere((alone,), 1)
    assert not is_held_elsewhere((alone,), 2)
    held[0] = alone[1:]
    assert is_held_elsewhere((alone,), 1)
    held.clear()
    monkeypatch.setattr(byte_code, "COUNTS_REFERENCES", False)
    assert is_held_elsewhere((alone,), 1)


_PROGRAMS = """
import collections, sys, warnings
import numba, numpy as np, scipy.special
sys.version_info = collections.namedtuple("version", "major minor micro releaselevel serial")(3, 99, 0, "final", 0)
import tapediff as td
from tapediff import doctor
from tapediff.base import byte_code
assert not byte_code.IS_KNOWN

SCALE = np.array([1.0, 2.0, 3.0])

def written(x):
    y, z = np.zeros(3), np.zeros(3)
    y[1:] = x[1:]
    for k in range(3):
        z[k] = x[k] * y[k]
    z[:2] += x[:2]
    return z @ z

def less(r, b):
    r -= 2 * b
    return r @ r

def of_the_caller(x):
    r = SCALE * 2.0
    return less(r, x) + r @ r

def of_its_own(x):
    r = SCALE * 2.0
    r -= x
    return r @ r

def handled(x):
    try:
        with np.errstate(all="ignore"):
            return np.sum(x) if x[0] > 0.2 else np.sum(x**2)
    except ValueError:
        return 0.0

def branches(x):
    s = 0.0
    for v in x:
        if v > 0.4:
            s = s + v**2
        else:
            s = s - v
    return s

@td.subtape
def shared(v):
    w = np.ones(3)
    w[0] = v[1]
    return w, (w * v)[1:]

def of_sub_tapes(x):
    w, v = shared(x)
    return np.sum(w) + v @ v

x, refused = np.array([0.3, 0.5, 0.9]), []
for f in (written, of_the_caller, of_its_own, handled, branches, of_sub_tapes):
    guarded = td.GuardedTape(f)
    for at in (x, x[::-1].copy(), -x):
        try:
            value, gradient = td.value_and_gradient(guarded, at)
        except td.TapediffError as error:
            assert "\\n  at:  " in str(error) and "\\n  fix: " in str(error), str(error)
            refused.append(f.__name__)
            break
        assert np.isclose(value, f(at)), (f.__name__, value, f(at))
        expected = [(f(at + h) - f(at - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        assert np.allclose(gradient, expected, rtol=1e-6, atol=1e-8), (f.__name__, gradient, expected)
state, text, advice = doctor._check_python()
assert (state, text.startswith("Python 3.99")) == (doctor.NOTE, True)
print("refused:", *refused)
"""


@pytest.mark.slow
def test_an_interpreter_that_is_not_known_refuses_what_it_cannot_tell(tmp_path):
    """A later version: right answers, or a refusal by name where an in-place operator writes to a plain array; the doctor has a note."""
    program = tmp_path / "programs.py"
    program.write_text(_PROGRAMS)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "refused: of_the_caller of_its_own\n"
