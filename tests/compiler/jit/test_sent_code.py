"""Object code in pickles: linked where text, processor and versions are the same, and left alone elsewhere."""

import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.jit import native_function, object_cache, sent_code
from tapediff.compiler.jit.linking import Linker
from tapediff.compiler.jit.toolchain import toolchain

X = np.linspace(0.5, 1.5, 7)


def looping(x):
    """A loop whose body branches, and an expression that kernels share."""
    step = lambda k, y: td.cond(y > 1.0, lambda y: np.sqrt(y), lambda y: y + np.sin(k * y), y)
    return np.sum(np.tan(x)) + np.sum(td.fori_loop(0, 5, step, x[0]))


def branching(x):
    return np.sum(np.exp(x)) if x[0] > 0 else np.sum(x**2)


@pytest.fixture
def compiled(monkeypatch):
    """The texts that are compiled."""
    texts, compile_text = [], native_function.object_code

    def noted(text, quickly):
        texts.append(text)
        return compile_text(text, quickly)

    monkeypatch.setattr(native_function, "object_code", noted)
    monkeypatch.setattr(object_cache, "is_enabled", lambda: False)
    return texts


@pytest.mark.parametrize("make", [lambda: td.compile(looping, X), lambda: td.GuardedTape(branching, compile_after=0)])
def test_kernels_of_a_pickle_are_linked_and_not_compiled(make, compiled, monkeypatch):
    """Also those of the bodies of loops; the answers are the same to the last bit."""
    tape = make()
    points = (X, X) if isinstance(tape, td.CompiledTape) else (X, -X)
    right = [tape.value_and_gradient(x) for x in points for _ in range(2)]
    content = pickle.dumps(tape)
    monkeypatch.setattr(toolchain, "linker", Linker())
    compiled.clear()
    again = pickle.loads(content)
    for (value, gradient), x in zip(right, [x for x in points for _ in range(2)]):
        assert again.value_and_gradient(x)[0] == value
        np.testing.assert_array_equal(again.gradient(x), gradient)
    assert compiled == []
    assert len(pickle.dumps(again)) == pytest.approx(len(content), rel=0.1)  # sent on, as it came
    assert len(content) < 40_000


def test_code_for_another_processor_is_left_alone(compiled, monkeypatch):
    """And so is that of other versions: kernels are compiled."""
    content = pickle.dumps(td.compile(branching, X))
    monkeypatch.setattr(toolchain, "linker", Linker())
    monkeypatch.setattr(sent_code, "_environment", lambda: b"another")
    compiled.clear()
    assert pickle.loads(content).value_and_gradient(X)[0] == pytest.approx(branching(X), rel=1e-14)  # summed in another order
    assert len(compiled) == 1


def test_code_that_came_is_bounded(monkeypatch):
    """The oldest goes first; a tape that was never compiled sends none."""
    monkeypatch.setattr("tapediff.compiler.jit.linking.MOST_SENT_BYTES", 100)
    linker = Linker()
    for k in range(5):
        linker.receive((b"", bytes([k]) * 60), lambda sent: {sent[1][:1]: sent[1]})
    assert [linker.sent_code(bytes([k])) is not None for k in range(5)] == [False, False, False, False, True]
    assert td.CompiledTape(td.record(branching, X)).__reduce__()[1][-1] is None
