"""What translated code calls: one function for each kind of operation that data may decide.

Python does the operation itself where its operands are plain, at the user's own line: `left(a, b) + b`. Operands with methods in Python
are wrapped, so that their methods run translated; choices and conditional entries are taken apart.
"""

from __future__ import annotations

import sys

from .blocks import (
    assert_ as assert_,
)
from .blocks import (
    done as done,
)
from .blocks import (
    enter as enter,
)
from .blocks import (
    for_ as for_,
)
from .blocks import (
    for_yields as for_yields,
)
from .blocks import (
    if_ as if_,
)
from .blocks import (
    if_yields as if_yields,
)
from .blocks import (
    returned as returned,
)
from .blocks import (
    sequence as sequence,
)
from .blocks import (
    sequence_yields as sequence_yields,
)
from .blocks import (
    while_yields as while_yields,
)
from .callables import (
    function as function,
)
from .callables import (
    lambda_ as lambda_,
)
from .completions import (
    BREAK as BREAK,
)
from .completions import (
    CONTINUE as CONTINUE,
)
from .completions import (
    Return as Return,
)
from .containers import (
    append as append,
)
from .containers import (
    delete_item as delete_item,
)
from .containers import (
    first_iterable as first_iterable,
)
from .containers import (
    include as include,
)
from .containers import (
    iterated as iterated,
)
from .containers import (
    new_set as new_set,
)
from .containers import (
    set_entry as set_entry,
)
from .containers import (
    set_item as set_item,
)
from .containers import (
    slice_ as slice_,
)
from .containers import (
    spread as spread,
)
from .containers import (
    unpacked as unpacked,
)
from .dunder import (
    holder as holder,
)
from .dunder import (
    iadd as iadd,
)
from .dunder import (
    iand as iand,
)
from .dunder import (
    ifloordiv as ifloordiv,
)
from .dunder import (
    ilshift as ilshift,
)
from .dunder import (
    imatmul as imatmul,
)
from .dunder import (
    imod as imod,
)
from .dunder import (
    imul as imul,
)
from .dunder import (
    ior as ior,
)
from .dunder import (
    ipow as ipow,
)
from .dunder import (
    irshift as irshift,
)
from .dunder import (
    isub as isub,
)
from .dunder import (
    itruediv as itruediv,
)
from .dunder import (
    ixor as ixor,
)
from .dunder import (
    left as left,
)
from .dunder import (
    numbers as numbers,
)
from .dunder import (
    operand as operand,
)
from .exceptions import (
    try_ as try_,
)
from .exceptions import (
    try_yields as try_yields,
)
from .exceptions import (
    with_ as with_,
)
from .exceptions import (
    with_yields as with_yields,
)
from .generators import (
    Generator as Generator,
)
from .generators import (
    emit as emit,
)
from .loops import (
    while_ as while_,
)
from .objects import (
    attribute as attribute,
)
from .objects import (
    delete_attribute as delete_attribute,
)
from .objects import (
    method as method,
)
from .objects import (
    set_attribute as set_attribute,
)
from .patterns import (
    Alternatives as Alternatives,
)
from .patterns import (
    Capture as Capture,
)
from .patterns import (
    Class as Class,
)
from .patterns import (
    Mapping as Mapping,
)
from .patterns import (
    Sequence as Sequence,
)
from .patterns import (
    Singleton as Singleton,
)
from .patterns import (
    Star as Star,
)
from .patterns import (
    Value as Value,
)
from .patterns import (
    match_ as match_,
)
from .patterns import (
    match_yields as match_yields,
)
from .programs import (
    listed as listed,
)
from .tests_of_values import (
    and_ as and_,
)
from .tests_of_values import (
    chain as chain,
)
from .tests_of_values import (
    concrete as concrete,
)
from .tests_of_values import (
    if_value as if_value,
)
from .tests_of_values import (
    in_ as in_,
)
from .tests_of_values import (
    is_ as is_,
)
from .tests_of_values import (
    is_not as is_not,
)
from .tests_of_values import (
    not_ as not_,
)
from .tests_of_values import (
    not_in as not_in,
)
from .tests_of_values import (
    or_ as or_,
)
from .tests_of_values import (
    shown as shown,
)
from .translate import OPERATORS_CELL
from .yields import (
    Delegate as Delegate,
)
from .yields import (
    delegate as delegate,
)
from .yields import (
    delegated as delegated,
)

OPERATORS_CELL.cell_contents = sys.modules[__name__]
