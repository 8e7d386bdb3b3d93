"""The functions that translated code calls: one for each kind of operation that data may decide.

Python does the operation itself where its operands are plain, at the user's own line: `left(a, b) + b`. Operands with methods in Python
are wrapped, so that their methods run translated; choices and conditional entries are taken apart.
"""

from __future__ import annotations

import sys

from .blocks.blocks import (
    assert_ as assert_,
    done as done,
    enter as enter,
    for_yields as for_yields,
    if_ as if_,
    if_yields as if_yields,
    returned as returned,
    sequence as sequence,
    sequence_yields as sequence_yields,
    while_yields as while_yields,
)
from .blocks.exceptions import (
    try_ as try_,
    try_yields as try_yields,
    with_ as with_,
    with_yields as with_yields,
)
from .blocks.loops import (
    for_ as for_,
    while_ as while_,
)
from .blocks.yields import (
    Delegate as Delegate,
    delegate as delegate,
    delegated as delegated,
)
from .builtins.arguments import (
    gathered as gathered,
    starred as starred,
)
from .calls.callables import (
    function as function,
    lambda_ as lambda_,
)
from .containers.generators import (
    Generator as Generator,
    emit as emit,
)
from .containers.items import (
    append as append,
    delete_item as delete_item,
    dict_of as dict_of,
    first_iterable as first_iterable,
    include as include,
    iterated as iterated,
    own as own,
    set_item as set_item,
    set_of as set_of,
    slice_ as slice_,
    spread as spread,
    unpacked as unpacked,
)
from .operations.dunder import (
    holder as holder,
    iadd as iadd,
    iand as iand,
    ifloordiv as ifloordiv,
    ilshift as ilshift,
    imatmul as imatmul,
    imod as imod,
    imul as imul,
    ior as ior,
    ipow as ipow,
    irshift as irshift,
    isub as isub,
    itruediv as itruediv,
    ixor as ixor,
    left as left,
    numbers as numbers,
    operand as operand,
)
from .operations.errors import (
    raised as raised,
)
from .operations.objects import (
    attribute as attribute,
    delete_attribute as delete_attribute,
    method as method,
    set_attribute as set_attribute,
)
from .operations.patterns import (
    Alternatives as Alternatives,
    Capture as Capture,
    Class as Class,
    Mapping as Mapping,
    Sequence as Sequence,
    Singleton as Singleton,
    Star as Star,
    Value as Value,
    match_ as match_,
    match_yields as match_yields,
)
from .operations.stars import (
    spreading as spreading,
)
from .operations.tests_of_values import (
    all_hold as all_hold,
    and_ as and_,
    chain as chain,
    concrete as concrete,
    formatted as formatted,
    if_value as if_value,
    in_ as in_,
    is_ as is_,
    is_not as is_not,
    not_ as not_,
    not_in as not_in,
    one_holds as one_holds,
    or_ as or_,
    shown as shown,
    text as text,
)
from .state.completions import (
    BREAK as BREAK,
    CONTINUE as CONTINUE,
    Return as Return,
)
from .translate import OPERATORS_CELL, unbound_local as unbound_local

# The user's code may have another one.
NameError = NameError

OPERATORS_CELL.cell_contents = sys.modules[__name__]
