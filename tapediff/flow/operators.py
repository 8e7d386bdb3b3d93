"""The functions that translated code calls: one for each kind of operation that data may decide.

Python does the operation itself where its operands are plain, at the user's own line: `left(a, b) + b`. Operands with methods in Python
are wrapped, so that their methods run translated; choices and conditional entries are taken apart.
"""

from __future__ import annotations

import sys

from .blocks.blocks import (
    assert_ as assert_,
)
from .blocks.blocks import (
    done as done,
)
from .blocks.blocks import (
    enter as enter,
)
from .blocks.blocks import (
    for_yields as for_yields,
)
from .blocks.blocks import (
    if_ as if_,
)
from .blocks.blocks import (
    if_yields as if_yields,
)
from .blocks.blocks import (
    returned as returned,
)
from .blocks.blocks import (
    sequence as sequence,
)
from .blocks.blocks import (
    sequence_yields as sequence_yields,
)
from .blocks.blocks import (
    while_yields as while_yields,
)
from .blocks.exceptions import (
    try_ as try_,
)
from .blocks.exceptions import (
    try_yields as try_yields,
)
from .blocks.exceptions import (
    with_ as with_,
)
from .blocks.exceptions import (
    with_yields as with_yields,
)
from .blocks.loops import (
    for_ as for_,
)
from .blocks.loops import (
    while_ as while_,
)
from .blocks.yields import (
    Delegate as Delegate,
)
from .blocks.yields import (
    delegate as delegate,
)
from .blocks.yields import (
    delegated as delegated,
)
from .builtins.arguments import (
    listed as listed,
)
from .builtins.arguments import (
    starred as starred,
)
from .calls.callables import (
    function as function,
)
from .calls.callables import (
    lambda_ as lambda_,
)
from .containers.generators import (
    Generator as Generator,
)
from .containers.generators import (
    emit as emit,
)
from .containers.items import (
    append as append,
)
from .containers.items import (
    delete_item as delete_item,
)
from .containers.items import (
    dict_of as dict_of,
)
from .containers.items import (
    first_iterable as first_iterable,
)
from .containers.items import (
    include as include,
)
from .containers.items import (
    iterated as iterated,
)
from .containers.items import (
    new_set as new_set,
)
from .containers.items import (
    own as own,
)
from .containers.items import (
    set_entry as set_entry,
)
from .containers.items import (
    set_item as set_item,
)
from .containers.items import (
    set_of as set_of,
)
from .containers.items import (
    slice_ as slice_,
)
from .containers.items import (
    spread as spread,
)
from .containers.items import (
    unpacked as unpacked,
)
from .operations.dunder import (
    holder as holder,
)
from .operations.dunder import (
    iadd as iadd,
)
from .operations.dunder import (
    iand as iand,
)
from .operations.dunder import (
    ifloordiv as ifloordiv,
)
from .operations.dunder import (
    ilshift as ilshift,
)
from .operations.dunder import (
    imatmul as imatmul,
)
from .operations.dunder import (
    imod as imod,
)
from .operations.dunder import (
    imul as imul,
)
from .operations.dunder import (
    ior as ior,
)
from .operations.dunder import (
    ipow as ipow,
)
from .operations.dunder import (
    irshift as irshift,
)
from .operations.dunder import (
    isub as isub,
)
from .operations.dunder import (
    itruediv as itruediv,
)
from .operations.dunder import (
    ixor as ixor,
)
from .operations.dunder import (
    left as left,
)
from .operations.dunder import (
    numbers as numbers,
)
from .operations.dunder import (
    operand as operand,
)
from .operations.errors import (
    raised as raised,
)
from .operations.objects import (
    attribute as attribute,
)
from .operations.objects import (
    delete_attribute as delete_attribute,
)
from .operations.objects import (
    method as method,
)
from .operations.objects import (
    set_attribute as set_attribute,
)
from .operations.patterns import (
    Alternatives as Alternatives,
)
from .operations.patterns import (
    Capture as Capture,
)
from .operations.patterns import (
    Class as Class,
)
from .operations.patterns import (
    Mapping as Mapping,
)
from .operations.patterns import (
    Sequence as Sequence,
)
from .operations.patterns import (
    Singleton as Singleton,
)
from .operations.patterns import (
    Star as Star,
)
from .operations.patterns import (
    Value as Value,
)
from .operations.patterns import (
    match_ as match_,
)
from .operations.patterns import (
    match_yields as match_yields,
)
from .operations.stars import (
    spreading as spreading,
)
from .operations.tests_of_values import (
    all_hold as all_hold,
)
from .operations.tests_of_values import (
    and_ as and_,
)
from .operations.tests_of_values import (
    chain as chain,
)
from .operations.tests_of_values import (
    concrete as concrete,
)
from .operations.tests_of_values import (
    formatted as formatted,
)
from .operations.tests_of_values import (
    if_value as if_value,
)
from .operations.tests_of_values import (
    in_ as in_,
)
from .operations.tests_of_values import (
    is_ as is_,
)
from .operations.tests_of_values import (
    is_not as is_not,
)
from .operations.tests_of_values import (
    not_ as not_,
)
from .operations.tests_of_values import (
    not_in as not_in,
)
from .operations.tests_of_values import (
    one_holds as one_holds,
)
from .operations.tests_of_values import (
    or_ as or_,
)
from .operations.tests_of_values import (
    shown as shown,
)
from .operations.tests_of_values import (
    text as text,
)
from .state.completions import (
    BREAK as BREAK,
)
from .state.completions import (
    CONTINUE as CONTINUE,
)
from .state.completions import (
    Return as Return,
)
from .translate import OPERATORS_CELL
from .translate import unbound_local as unbound_local

# The user's code may have another one.
NameError = NameError

OPERATORS_CELL.cell_contents = sys.modules[__name__]
