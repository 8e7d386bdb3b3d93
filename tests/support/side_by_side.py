"""Times that are compared within one run: nothing tested may depend on how fast, or how busy, the machine is."""

import math
import time


def times_as_long(work, yardstick, *, limit, repeat=5, attempts=6):
    """How many times as long as a yardstick some work takes, in processor time of this thread.

    The two take turns and the shortest of each counts. Other programs can only add to a time, so that what is above the limit is
    measured again.
    """
    best = [math.inf, math.inf]
    for _ in range(attempts):
        for _ in range(repeat):
            for k, timed in enumerate((work, yardstick)):
                started = time.thread_time()
                timed()
                best[k] = min(best[k], time.thread_time() - started)
        if best[0] < limit * best[1]:
            break
    return best[0] / best[1]
