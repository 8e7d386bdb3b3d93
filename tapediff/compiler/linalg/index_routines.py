"""Routines that find positions, argmax, argsort and searchsorted: in Python, for the readable listing of kernels, and as LLVM text.

They work on flat arrays by plain indexing. The Python functions are the reference, and the text follows them line by line, but for
argsort. The order among equal elements and the place of NaN are NumPy's.
"""

from __future__ import annotations

from typing import Any

from . import sorting


def argmax(x: Any, out: Any, before: int, extent: int, after: int) -> None:
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            best = 0
            for k in range(1, extent):
                top, value = x[start + best * after], x[start + k * after]
                if value > top or (value != value and top == top):
                    best = k
            out[b * after + a] = best


def argmin(x: Any, out: Any, before: int, extent: int, after: int) -> None:
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            best = 0
            for k in range(1, extent):
                least, value = x[start + best * after], x[start + k * after]
                if value < least or (value != value and least == least):
                    best = k
            out[b * after + a] = best


def argsort(x: Any, scratch: Any, out: Any, before: int, extent: int, after: int, integers: int) -> None:
    """Stable, NaN last. The text has other ways to the same order; see `sorting`."""
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            row = [x[start + k * after] for k in range(extent)]
            order = sorted(range(extent), key=lambda k, row=row: (row[k] != row[k], 0.0 if row[k] != row[k] else row[k]))
            for k, position in enumerate(order):
                out[start + k * after] = position


def searchsorted(sorted_values: Any, wanted: Any, out: Any, extent: int, count: int, right: int) -> None:
    for k in range(count):
        value = wanted[k]
        low, high = 0, extent
        while low < high:
            middle = (low + high) // 2
            other = sorted_values[middle]
            if right:
                goes_right = other <= value or (value != value)
            else:
                goes_right = other < value or (value != value and other == other)
            if goes_right:
                low = middle + 1
            else:
                high = middle
        out[k] = low


INDEX_ROUTINES = {
    "argmax": argmax, "argmin": argmin, "argmax_integers": argmax, "argmin_integers": argmin, "argsort": argsort,
    "searchsorted": searchsorted,
}  # fmt: skip


# The same routines as LLVM text.


def _extremum(name: str, beats: str, type_: str) -> str:
    is_nan, is_number = ("fcmp uno", "fcmp ord") if type_ == "double" else ("icmp ne", "icmp eq")
    return f"""define void @tapediff_index_{name}(ptr %x, ptr %out, i64 %before, i64 %extent, i64 %after) nounwind {{
entry:
%rows = mul i64 %before, %after
%block = mul i64 %extent, %after
br label %row
row:
%r = phi i64 [ 0, %entry ], [ %r1, %found ]
%more_rows = icmp slt i64 %r, %rows
br i1 %more_rows, label %begin, label %done
begin:
%b = sdiv i64 %r, %after
%a = srem i64 %r, %after
%skipped = mul i64 %b, %block
%start = add i64 %skipped, %a
%first_slot = getelementptr {type_}, ptr %x, i64 %start
%first = load {type_}, ptr %first_slot
br label %look
look:
%k = phi i64 [ 1, %begin ], [ %k1, %compare ]
%best = phi i64 [ 0, %begin ], [ %best_next, %compare ]
%top = phi {type_} [ %first, %begin ], [ %top_next, %compare ]
%more = icmp slt i64 %k, %extent
br i1 %more, label %compare, label %found
compare:
%offset = mul i64 %k, %after
%place = add i64 %start, %offset
%slot = getelementptr {type_}, ptr %x, i64 %place
%value = load {type_}, ptr %slot
%beats = {beats} {type_} %value, %top
%is_nan = {is_nan} {type_} %value, %value
%top_is_number = {is_number} {type_} %top, %top
%first_nan = and i1 %is_nan, %top_is_number
%better = or i1 %beats, %first_nan
%best_next = select i1 %better, i64 %k, i64 %best
%top_next = select i1 %better, {type_} %value, {type_} %top
%k1 = add i64 %k, 1
br label %look
found:
%out_slot = getelementptr i64, ptr %out, i64 %r
store i64 %best, ptr %out_slot
%r1 = add i64 %r, 1
br label %row
done:
ret void
}}"""


_SEARCHSORTED = """define void @tapediff_index_searchsorted(ptr %sorted, ptr %wanted, ptr %out, i64 %extent, i64 %count, i64 %right) \
nounwind {
entry:
%is_right = icmp ne i64 %right, 0
br label %each
each:
%k = phi i64 [ 0, %entry ], [ %k1, %put ]
%more = icmp slt i64 %k, %count
br i1 %more, label %take, label %done
take:
%slot = getelementptr double, ptr %wanted, i64 %k
%value = load double, ptr %slot
%is_nan = fcmp uno double %value, %value
br label %search
search:
%low = phi i64 [ 0, %take ], [ %low_next, %look ]
%high = phi i64 [ %extent, %take ], [ %high_next, %look ]
%apart = icmp slt i64 %low, %high
br i1 %apart, label %look, label %put
look:
%both = add i64 %low, %high
%middle = lshr i64 %both, 1
%m_slot = getelementptr double, ptr %sorted, i64 %middle
%other = load double, ptr %m_slot
%not_above = fcmp ole double %other, %value
%to_right = or i1 %not_above, %is_nan
%below = fcmp olt double %other, %value
%is_number = fcmp ord double %other, %other
%number_before_nan = and i1 %is_nan, %is_number
%to_left = or i1 %below, %number_before_nan
%goes_right = select i1 %is_right, i1 %to_right, i1 %to_left
%beyond = add i64 %middle, 1
%low_next = select i1 %goes_right, i64 %beyond, i64 %low
%high_next = select i1 %goes_right, i64 %high, i64 %middle
br label %search
put:
%out_slot = getelementptr i64, ptr %out, i64 %k
store i64 %low, ptr %out_slot
%k1 = add i64 %k, 1
br label %each
done:
ret void
}"""

PREFIX = "tapediff_index_"


def index_text(name: str) -> str:
    """The routine as LLVM text."""
    if name == "argsort":
        return sorting.argsort(PREFIX + name)
    if name == "searchsorted":
        return _SEARCHSORTED
    return _extremum(name, *_EXTREMA[name])


_EXTREMA = {
    "argmax": ("fcmp ogt", "double"), "argmin": ("fcmp olt", "double"),
    "argmax_integers": ("icmp sgt", "i64"), "argmin_integers": ("icmp slt", "i64"),
}  # fmt: skip
