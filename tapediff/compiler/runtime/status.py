"""What a kernel's return value means. 0 is success and g + 1 that guard g failed."""

from __future__ import annotations

FAILURE = 1 << 30  # and above: routine number status - FAILURE failed
OUT_OF_MEMORY = -1
RECURSION = -2  # calls of callees stand too deep in each other
NAMED = -3  # no failure: a dispatch loop wants the variant whose number the frame has
REFUSED = -10  # the entry does not recognise the arguments
OVERLAP = -11  # an output shares memory with an input
PENDING = -20  # Python raised an exception while it answered a call from native code; compiler.runtime.dispatch_table keeps it
KEPT = -21  # a call of a point has met an exception, which the point keeps
WRONG_RESULT = -30  # a compiled primitive returned an array of another shape
RULE_RAISED = -31  # a compiled primitive raised an exception
