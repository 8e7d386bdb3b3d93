"""Which tests a run takes."""

import os
import subprocess
import sys

FILE = "tests/compiler/math/test_simd.py"


def names(tests):
    """The tests that a run takes where TAPEDIFF_TESTS says so."""
    environment = {name: value for name, value in os.environ.items() if name != "TAPEDIFF_TESTS"} | ({"TAPEDIFF_TESTS": tests} if tests else {})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "--collect-only", FILE]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.splitlines()
    return [line for line in found if "::" in line]


def test_the_choice_and_the_others_are_all_tests_once():
    """Some cases of every test are in the choice; a run of chosen files takes all."""
    choice, others, everything = (names(tests) for tests in ("choice", "others", None))
    assert sorted(choice + others) == sorted(everything)
    assert 0 < len(choice) < len(others)
    assert {name.partition("[")[0] for name in choice} == {name.partition("[")[0] for name in everything}
