"""How much of a long test a run of the whole suite takes; which cases of long tables it takes is in conftest.py."""

import os


def examples(every, few):
    """How many random programs to try: `every` in runs of chosen files and in `make test-all`, `few` in a run of the whole suite."""
    return few if os.environ.get("TAPEDIFF_TEST_SAMPLE") else every
