"""All problems, in the order of the table."""

from . import array_problems, branch_problems, loop_problems, posterior_problems

PROBLEMS = (
    *array_problems.PROBLEMS, *loop_problems.PROBLEMS, *branch_problems.PROBLEMS, *posterior_problems.PROBLEMS,
)  # fmt: skip
BY_NAME = {problem.name: problem for problem in PROBLEMS}
