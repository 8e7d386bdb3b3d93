"""The path of a call: which instructions of a program's own code run, in their order."""

import sys


def path_of(f, x):
    """Run a function and return its value and a hash of the path it took.

    Args:
        f: function from a program.
        x: the point.

    Returns:
        Pair of the value and an int; points of equal paths have equal ints.
    """
    file, seen = f.__code__.co_filename, []

    def trace(frame, event, arg):
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen.append((frame.f_code.co_firstlineno, frame.f_lasti))
        return trace

    before = sys.gettrace()
    # Python 3.12 traces opcodes only where a frame has asked for them before.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        value = f(x)
    finally:
        sys.settrace(before)
    return value, hash(tuple(seen))
