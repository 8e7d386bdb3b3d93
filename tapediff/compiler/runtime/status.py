"""Return values of kernels. 0 is success and g + 1 that guard g failed."""

from __future__ import annotations

FAILURE = 1 << 30  # and above: routine number status - FAILURE failed
OUT_OF_MEMORY = -1
RECURSION = -2  # the recursion of callees is too deep
NAMED = -3  # not a failure: compile the variant named in the call frame
REFUSED = -10  # the entry does not recognise the arguments
OVERLAP = -11  # an output shares memory with an input, or with another output
PENDING = -20  # Python raised an exception in a callback, which keeps it
AGAIN = -22  # of a path: as PENDING, but the caller asks Python for another path first
KEPT = -21  # a call of a point ended with an exception, which the point keeps
WRONG_RESULT = -30  # a compiled primitive returned an array of another shape
RULE_RAISED = -31  # a compiled primitive raised an exception

# Limit on comparing outputs with each other for shared memory, which takes 0.3 µs at this number. Above it, the code that receives the
# caller's arrays compares, as new arrays need no check.
MOST_COMPARED = 32
