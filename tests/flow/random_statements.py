"""Random statements: blocks of lines, which bind variables, write to objects, branch, loop, raise, and define functions."""

from __future__ import annotations

from flow.random_expressions import Expressions

KINDS = ["int"] * 6 + ["list"] * 4 + ["dict"] * 2 + ["text", "set", "tuple", "object"]
ERRORS = ["ValueError", "KeyError", "Fault", "ZeroDivisionError", "IndexError", "(ValueError, KeyError)", "(Fault, TypeError)", "LookupError", "ArithmeticError"]

# One line, which changes a variable or an object.
WRITES = [
    "<=list>.append(<int>)", "<=list>.extend(<list>)", "<=list>.insert(<int>, <int>)", "<=list>.sort(key=lambda p: <!int> - p)",
    "<=list>[<int>:<int>] = <list>", "<=list>[1:] += <list>", "<=list>[::2] = [<int> for p in <=list>[::2]]", "del <=list>[<int>:]", "<=list>.clear()", "<=list>.reverse()",
    "<=dict>['<letter>'] = <int>", "<=dict>['<letter>'] = <=dict>.get('<letter>', 0) + <int>", "<=dict>.update(<dict>)", "<=dict>.setdefault('<letter>', <int>)", "<=dict>.pop('<letter>', <int>)",
    "<=dict>['<letter>'], <=list>[0:1] = <int>, [<int>]", "G1.append(<int>)", "G2['<letter>'] = <int>", "G2.pop('<letter>', None)", "del G1[3:]", "<=set>.add(<int>)", "<=set>.discard(<int>)",
    "G3.appendleft(<int>)", "G3.rotate(<int>)", "G3.extend(<list>)", "G4['<letter>'].append(<int>)", "G5['<letter>'] += <int>", "G5.update(<text>[:3])", "heapq.heappush(G6, <int>)", "G6[:2]", "bisect.insort(G6, <int>)",
    "<text>", "<list>", "<bool> and <=list>.append(<int>)", "print(<int>, end=<text>, file=PAPER)",
]  # fmt: skip
RISKY_WRITES = [
    "<=list>[-1] += <int>", "<=dict>['<letter>'] += <int>", "del <=dict>['<letter>']", "<=list>[<int> % (len(<=list>) or 1)] = <int>", "heapq.heappop(G6)", "<=list>[::2] = <list>", "del <=list>[<int>]", "<=list>.remove(<int>)",
    "<=tuple>[0] = <int>", "(<=int>).attribute = <int>", "<=tuple>[0] += <int>", "G1[<int>] = <int>",
]  # fmt: skip
OBJECT_WRITES = [
    "<=object>.x = <int>", "<=object>.x += <int>", "<=object>.total = <int>", "<=object>.total -= <int>", "<=object>[<int> % 3] = <int>", "<=object>[<int> % 3] *= 3", "del <=object>[<int> % 3]", "<=object>.extra_<letter> = <int>",
    "<=object>.field = <int>", "<=object>.go(<int>)", "<=object>.items.append(<int>)", "<class>.made += <int>", "type(<=object>).made = <int>", "del <=object>.total", "setattr(<=object>, 'x', <int>)", "<=object>.items[1:] = <list>",
    "<=object>.x, <=object>.field = <int>, <int>", "for <=object>.x in <list>: note(0, <=object>.x)", "<=object>.items += <list>", "del <=object>.extra_<letter>", "<=object>._C0__own = <int>",
]  # fmt: skip


