"""Calls exported kernels from a C program of its own process, in which there is no Python."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

# Reads the arguments of each call from the standard input, and writes its status and results.
MAIN = """
#include <stdio.h>
#include "{header}"
{globals}
int main(void) {{
    for (;;) {{
        {read}
        int32_t status = {function}({arguments});
        fwrite(&status, sizeof status, 1, stdout);
        {write}
    }}
}}
"""
_NAMES = {"f": "double", "i": "int64_t", "b": "uint8_t"}


def built(source, exported, directory, *options, compiler=COMPILER, suffix=".c"):
    """The program of a source text and the object file."""
    file, program = directory / f"main{suffix}", directory / "main"
    file.write_text(source)
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-o", program, file, exported.object, *options, "-lm"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def called(exported, calls, results, *options, number=0):
    """Statuses and results of calls, each a list of arrays. `results`: arrays of the types that the function writes."""
    directory = Path(exported.object).parent
    arrays = [*calls[0], *results]
    names = [f"a{k}" for k in range(len(arrays))]
    inputs = names[: len(calls[0])]
    source = MAIN.format(
        header=exported.header, function=exported.functions[number], arguments=", ".join(names),
        globals="\n".join(f"static {_NAMES[a.dtype.kind]} {n}[{max(a.size, 1)}];" for a, n in zip(arrays, names)),
        read="\n".join(f"if (fread({n}, 1, {a.nbytes}, stdin) != {a.nbytes}) return 0;" for a, n in zip(arrays, inputs)),
        write="\n".join(f"fwrite({n}, 1, {a.nbytes}, stdout);" for a, n in zip(results, names[len(inputs) :])),
    )  # fmt: skip
    program = built(source, exported, directory, *options)
    given = b"".join(np.ascontiguousarray(a).tobytes() for call in calls for a in call)
    out = subprocess.run([str(program)], input=given, capture_output=True, check=True).stdout
    found = []
    for _ in calls:
        status, out = int(np.frombuffer(out[:4], np.int32)[0]), out[4:]
        values = []
        for a in results:
            values.append(np.frombuffer(out[: a.nbytes], a.dtype).reshape(a.shape))
            out = out[a.nbytes :]
        found.append((status, values))
    assert not out
    return found


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
