"""Several threads that take turns after every few steps."""

import sys
import threading


def in_threads(work, count=4):
    """Call a function in so many threads at once; errors of theirs are not raised."""
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