class Statements(Expressions):
    """Writes blocks of statements."""

    def block(self, scope, size, depth):
        """The lines of about `size` statements."""
        lines = []
        for _ in range(size):
            lines += self.statement(scope, depth)
            if lines[-1].startswith(("return", "raise", "break", "continue")):
                break
        return lines or ["pass"]

    def sub_block(self, scope, depth, size=None, **changes):
        inner = scope.inner(**changes)
        lines = self.block(inner, size or self.pick(1, 2, 3), depth - 1)
        scope.leave(inner)
        return ["    " + line for line in ([self.noted(0)] if self.chance(0.4) else []) + lines]

    def statement(self, scope, depth):
        simple = [self.assign] * 4 + [self.write] * 4 + [self.augment, self.unpack, self.log, self.log, self.odd]
        if scope.in_loop:
            simple.append(self.jump)
        if scope.yields:
            simple += [self.yielding] * 3
        compound = [self.branch] * 3 + [self.loop] * 3 + [self.attempt] * 2 + [self.with_block, self.match, self.function, self.function, self.consumer, self.leave_or_raise]
        return self.random.choice(simple if depth <= 0 or self.chance(0.63) else compound)(scope, depth)

    # one line

    def assign(self, scope, depth):
        kind = self.random.choice(KINDS)
        kind = "int" if kind == "object" and not self.classes else kind
        value = self.of(kind, scope, self.pick(1, 2, 2, 3))
        name = self.bound(kind, scope)
        if name not in scope.own or self.chance(0.4):
            name = self.new()
        scope.bind(name, kind)
        if self.chance(0.15):
            other = self.new()
            scope.bind(other, kind)
            return [f"{name} = {other} = {value}"]
        return [f"{name}: int = {value}" if self.chance(0.1) and name not in scope.declared else f"{name} = {value}"]

    def write(self, scope, depth):
        writes = OBJECT_WRITES if self.chance(0.4) and self.bound("object", scope) else RISKY_WRITES if self.chance(0.04) else WRITES
        return [self.fill(self.random.choice(writes), scope, 2)]

    def augment(self, scope, depth):
        kind = self.pick("int", "int", "list", "dict", "set", "object")
        name = self.bound(kind, scope)
        if name not in scope.own:
            return self.assign(scope, depth)
        form = {
            "int": self.pick("+= <int>", "-= <int>", "*= 3", "%= <int> or 7", "//= <int> or 2", "|= <int>", "&= <int>", "^= <int>", ">>= <int> % 4", "= <int> + <=int>"),
            "list": self.pick("+= <list>", "+= <tuple>", "*= 1", "+= (<int> for k in range(2))"),
            "dict": "|= <dict>", "set": self.pick("|= <set>", "-= <set>", "&= {1, 2, <int>}"), "object": self.pick("+= <int>", "-= <object>", "*= <int>"),
        }[kind]  # fmt: skip
        return [f"{name} {self.fill(form, scope, 2)}"]

    def unpack(self, scope, depth):
        a, b, rest = self.new(), self.new(), self.new()
        form = self.pick(
            (f"{a}, {b} = <int>, <int>", "ii"), (f"[{a}, {b}] = (*<tuple>, 1, 2)[:2]", "ii"), (f"{a}, *{rest} = <int>, *<list>", "i.l"), (f"*{rest}, {a} = *<list>, <int>", "i.l"),
            (f"({a}, ({b}, *{rest})) = <int>, (<int>, *<tuple>)", "iil"), (f"{a}, {b} = {b}, {a} = <int>, <int>", "ii"), (f"{a}, {b} = <=int>, <=int>", "ii"), (f"{a}, {b} = <list>" if self.chance(0.1) else f"({a}), {b} = [<int>, <int>]", "ii"),
        )  # fmt: skip
        line = self.fill(form[0], scope, 2)
        for name, kind in zip((a, b, rest), form[1]):
            if kind in "il":
                scope.bind(name, {"i": "int", "l": "list"}[kind])
        return [line]

    def log(self, scope, depth):
        return [self.noted(self.of(self.random.choice(KINDS), scope, self.pick(1, 2, 3)))]

    def odd(self, scope, depth):
        form = self.pick("del", "assert", "pass", "import", "assert", "swap")
        if form == "del":
            names = [name for name in scope.names if name in scope.own and name[0] == "v"]
            if not names or (scope.in_loop and self.chance(0.8)):
                return ["pass"]
            name = self.random.choice(names)
            scope.maybe[name] = scope.names.pop(name)
            return [f"del {name}"]
        if form == "assert":
            return [self.fill(self.pick("assert <bool> or <int> or True, <text>", "assert <bool> or <bool> or <int> > -9, (<int>, <text>)"), scope, 2)]
        if form == "import":
            name = self.new()
            line, value = self.pick(
                (f"import math as {name}", f"{name}.floor(2.5)"), (f"from collections import deque as {name}", f"{name}([1])"), (f"import os.path as {name}", f"{name}.basename('a/b')"),
            )  # fmt: skip
            return [line, self.noted(value)]
        if form == "swap":
            a, b = self.bound("int", scope), self.bound("int", scope)
            return [f"{a}, {b} = {b}, {a}"] if a in scope.own and b in scope.own else ["..."]
        return ["pass"]

    def jump(self, scope, depth):
        return [f"if {self.of('bool', scope)}:", f"    {self.pick('break', 'continue')}"]

    def yielding(self, scope, depth):
        if self.generators and self.chance(0.25):
            name = self.random.choice(list(self.generators))
            target = self.new()
            line = self.fill(f"{target} = (yield from {name}(<int> % 3)) or 0", scope, 2)
            scope.bind(target, "int")
            return [line]
        if self.chance(0.4):
            target = self.new()
            line = self.fill(f"{target} = {self.pick('(yield <int>) or 1', 'note(0, (yield <int>)) or 2')}", scope, 2)
            scope.bind(target, "int")
            return [line]
        return [self.fill(self.pick("yield <int>", "yield <int>", "yield from <list>", "yield from (<+int> for <w> in <!list>)", "<=list>.append((yield <int>) or 0)"), scope, 2)]

    # blocks

    def branch(self, scope, depth):
        lines = [f"if {self.of(self.pick('bool', 'bool', 'int', 'list'), scope)}:", *self.sub_block(scope, depth)]
        while self.chance(0.25):
            lines += [f"elif {self.of('bool', scope)}:", *self.sub_block(scope, depth)]
        if self.chance(0.5):
            lines += ["else:", *self.sub_block(scope, depth)]
        return lines

    def loop(self, scope, depth):
        variable = self.new()
        if self.chance(0.35):
            before = [f"{variable} = {self.pick(2, 3, 4)}"]
            scope.bind(variable, "count")
            test = f"({variable} := {variable} - 1) >= 0" if self.chance(0.5) and scope.walrus else f"{variable} > 0"
            step = [f"    {variable} -= 1"] if ":=" not in test else []
            head = f"while {test}{self.fill(self.pick('', ' and <bool>', ' and (<bool> or <bool>)'), scope, 2)}:"
            lines = [*before, head, *step, "    tick()", *self.sub_block(scope, depth, in_loop=True)]
        else:
            second = self.new()
            head, kinds = self.pick(
                (f"{variable} in range(<int> % 4)", "i"), (f"{variable} in <list>[:4]", "i"), (f"{variable}, {second} in enumerate(<list>[:3], <int>)", "ii"), (f"{second}, {variable} in <dict>.items()", "i"),
                (f"{variable}, {second} in zip(<list>, <tuple>)", "ii"), (f"{variable} in sorted(<set>)[:3]", "i"), (f"{variable} in (<+int> for <w> in <!list>[:3])", "i"), (f"{variable} in <int>, <int>, *<list>[:2]", "i"),
                (f"{variable} in iter(functools.partial(next, iter(<list>[:3]), 9), 9)", "i"), (f"{second}, ({variable}, *_) in [(1, (<int>, 2)), (2, (<int>,))]", "i"), (f"{variable} in reversed(<list>[-3:])", "i"),
            )  # fmt: skip
            head = f"for {self.fill(head, scope, 2)}:"
            inner = scope.inner(in_loop=True)
            inner.own.update((variable, second))
            inner.names |= {name: "int" for name, kind in zip((variable, second), kinds) if kind == "i"}
            body = self.block(inner, self.pick(1, 2, 3), depth - 1)
            scope.leave(inner)
            lines = [head, "    tick()", *("    " + line for line in body)]
        if self.chance(0.45):
            leave = [f"    if {self.of('bool', scope, 1)}: break"] if self.chance(0.6) and not lines[-1].lstrip().startswith(("return", "raise", "break", "continue")) else []
            lines += [*leave, "else:", f"    {self.noted(0)}", *self.sub_block(scope, depth)]
        return lines

    def leave_or_raise(self, scope, depth):
        """A return or a raise, most often under a condition."""
        leaving = self.raising(scope) if self.chance(0.5) or not scope.in_function else f"return {self.of('int', scope)}"
        return [f"if {self.of('bool', scope)}:", "    " + leaving] if self.chance(0.9) else [leaving]

    def raising(self, scope):
        forms = ["raise ValueError(<int>)", "raise ValueError(<text>, <int>)", "raise KeyError('<letter>')", "raise Fault(<int>)", "raise Fault", "raise Fault(<int>) from None", "raise Fault(1) from ValueError(<int>)", "1 // 0"]
        forms += ["raise <int>", "raise type(<int>)"] if self.chance(0.1) else []
        if scope.in_handler:
            forms += ["raise", "raise", "raise Fault(<int>) from error", "raise error", "raise ValueError(error)"]
        return self.fill(self.random.choice(forms), scope, 2)

    def attempt(self, scope, depth):
        body = self.sub_block(scope, depth)
        if self.chance(0.6):
            body.append("    " + self.raising(scope) if self.chance(0.3) else f"    if {self.of('bool', scope)}: {self.raising(scope)}")
        lines = ["try:", *body]
        handlers = self.pick(0, 1, 1, 2)
        for number in range(handlers):
            caught = self.random.choice(ERRORS) if number + 1 < handlers else self.pick(*ERRORS, "Exception", "Exception", "Exception", "BaseException")
            caught = self.noted(caught) if self.chance(0.2) else caught
            named = self.chance(0.7)
            lines += [f"except {caught}{' as error' if named else ''}:"]
            lines += ["    note(0, describe(error))"] if named else []
            lines += self.sub_block(scope, depth, in_handler=named)
            if self.chance(0.25):
                lines.append(f"    {self.pick('raise', 'raise Fault(7)', self.pick('break', 'continue') if scope.in_loop else 'pass')}")
        if handlers and self.chance(0.3):
            lines += ["else:", *self.sub_block(scope, depth)]
        if not handlers or self.chance(0.4):
            lines += ["finally:", f"    {self.noted(0)}", *self.sub_block(scope, depth)]
            if self.chance(0.15) and scope.in_function:
                leaving = self.pick("return <int>", *(("break", "continue") if scope.in_loop else ()))
                lines.append("    " + self.fill(leaving, scope, 2))
        if self.chance(0.4) and not scope.in_handler:
            lines += ["try:", "    note(0, error)", "except NameError:", f"    {self.noted(0)}"]
        return lines

    def with_block(self, scope, depth):
        variable = self.new()
        inner = scope.inner()
        inner.bind(variable, "int")
        head = self.fill(self.pick(f"Guard(<int>) as {variable}", f"Guard(<int>, ValueError, Fault) as {variable}", f"Guard(<int>) as {variable}, Guard(<int>, Exception)", f"managed(<int>) as {variable}", f"(managed(<int>) as {variable}, Guard(<int>, LookupError))",
                                   f"Guard(<int>, ArithmeticError) as {variable}, contextlib.suppress(KeyError, Fault)", f"Guard(<int>) as G4['<letter>'], Guard(2) as {variable}"), scope, 2)  # fmt: skip
        body = self.block(inner, self.pick(1, 2, 3), depth - 1)
        if self.chance(0.3):
            body.append(self.raising(scope))
        scope.leave(inner)
        return [f"with {head}:", *("    " + line for line in body)]

    def match(self, scope, depth):
        kind = self.pick("int", "list", "dict", "tuple", "text", "pair", "object" if self.classes else "list")
        subject = self.fill("Pair(<int>, <int>)", scope, 2) if kind == "pair" else self.of(kind, scope, 2)
        lines = [f"match {subject}:"]
        for _ in range(self.pick(2, 3, 4)):
            a, b, rest = self.new(), self.new(), self.new()
            pattern, kinds = self.random.choice({
                "int": [("0 | 1 | 2", ""), ("-1", ""), (f"int({a})", "i"), (f"bool() as {a}", "i"), (f"(3 | 4) as {a}", "i"), ("None | True", ""), ("Colour.RED", "")],
                "list": [("[]", ""), (f"[{a}]", "i"), (f"[{a}, {b}]", "ii"), (f"[{a}, *{rest}]", "i.l"), (f"[1 | 2 as {a}, *_]", "i"), (f"[*{rest}, {a}]", "i.l"), (f"[_, {a}, *_] | [{a}]", "i"), ("(3, *_)", "")],
                "tuple": [(f"({a}, {b})", "ii"), (f"[{a}, {b}, *{rest}]", "iil"), ("Point(x=0)", ""), (f"Point({a}, {b})", "ii"), (f"(0, {a}) | ({a}, 0)", "i"), ("()", ""), (f"tuple() as {rest}", "..t")],
                "dict": [("{}", ""), (f'{{"a": {a}}}', "i"), (f'{{"a": {a}, **{rest}}}', "i.d"), (f'{{"b": 2, "c": {a}}}', "i"), (f'{{"a": 1 | 2 | 3, "b": {b}}}', ".i"), (f"dict({rest})", "..d"), ("{'z': _}", "")],
                "text": [('"" | "a"', ""), (f"str({a})", "s"), ('"bcd"', ""), (f"{a}", "s"), ("[]", "")],
                "pair": [(f"Pair({a})", "i"), (f"Pair({a}, 0)", "i"), (f"Pair(left={a}, right={b})", "ii"), (f"Pair(0 | 1, {a})", "i"), (f"Pair(Pair({a}), _)", "i"), (f"Pair({a}, {b}, {rest})" if self.chance(0.1) else f"Pair(right=int({a}))", "i")],
                "object": [(f"{self.pick(*self.classes, 'object')}()", ""), (f"{(self.classes or [0])[0]}(x={a})", "i"), (f"{(self.classes or [0])[-1]}(x=0 | 1, total={a})", "i"), ("Guard() | Pair()", ""), ("object(lost=1)", "")],
            }[kind])  # fmt: skip
            inner = scope.inner()
            for name, letter in zip((a, b, rest), kinds):
                if letter != ".":
                    inner.bind(name, {"i": "int", "l": "list", "d": "dict", "s": "text", "t": "tuple"}[letter])
            guard = f" if {self.of('bool', inner)}" if self.chance(0.3) or pattern == a else ""
            body = self.block(inner, self.pick(1, 2), depth - 1)
            scope.leave(inner)
            lines += [f"    case {pattern}{guard}:", *("        " + line for line in body)]
        if self.chance(0.5):
            lines += ["    case _:", *("    " + line for line in self.sub_block(scope, depth))]
        return lines

    def consumer(self, scope, depth):
        """Reads a generator: by hand, in part, to its end, or later than it was made."""
        if not self.generators:
            return self.loop(scope, depth)
        source, value = self.new(), self.new()
        make = self.fill(f"{source} = <generator>(<int> % 4)", scope, 2)
        form = self.random.randrange(4)
        if form == 0:
            scope.bind(value, "int")
            jump = [f"        if {self.of('bool', scope)}: break"] if self.chance(0.6) else []
            loop = [f"    for {value} in {source}:", "        tick()", *("    " + line for line in self.sub_block(scope, depth, in_loop=True)), *jump]
            return [make, "try:", *loop, "finally:", f"    {source}.close()"]
        if form == 1:
            steps = [self.fill(self.pick(f"next({source})", f"{source}.send(<int>)", f"next({source}, <int>)", f"{source}.throw(Fault(<int>))", f"{source}.throw(ValueError)", f"{source}.close()"), scope, 2) for _ in range(self.pick(2, 3, 4))]
            steps = [f"note(0, next({source}))", *(f"note(0, {step})" for step in steps)]
            return [make, "try:", *("    " + step for step in steps), "except StopIteration as error:", "    note(0, error.value)", "except Fault as error:", "    note(0, describe(error))", "finally:", f"    {source}.close()"]
        if form == 2:
            name = self.bound("int", scope)
            later = [f"{name} = {self.of('int', scope)}"] if name in scope.own else []
            make = self.fill(f"{source} = (note(0, <+int>) for <w> in <!list>{f' if {name} > <w>' if name else ''})", scope, 2)
            return [make, *later, f"note(0, next({source}, None))", *self.write(scope, depth), f"note(0, list({source}))"]
        return [make, "try:", f"    note(0, [*zip({source}, range(2))])", f"    note(0, list({source}))", "finally:", f"    {source}.close()"]

    def function(self, scope, depth):
        """A closure, which may write to variables around it."""
        name, parameter = self.new(), self.bound("int", scope) if self.chance(0.2) else None
        parameter = parameter if parameter and parameter[0] == "v" else self.new()
        if self.chance(0.2):
            line = self.fill(f"{name} = lambda {parameter}, z=<!int>: <!int> + {parameter}", scope, 2)
            scope.bind(name, "function")
            return [line]
        inner = scope.inner(in_loop=False, in_function=True, in_handler=False, yields=False, own={parameter})
        names = {outer: kind for outer, kind in scope.names.items() if outer in scope.own and outer != parameter and outer not in scope.declared and kind != "count"}
        # A closure has no counters of loops around it, and calls no other closure, which might call it.
        inner.names = {outer: kind for outer, kind in inner.names.items() if kind not in ("count", "function")} | {parameter: "int"}
        declared = self.random.sample(sorted(names), min(len(names), self.pick(0, 1, 2)))
        declared = [outer for outer in declared if names[outer] != "function"]
        inner.own.update(declared)
        inner.declared = tuple(declared)
        decorators = [self.fill(self.random.choice(["@twice", "@scaled(<int>)", "@functools.wraps(climb)", "@functools.lru_cache(maxsize=None)", "@kept"]), scope, 2) for _ in range(self.pick(0, 0, 0, 1, 2))]
        body = [*([f"nonlocal {', '.join(declared)}"] if declared else []), "tick()", *self.block(inner, self.pick(1, 2, 3), depth - 1)]
        body.append(f"return {self.of('int', inner)}")
        head = self.fill(f"def {name}({parameter}, *, k=<!int>):", scope, 2)
        scope.bind(name, "function")
        lines = [*decorators, head, *("    " + line for line in body)]
        if self.chance(0.7):
            lines += [self.noted(self.fill(f"{name}(<int>)", scope, 2)), *(f"note(0, {outer})" for outer in declared)]
        return lines
