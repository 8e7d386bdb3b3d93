"""Several threads at once."""

import sys
import threading


def in_threads(work, given=range(4), interval=None):
    """Call `work` with each of `given` in a thread of its own; raise the first error of theirs.

    Args:
        interval: seconds after which threads take turns.
    """
    errors, before = [], sys.getswitchinterval()

    def attempt(argument):
        try:
            work(argument)
        except BaseException as error:  # noqa: BLE001 -- raised again below
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(argument,)) for argument in given]
    try:
        sys.setswitchinterval(before if interval is None else interval)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
