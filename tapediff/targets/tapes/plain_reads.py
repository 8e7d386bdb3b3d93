"""Tapes of functions that read plain arrays at arrays of positions which are data, as prices[np.argsort(x)[:10]]: these are gathered."""

from __future__ import annotations

from collections.abc import Callable

from ...functions.loops import while_loop
from ...functions.merging.merged_function import MOST_ATTEMPTS, MergedFunctions, is_of_positions
from ...functions.merging.prepare.closures import users_functions
from ...functions.merging.prepare.state_changes import first_change
from ...functions.merging.rules import Refused
from ...ir.instruction import Tree, UserFunction
from ...ir.tape import Tape
from .long_loops import are_same, checked


def tape_of_gathers(
    f: UserFunction, plain: Tape, recorded: Callable[[UserFunction], Tape], plain_result: Callable[[], Tree]
) -> Tape:
    """The tape of a function that has no guards on such positions, if there is one; else `plain`.

    Args:
        plain: the tape of the function as it is.
        recorded: records a form of the function.
        plain_result: what the function gives in plain NumPy.
    """
    if any(map(first_change, users_functions(f))):
        return plain  # what it has done would be done again
    functions, found, results = MergedFunctions(while_loop), plain, list[Tree]()
    for _ in range(MOST_ATTEMPTS):
        is_news = functions.note_guards(filter(is_of_positions, found.guards))
        if found is not plain and not is_news:
            return found if are_same(results[-1], plain_result) else plain
        try:
            form = functions.of(f)
            if form is None:
                break
            found = recorded(checked(form, results))
        except Refused as refused:
            functions.refuse(refused)
        except Exception:  # noqa: BLE001 -- of the rewriting, which no user is to see: the function itself has raised none
            break
    return plain
