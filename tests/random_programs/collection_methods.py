"""Random functions that call the methods of lists, dicts, sets, deques and counters with positions, keys and entries that data decide."""

from __future__ import annotations

import random

HEADER = """import collections
def near(v):
    return min(3, max(0, int(v * 2 + 1)))
def f(x):
    t = 0.0
    floats, counts, other = [0.5, x[0], x[1]], [1, 2, 3], [x[2]]
    table, seen = {1: 0.5, 2: x[3]}, {1, 3}
    queue, tally = collections.deque([x[4], 1.5]), collections.Counter()
    ordered, groups = collections.OrderedDict({1: 0.5, 2: x[3]}), collections.defaultdict(list)
"""

# <v>: a float, <k>: an int from 0 to 3, <c>: a test; what is called may raise IndexError, KeyError or ValueError.
CHANGES = (
    "floats.append(<v>)", "floats.insert(<k>, <v>)", "floats.pop()", "floats.pop(0)", "floats.pop(<k>)", "del floats[<k>]", "floats[<k>] = <v>",
    "floats[<k>] += <v>", "floats.remove(floats[<k>])", "floats.remove(max(floats))", "floats.extend(other)", "floats.reverse()", "floats.sort()",
    "floats.sort(key=lambda v: -v)", "floats = floats + [<v>]", "floats = floats[<k>:]", "floats = [v for v in floats if v > <v>]", "floats.clear()",
    "floats[1:2] = [<v>]", "floats, other = other, floats", "other = floats", "other = list(floats)", "other += [<v>]", "other.append(floats.pop())",
    "counts.append(<k>)", "counts.remove(<k>)", "counts.pop()", "counts.insert(0, <k>)", "counts[<k>] = <k>", "counts.sort()", "del counts[-1]",
    "counts = sorted(counts, reverse=True)", "counts = [n + 1 for n in counts if n != <k>]", "counts.pop(<k>)",
    "table[<k>] = <v>", "table[<k>] += <v>", "table.pop(<k>, None)", "t += table.pop(<k>)", "del table[<k>]", "t += table.setdefault(<k>, <v>)",
    "table.update({<k>: <v>})", "t += table.popitem()[1]", "table = {n: v * 2 for n, v in table.items() if v > <v>}", "table = dict(sorted(table.items()))",
    "table.clear()", "table |= {<k>: <v>}",
    "seen.add(<k>)", "seen.discard(<k>)", "seen.remove(<k>)", "seen |= {<k>, 2}", "seen &= {<k>, 1, 3}", "seen -= {<k>}", "seen ^= {<k>}", "seen = {n for n in counts if n in seen}",
    "queue.append(<v>)", "queue.appendleft(<v>)", "t += queue.popleft()", "queue.pop()", "queue.rotate(1)", "queue.extend(floats[:1])", "queue.remove(queue[0])",
    "tally[<k>] += 1", "tally.update([<k>, 1])", "tally.subtract([<k>])", "tally[<k>] += <v>", "del tally[<k>]",
    "tally += collections.Counter([<k>, 1])", "tally = tally - collections.Counter([<k>])", "tally |= collections.Counter({<k>: 2})",
    "tally &= collections.Counter({<k>: 1, 1: 1})", "tally = +tally", "tally = tally.copy()", "tally.pop(<k>, None)", "tally = collections.Counter(counts)",
    "ordered[<k>] = <v>", "ordered.move_to_end(<k>)", "ordered.move_to_end(<k>, last=False)", "t += ordered.popitem(last=False)[1]", "del ordered[<k>]",
    "ordered.update(table)", "ordered = ordered | {<k>: <v>}", "t += ordered.pop(<k>)",
    "groups[<k>].append(<v>)", "groups[<k>] += [<v>]", "groups[<k>]", "groups.pop(<k>)", "groups.setdefault(<k>, [0.5]).append(<v>)", "groups[<k>] = floats", "groups = groups.copy()",
)  # fmt: skip

