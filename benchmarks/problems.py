"""All problems, in the order of the table."""

from . import array_problems, branch_problems, loop_problems, posterior_problems
from .outside.problems import PROBLEMS as OUTSIDE_PROBLEMS

# Those that the library was tuned on; `outside/` has others.
PROBLEMS = (
    *array_problems.PROBLEMS, *loop_problems.PROBLEMS, *branch_problems.PROBLEMS, *posterior_problems.PROBLEMS,
)  # fmt: skip
BY_NAME = {problem.name: problem for problem in (*PROBLEMS, *OUTSIDE_PROBLEMS)}
