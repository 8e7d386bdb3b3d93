"""What a kernel's return value means. 0 is success and g + 1 that guard g failed."""

from __future__ import annotations

FAILURE = 1 << 20  # and above: routine number status - FAILURE failed
OUT_OF_MEMORY = -1
REFUSED = -10  # the entry does not recognise the arguments
OVERLAP = -11  # an output shares memory with an input