READS = (
    "len(floats) * 0.1", "sum(floats)", "floats[-1]", "floats[<k>]", "max(floats, default=0.0)", "sum(n * v for n, v in enumerate(floats))", "floats.index(max(floats))",
    "sum(a * b for a, b in zip(floats, other))", "min(other)", "sum(floats[::-1][:2])", "(floats == other)", "(floats[0] if floats else 0.5)", "floats.count(x[0])",
    "sorted(floats)[0]", "(x[1] in floats)", "sum(v for v in floats if v in other)", "(floats < other)", "sum(reversed(floats[1:]))",
    "counts.index(<k>)", "(<k> in counts)", "counts.count(<k>)", "len(counts)", "sum(counts) * x[2]", "counts[<k>]", "sum(n * i for i, n in enumerate(counts))", "sum(floats[n] for n in counts if n < len(floats))",
    "table.get(<k>, 0.0)", "table[<k>]", "len(table)", "sum(table.values())", "sum(i * n * v for i, (n, v) in enumerate(table.items()))", "(<k> in table)", "max(table)", "max(table, key=table.get)",
    "sum(table[n] for n in table if n in seen)", "next(iter(table.values()))", "sum(v for n, v in sorted(table.items()))",
    "len(seen)", "(<k> in seen)", "sum(seen)", "sum(sorted(seen)[:1])", "(<k> not in seen)", "len(seen & set(counts))", "len(seen | {<k>})", "(seen <= {0, 1, 2, 3})",
    "queue[0]", "len(queue)", "sum(queue)", "queue[-1] * 2", "sum(i * v for i, v in enumerate(queue))",
    "tally[<k>]", "sum(tally.values())", "len(tally)", "tally.most_common(1)[0][1]", "sum(i * n for i, (_, n) in enumerate(tally.most_common()))", "tally.total()",
    "(tally == {1: 1})", "(tally <= collections.Counter([1, 1, 2]))", "sum(tally.elements())", "len(list(tally.elements()))", "sum(dict(tally).values())", "(<k> in tally)",
    "sum(i * v for i, v in enumerate(ordered.values()))", "next(iter(ordered))", "next(reversed(ordered))", "(ordered == {2: x[3], 1: 0.5})", "ordered[<k>]", "list(ordered.items())[0][1]",
    "len(groups)", "sum(map(len, groups.values()))", "sum(map(sum, groups.values()))", "len(groups.get(<k>, ()))", "max(groups[<k>])", "sum(len(v) * n for n, v in groups.items())",
)  # fmt: skip


class CollectionProgram:
    """The text of a random function f(x) of five numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        lines: list[str] = []
        for _ in range(self.random.randint(4, 8)):
            lines += self._statement(0)
        return HEADER + "".join(f"    {line}\n" for line in lines) + "    return t + x[0] * x[4]\n"

    def _filled(self, text: str) -> str:
        for mark, make in (("<c>", self._test), ("<v>", self._value), ("<k>", self._int)):
            while mark in text:
                text = text.replace(mark, make(), 1)
        return text

    def _value(self) -> str:
        return self.random.choice(("x[0]", "x[1]", "x[2] * 0.5", "x[3]", "x[4] + 1", "0.25", "abs(x[1])", "t"))

    def _int(self) -> str:
        return self.random.choice(("near(x[0])", "near(x[1])", "near(x[2])", "near(x[4])", "(1 if x[3] > 0 else 2)", "len(seen)", "0", "1", "2"))

    def _test(self) -> str:
        return self.random.choice(("x[0] > 0.2", "x[1] < x[2]", "x[3] > 0", "near(x[4]) == 1", "<k> in counts", "<k> in table", "<k> in seen", "len(floats) > 2", "floats and floats[-1] > 0",
                                   "queue and queue[0] > x[1]", "counts", "not table", "len(queue) < 3", "t > 1", "tally[<k>] > 1", "x[0] in floats"))  # fmt: skip

    def _statement(self, depth: int) -> list[str]:
        pick, kind = self.random.choice, self.random.random()
        change, read = self._filled(pick(CHANGES)), f"t += {self._filled(pick(READS))}"
        if depth < 2 and kind < 0.3:
            rest = ["else:", *self._inside(depth)] if self.random.random() < 0.4 else []
            return [f"if {self._filled('<c>')}:", *self._inside(depth), *rest]
        if depth < 2 and kind < 0.4:
            head = pick(("for i in range(2):", "for v in list(floats):", "for n in list(table):", "for n in sorted(seen):", "while len(counts) > 2:", "while queue:"))
            end = {"while len(counts) > 2:": ["    counts.pop()"], "while queue:": ["    t += queue.popleft()"]}.get(head, [])
            inside = self._inside(depth)
            # A loop that ends: nothing in it changes what it ends by.
            is_left_out = head.startswith("while") and any(name in line for line in inside for name in ("counts", "queue"))
            return [head, *end, *(["    t += 0.1"] if is_left_out else inside)]
        if kind < 0.65:
            return ["try:", f"    {pick((change, read))}", "except (IndexError, KeyError, ValueError):", f"    t += {self._value()}"]
        return [change] if kind < 0.85 else [read]

    def _inside(self, depth: int) -> list[str]:
        return ["    " + line for line in self._statement(depth + 1)]
