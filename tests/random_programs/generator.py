"""Generates random programs, makes functions of their sources, and points to evaluate them at."""

from __future__ import annotations

import linecache

import numpy as np

from .grammar import CONSTANTS, INTEGER, NUMBER, SPECIAL, TRUTH, Block, Kind, text_of


class Program:
    """A random program over an array of n floats.

    Args:
        seed: settles everything.
        exact: use only operations that NumPy and a kernel round alike, so that even a decision by one ulp must agree.
        most: about how many statements.
    """

    def __init__(self, seed, exact=None, most=12):
        self.rng = np.random.default_rng(seed)
        self.seed, self.n = seed, int(self.rng.integers(2, 6))
        self.exact = bool(self.rng.random() < 0.5) if exact is None else exact
        self.left, self.names, self.depth = most, 0, 0
        # Sub-tapes of the outermost block, which may be called again from anywhere: what makes a call, and the results' kinds.
        self.known = []
        scope = {"x": Kind("a", self.n, self.chance(0.2))}
        start = [f"a0 = x * {self.constant()}" if self.chance(0.3) else "a0 = x.copy()", "s0 = x[0] + 0.25"]
        scope |= {"a0": Kind("a", self.n, True), "s0": NUMBER}
        self.body = [*start, *self.block(scope, self.left)]
        self.body.append(self.ending(scope))

    def ending(self, scope):
        terms = []
        for k, (name, kind) in enumerate(scope.items()):
            if kind.letter == "a":
                weights = ", ".join(str(0.5 + 0.25 * ((j + k) % 5)) for j in range(kind.size))
                terms.append(f"np.sum({name} * np.array([{weights}]))")
            elif kind.letter == "s":
                terms.append(f"{1 + 0.125 * k} * {name}")
            else:
                terms.append(f"{0.5 * k} * {name} * x[{k % self.n}]")
        return "return " + " + ".join(terms)

    def source(self, body=None):
        return "\n".join(["def f(x):", *text_of(self.body if body is None else body)]) + "\n"

    # Chances

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def constant(self):
        return self.pick(CONSTANTS)

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def of(self, scope, letter, size=None):
        return [n for n, k in scope.items() if k.letter == letter and (size is None or k.size == size)]

    # Expressions

    def number(self, scope, depth=2):
        arrays, numbers, integers = (self.of(scope, k) for k in "asi")
        a, c = self.pick(arrays), self.constant()
        size = scope[a].size
        leaves = [f"{a}[{self.rng.integers(-size, size)}]", c]
        leaves += [self.pick(numbers)] * 3 if numbers else []
        leaves += [f"{a}[{self.pick(integers)} % {size}]"] if integers else []
        if depth <= 0:
            return self.pick(leaves)
        p, q = self.number(scope, depth - 1), self.number(scope, depth - 1)
        b = self.pick(self.of(scope, "a", size))
        options = [
            *leaves, f"({p} + {q})", f"({p} - {q})", f"{p} * {q}", f"0.5 * ({p})", f"({p}) / (1.5 + ({q}) * ({q}))", f"abs({p})", f"-({p})",
            f"np.maximum({p}, {q})", f"np.minimum({p}, {c})", f"np.sqrt(({p}) * ({p}) + 0.5)", f"({p} if {self.test(scope, depth - 1)} else {q})",
            f"max({p}, {q})", f"min({p}, {c})", f"({p} or {q})", f"np.where({self.decision(scope, depth - 1)}, {p}, {q})[()]", f"{a}.max()",
            f"np.min({a})", f"{a}[np.argmax({a})]", f"np.clip({p}, -1.0, 1.5)", f"lib.stop_gradient({p})", f"({p})**2",
        ]  # fmt: skip
        if integers:
            options += [f"{p} * {self.pick(integers)}"] * 2
        if self.of(scope, "b"):
            options.append(f"{p} * {self.pick(self.of(scope, 'b'))}")
        if self.chance(0.15):
            q = f"np.clip({q}, -1e9, 1e9)"
            options = [f"{p} * round({q})", f"{p} * int(2 * {q})", f"{a}[int(abs({q})) % {size}]"]
        if not self.exact:
            options += [
                f"np.sin({p})", f"np.tanh({p})", f"np.exp(np.minimum({p}, 1.5))", f"np.log1p(({p})**2)", f"np.arctan({p})", f"{a}.sum()",
                f"np.dot({a}, {b})", f"{a} @ {b}", f"np.mean({a})", f"np.sum({a} * {b})", f"sum(v for v in {a} if v > {c})",
                f"np.sum({a}[({b} > {c})[::-1]])", f"np.sum({a}[1:][({b} > {c})[1:]])", f"np.sum({a}[({a} > {p})])",
            ] * 2  # fmt: skip
        return self.pick(options)

    def decision(self, scope, depth=1):
        """A comparison that stays an array of one bool."""
        p, q, a = self.number(scope, depth), self.number(scope, 0), self.pick(self.of(scope, "a"))
        sign = self.pick((">", ">=", "<", "<=", "==", "!="))
        return self.pick((
            f"({p} > {self.constant()})", f"({p} {sign} {q})", f"({p} {sign} {self.constant()})", f"({a} > {self.constant()}).any()",
            f"np.logical_and({p} > {q}, {q} <= {self.constant()})", f"({a} > {self.constant()})[-1]", f"np.all({a} < {self.constant()})", f"(np.argmax({a}) == 0)",
        ))  # fmt: skip

    def test(self, scope, depth=1):
        """What stands after `if`."""
        p, a, c = self.number(scope, depth), self.pick(self.of(scope, "a")), self.constant()
        options = [
            self.decision(scope, depth), self.decision(scope, depth), f"{p} > {c} and {self.decision(scope, 0)}", f"not {p} < {c}",
            f"({p} <= {c} or {self.decision(scope, 0)})", f"{c} < {p} <= {self.constant()}", f"{p}", f"np.any({a} == {c})", f"({p}) == ({p})",
        ]  # fmt: skip
        options += [f"{self.pick(self.of(scope, 'b'))}"] * 2 if self.of(scope, "b") else []
        options += [f"{self.pick(self.of(scope, 'i'))} > 1"] * 2 if self.of(scope, "i") else []
        return self.pick(options)

    def integer(self, scope):
        a, integers = self.pick(self.of(scope, "a")), self.of(scope, "i")
        options = [f"np.argmax({a})", f"np.sum({a} > {self.constant()})", f"np.argmin({a})", f"np.sum({a} <= {self.number(scope, 1)})"]
        options += [f"np.clip(np.floor(2 * {a}), 0.0, 5.0).astype(int)[0]"]
        options += [f"({self.pick(integers)} + 1) % 4", f"{self.pick(integers)} * 2 % 5"] if integers else []
        return self.pick(options)

    def vector(self, scope, size):
        """A new array: never one that exists, nor a view."""
        same = self.of(scope, "a", size)
        a, b, p, c = self.pick(same), self.pick(same), self.number(scope, 1), self.constant()
        k = int(self.rng.integers(0, size + 1))
        options = [
            f"{a} + {b}", f"{a} * {b}", f"0.5 * {a} - {b}", f"{a} * ({p})", f"{a} + ({p})", f"np.where({a} > {c}, {a}, {b} * 0.5)",
            f"np.where({self.decision(scope)}, {a}, {b})", f"np.sort({a})", f"{a}[::-1] * 1.0", f"np.roll({a}, {k})", f"np.maximum({a}, {p})",
            f"np.concatenate([{a}[:{k}], {b}[{k}:]])", f"{a}.copy()", f"np.clip({a}, -1.0, 1.0)", f"abs({a})", f"{a} * ({b} > {c})",
            f"np.stack([{', '.join(self.number(scope, 1) if j and self.chance(0.5) else f'{a}[{j}]' for j in range(size))}])",
            f"np.stack([v * v if v > {c} else -v for v in {a}])", f"{a} / (1.5 + {b} * {b})", f"{a} * C[:{size}]", f"{a} - C[-{size}:]",
        ]  # fmt: skip
        if not self.exact:
            options += [f"np.sin({a})", f"np.tanh({a} + {b})", f"np.cumsum({a})", f"np.exp(np.minimum({a}, 1.0))"]
        return self.pick(options)

    def expression(self, kind, scope):
        if kind.letter == "a":
            return self.vector(scope, kind.size)
        if kind.letter == "i":
            return self.integer(scope)
        return self.decision(scope) if kind.letter == "b" else self.number(scope, 2)

    # Statements

    def block(self, scope, most, assignable=None):
        """Up to `most` statements. `scope` gains the variables that they make; `assignable` are those that may get a new value."""
        assignable = set(scope) - {"x"} if assignable is None else assignable
        items = []
        for _ in range(int(self.rng.integers(1, most + 1)) if self.depth else most):
            if self.left <= 0:
                break
            self.left -= 1
            items += self.statement(scope, assignable)
        return items

    def statement(self, scope, assignable):
        plain = [self.assignment] * 3 + [self.write] * 3 + [self.alias]
        nested = [self.branch] * 2 + [self.python_loop, self.call, self.call, self.call_again, self.cond, self.cond, self.switch, self.scan, self.scan,
                                      self.fori, self.while_, self.recursion]  # fmt: skip
        return self.pick(plain if self.depth >= 3 or self.chance(0.35) else nested)(scope, assignable)

    def new(self, kind, scope, assignable):
        old = [n for n in assignable if n in scope and scope[n].letter == kind.letter and scope[n].size == kind.size]
        if old and self.chance(0.5):
            return self.pick(sorted(old))
        name = self.name(kind.letter)
        scope[name] = Kind(kind.letter, kind.size, True)
        assignable.add(name)
        return name

    def assignment(self, scope, assignable):
        sizes = sorted({k.size for k in scope.values() if k.letter == "a"})
        kind = self.pick((NUMBER, NUMBER, Kind("a", self.pick(sizes), True), Kind("a", self.pick(sizes), True), INTEGER, TRUTH))
        value = self.expression(kind, scope)
        if kind is NUMBER and self.chance(0.3):
            old = [n for n in assignable if scope.get(n) == NUMBER]
            if old:
                return [f"{self.pick(sorted(old))} {self.pick(('+', '-', '*'))}= {value}"]
        return [f"{self.new(kind, scope, assignable)} = {value}"]

    def alias(self, scope, assignable):
        a = self.pick(self.of(scope, "a"))
        size = scope[a].size
        index, length = self.pick((("[::-1]", size), ("[1:]", size - 1), ("[::2]", (size + 1) // 2), ("", size), ("[:-1]", size - 1)))
        if not length:
            return []
        name = self.name("a")
        scope[name] = Kind("a", length, scope[a].is_own)
        return [f"{name} = {a}{index}"]

    def write(self, scope, assignable):
        own = [n for n in self.of(scope, "a") if scope[n].is_own]
        if not own:
            return self.assignment(scope, assignable)
        a = self.pick(own)
        size = scope[a].size
        j, k = (int(v) for v in self.rng.integers(-size, size, 2))
        p, c, integers = self.number(scope, 1), self.constant(), self.of(scope, "i")
        b = self.pick(self.of(scope, "a", size))
        options = [
            f"{a}[{k}] = {p}", f"{a}[{k}] = {p}", f"{a}[{k}] += {p}", f"{a}[1:] *= {p}", f"{a}[::-1] = {b}", f"{a}[{a} > {c}] = {p}", f"{a} += {b}",
            f"{a} *= 0.5", f"np.add.at({a}, [{j}, {k}, {k}], {b}[[0, -1, 0]])", f"{a}.sort()", f"np.multiply({a}, {b}, out={a})",
            f"np.copyto({a}, {b})", f"{a}.fill({p})", f"np.maximum({a}, {p}, out={a})", f"{a}[:] = {b}[::-1]", f"{a}[{a} > {c}] *= 0.5",
            f"{a}[{k}], {a}[{j}] = {a}[{j}], {a}[{k}]", f"{a}[1:] += {b}[:-1]", f"{a}[...] = {p}", f"{a}[[0, -1]] = {b}[[-1, 0]]", f"{a} -= {p}",
        ]  # fmt: skip
        if integers:
            i = self.pick(integers)
            options += [f"{a}[{i} % {size}] = {p}", f"{a}[{i} % {size}] += {p}", f"{a}[{i} % {size}] *= {p}"]
        return [self.pick(options)]

    def nested(self, scope, assignable, most=3):
        """A block in the same function."""
        self.depth += 1
        items = self.block(dict(scope), most, set(assignable))
        self.depth -= 1
        return items

    def branch(self, scope, assignable):
        parts = [(f"if {self.test(scope)}:", self.nested(scope, assignable))]
        if self.chance(0.3):
            parts.append((f"elif {self.test(scope)}:", self.nested(scope, assignable)))
        if self.chance(0.6):
            parts.append(("else:", self.nested(scope, assignable)))
        return [Block(tuple(parts))]

    def python_loop(self, scope, assignable):
        i, a = self.name("i"), self.pick(self.of(scope, "a"))
        if self.chance(0.3):
            v = self.name("s")
            return [Block(((f"for {v} in {a} * 1.0:", self.nested(scope | {v: NUMBER}, assignable)),))]
        numbers = sorted(n for n in assignable if scope.get(n) == NUMBER)
        if self.chance(0.3) and numbers:
            s = self.pick(numbers)
            body = [*self.nested(scope, set()), f"{s} = {s} * 0.5 - 0.25", f"{i} += 1"]
            return [f"{i} = 0", Block(((f"while abs({s}) > {self.pick(('1.0', '0.5'))} and {i} < 5:", body),))]
        count = self.pick((str(self.rng.integers(1, 4)), f"len({a})", *self.of(scope, "i")[-1:]))
        return [Block(((f"for {i} in range({count}):", self.nested(scope | {i: INTEGER}, assignable)),))]

    # Functions

    def kinds(self, least, most):
        sizes = (self.n, self.n, max(1, self.n - 1))
        arrays = [Kind("a", self.pick(sizes)) for _ in range(2)]
        return [self.pick((NUMBER, NUMBER, *arrays, INTEGER, TRUTH)) for _ in range(self.rng.integers(least, most + 1))]

    def function(self, header, parameters, outer, results, most=3, returned=None, fixed=()):
        """A definition. `parameters` are (name, kind), what it finds outside is there to read."""
        scope = {name: Kind(k.letter, k.size, False) for name, k in outer.items()} | dict(parameters)
        self.depth += 1
        first, *lines = header.split("\n")
        body = [*lines, *self.block(scope, most, {name for name, _ in parameters} - {*fixed})]
        if self.chance(0.25) and returned is None:
            body.append(Block(((f"if {self.test(scope)}:", [f"return {self.results(results, scope)}"]),)))
        if self.chance(0.15) and returned is None:
            i = self.name("i")
            inside = {**scope, i: INTEGER}
            leave = Block(((f"if {self.test(inside)}:", [f"return {self.results(results, inside)}"]),))
            body.append(Block(((f"for {i} in range({self.pick((2, 3))}):", [*self.nested(inside, set(), 2), leave]),)))
        body.append(f"return {(returned or self.results)(results, scope)}")
        self.depth -= 1
        return Block(((first, body),))

    def results(self, kinds, scope):
        made = [self.bounded(kind, scope) for kind in kinds]
        return made[0] if len(made) == 1 else "(" + ", ".join(made) + ")"

    def bounded(self, kind, scope):
        """A result that loops do not make too large, and of one dtype on every path."""
        value = self.expression(kind, scope)
        if kind.letter in "as":
            return self.pick((f"np.clip({value}, -4.0, 4.0)", f"0.5 * ({value})", f"1.0 * ({value})"))
        return f"({value}) % 5" if kind.letter == "i" else f"np.logical_not(np.logical_not({value}))"

    def argument(self, kind, scope):
        names = self.of(scope, kind.letter, kind.size if kind.letter == "a" else None)
        if kind.letter == "a":
            return self.pick(names) if names else f"x[:{kind.size}]"
        return self.pick(names) if names and self.chance(0.6) else f"({self.expression(kind, scope)})"

    def sizes_there(self, kinds, scope):
        """Results and parameters of sizes that the scope has arrays of."""
        have = {k.size for k in scope.values() if k.letter == "a"}
        return [k if k.letter != "a" or k.size in have else Kind("a", self.n) for k in kinds]

    def targets(self, kinds, scope, assignable):
        return ", ".join(dict.fromkeys(self.fresh(kind, scope, assignable) for kind in kinds))

    def fresh(self, kind, scope, assignable):
        name = self.name(kind.letter)
        scope[name] = Kind(kind.letter, kind.size, True)
        assignable.add(name)
        return name

    def call(self, scope, assignable):
        kinds = self.sizes_there(self.kinds(1, 3), scope)
        results = self.sizes_there(self.kinds(1, 2), scope)
        parameters = [(self.name(k.letter), k) for k in kinds]
        names, f = ", ".join(n for n, _ in parameters), self.name("f")
        decorator, last, extra = "@lib.subtape", "", ""
        if self.chance(0.2):
            v, kind = self.pick(parameters)
            own = f"bool(np.any({v} > {self.constant()}))" if kind.letter in "as" else f"({v}, None)"
            decorator = f"@lib.subtape(guard=lambda {names}: {self.pick((own, self.decision({**scope, **dict(parameters)})))})"
        elif self.chance(0.2):
            decorator, last, extra = '@lib.subtape(static=lib.static(argnames="order"))', ", order", f", order={self.argument(INTEGER, scope)} % 3"
        elif self.chance(0.25):
            decorator = self.pick(("@lib.subtape(compiled=False)", "@lib.subtape(max_tapes=1)", "@lib.checkpoint"))
        trees = ((names, ""), (names, ""), ("p", f"\n({names},) = p"), ("p", ""))
        tree, unpacking = self.pick(trees[:1] if "guard" in decorator else trees)
        if tree == "p" and not unpacking:
            unpacking = "\n" + "; ".join(f"{n} = p['{n}']" for n, _ in parameters)
        inside = {**scope, "order": INTEGER} if last else scope
        definition = self.function(f"def {f}({tree}{last}):{unpacking}", parameters, inside, results)
        definition = Block(((f"{decorator}\n{definition.parts[0][0]}", definition.parts[0][1]),))

        def invoked(scope):
            given = [self.argument(k, scope) for k in kinds]
            if tree != "p":
                return f"{f}({', '.join(given)}{extra})"
            if "p['" in unpacking:
                return f"{f}({{{', '.join(f'{n!r}: {g}' for (n, _), g in zip(parameters, given))}}}{extra})"
            return f"{f}(({', '.join(given)},){extra})"

        if not self.depth:
            self.known.append((invoked, results))
        first = invoked(scope)
        made = [f"{self.targets(results, scope, assignable)} = {first}"]
        if results[0] is NUMBER and self.chance(0.6):
            i, taken = self.name("i"), "" if len(results) == 1 else "[0]"
            term = f"{invoked({**scope, i: INTEGER})}{taken}"
            total = self.fresh(NUMBER, scope, assignable)
            made += [f"{total} = 0.0", Block(((f"for {i} in range(3):", [f"{total} = {total} + {term}"]),))]
        return [definition, *made]

    def call_again(self, scope, assignable):
        if not self.known:
            return self.call(scope, assignable)
        invoked, results = self.pick(self.known)
        call = invoked(scope)
        return [f"{self.targets(results, scope, assignable)} = {call}"]

    def recursion(self, scope, assignable):
        f, s, i = self.name("f"), self.name("s"), self.name("i")
        inside = {**scope, s: NUMBER, i: INTEGER}
        down = f"{f}({s} * 0.5 + {self.constant()}, {i} - 1)"
        body = [
            Block(((f"if {i} <= 0 or {self.test(inside)}:", [f"return 1.0 * ({self.number(inside)})"]),)),
            self.pick((f"return 0.5 * {down} + {s}", f"return {s} * {down}", f"return {down} if {s} > 0.5 else -{down}")),
        ]
        call = f"{f}({self.argument(NUMBER, scope)}, np.sum(x > -1.0))"
        return [Block(((f"@lib.subtape\ndef {f}({s}, {i}):", body),)), f"{self.fresh(NUMBER, scope, assignable)} = {call}"]

    def cond(self, scope, assignable):
        kinds, results = self.sizes_there(self.kinds(0, 2), scope), self.sizes_there(self.kinds(1, 2), scope)
        return self.chosen(kinds, results, scope, assignable, 2, lambda names: f"lib.cond({self.decision(scope)}, {', '.join(names)}")

    def switch(self, scope, assignable):
        kinds, results = self.sizes_there(self.kinds(0, 2), scope), self.sizes_there(self.kinds(1, 2), scope)
        return self.chosen(kinds, results, scope, assignable, 3, lambda names: f"lib.switch(({self.integer(scope)}) % 3, [{', '.join(names)}]")

    def chosen(self, kinds, results, scope, assignable, count, opening):
        made, names = [], []
        for _ in range(count):
            parameters, f = [(self.name(k.letter), k) for k in kinds], self.name("f")
            names.append(f)
            made.append(self.function(f"def {f}({', '.join(n for n, _ in parameters)}):", parameters, scope, results, 2))
        given = "".join(f", {self.argument(k, scope)}" for k in kinds)
        call = f"{opening(names)}{given})"
        return [*made, f"{self.targets(results, scope, assignable)} = {call}"]

    def carried(self, scope):
        """Kinds of a carry, its expression at the start, and how a body takes it apart."""
        kinds = self.sizes_there(self.kinds(1, 3), scope)
        parameters = [(self.name(k.letter), Kind(k.letter, k.size, True)) for k in kinds]
        start = [self.argument(k, scope) for k in kinds]
        if len(kinds) == 1 and self.chance(0.6):
            return kinds, parameters, start[0], f"{parameters[0][0]} = c", lambda parts: parts[0]
        if self.chance(0.5):
            keys = [f"k{j}" for j in range(len(kinds))]
            packed = lambda parts: "{" + ", ".join(f"'{k}': {p}" for k, p in zip(keys, parts)) + "}"
            return kinds, parameters, packed(start), "; ".join(f"{n} = c['{k}']" for (n, _), k in zip(parameters, keys)), packed
        packed = lambda parts: "(" + ", ".join(parts) + ",)"
        return kinds, parameters, packed(start), f"({', '.join(n for n, _ in parameters)},) = c", packed

    def finished(self, call, kinds, packed, scope, assignable):
        names = [self.name(k.letter) for k in kinds]
        end = self.name("c")
        made = [f"{end} = {call}"]
        opened = packed(names)
        if opened.startswith("{"):
            made += [f"{name} = {end}['k{j}']" for j, name in enumerate(names)]
        else:
            made.append(f"{opened} = {end}")
        for name, kind in zip(names, kinds):
            scope[name] = Kind(kind.letter, kind.size, True)
            assignable.add(name)
        return made

    def scan(self, scope, assignable):
        kinds, parameters, start, taken, packed = self.carried(scope)
        length = int(self.pick((0, 1, 2, 3, 3, 5, 7, 9)))
        f, made, t = self.name("f"), [], self.name("t")
        form = self.pick(("none", "x", "x", "pair", "rows"))
        xs, streams = "None", []
        if form == "x":
            length, xs, streams = self.n, self.pick(("x", "C", "x[::-1]", *self.of(scope, "a", self.n))), [(t, NUMBER)]
        elif form == "pair":
            s, i = self.name("s"), self.name("i")
            length, xs, streams = self.n, f"(x, np.arange({self.n}))", [(s, NUMBER), (i, INTEGER)]
            taken += f"\n{s}, {i} = {t}"
        elif form == "rows":
            xs, streams = f"np.stack([{', '.join(['x', 'C', 'x * 0.5', self.vector(scope, self.n)][: max(1, length)])}])", [(t, Kind("a", self.n))]
            length = min(4, max(1, length))
        header = f"def {f}(c, {t}):\n{taken}"
        wants_y = length > 0 and self.chance(0.7)
        y_kind = self.pick((NUMBER, Kind("a", self.n)))

        def returned(kinds, scope):
            y = self.bounded(y_kind, scope) if wants_y else "None"
            return packed([self.bounded(k, scope) for k in kinds]) + ", " + y

        made.append(self.function(header, [*parameters, *streams], scope, kinds, 3, returned))
        options = (f", length={length}" if form == "none" else "") + (", reverse=True" if self.chance(0.3) else "")
        options += ', checkpoint="sqrt"' if self.chance(0.3) else ""
        end, ys = self.name("c"), self.name("y")
        made += [f"{end}, {ys} = lib.scan({f}, {start}, {xs}{options})", *self.finished(end, kinds, packed, scope, assignable)]
        if wants_y:
            target = self.fresh(y_kind if y_kind.letter == "a" else NUMBER, scope, assignable)
            if y_kind.letter == "a":
                made.append(f"{target} = {ys}[0] * 1.0 + {ys}[-1]")
            else:
                made.append(f"{target} = {ys}[0] + 0.5 * {ys}[{length // 2}]" + ("" if self.exact else f" + np.sum({ys}**2)"))
        return made

    def fori(self, scope, assignable):
        kinds, parameters, start, taken, packed = self.carried(scope)
        f, i = self.name("f"), self.name("i")
        returned = lambda kinds, scope: packed([self.bounded(k, scope) for k in kinds])
        body = self.function(f"def {f}({i}, c):\n{taken}", [*parameters, (i, INTEGER)], scope, kinds, 3, returned)
        first, last = (f"({self.integer(scope)}) % 6" for _ in range(2))
        low, high = self.pick((("0", "3"), ("1", "4"), ("2", "2"), ("0", last), (first, "4"), (first, last)))
        return [body, *self.finished(f"lib.fori_loop({low}, {high}, {f}, {start})", kinds, packed, scope, assignable)]

    def while_(self, scope, assignable):
        kinds, parameters, start, taken, packed = self.carried(scope)
        i, f, g = self.name("i"), self.name("f"), self.name("f")
        most = int(self.pick((3, 6, 6, 50)))
        returned = lambda kinds, scope: "(" + packed([self.bounded(k, scope) for k in kinds]) + f", {i} + 1)"
        header = f"c, {i} = c\n{taken}"
        body = self.function(f"def {f}(c):\n{header}", [*parameters, (i, INTEGER)], scope, kinds, 3, returned, (i,))
        condition = self.test({**scope, **dict(parameters)})
        test = Block(((f"def {g}(c):", [*header.split("\n"), f"return {i} < {most} and {condition}"]),))
        return [test, body, *self.finished(f"lib.while_loop({g}, {f}, ({start}, 0))[0]", kinds, packed, scope, assignable)]


def function_of(source, lib, n, name="program"):
    """The function of a program's source, whose lines tracebacks can show."""
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    data = np.array([0.5, -1.0, 0.0, 1.5, 0.25])[:n]
    namespace = {"np": np, "lib": lib, "C": data}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"]


def points_of(rng, n, count):
    """Points on thresholds and beside them: dyadic numbers, whose sums and products tie exactly; ulps, zeros, NaN, infinite and large."""
    made = []
    for k in range(count):
        if k % 3 == 0:
            x = rng.integers(-8, 9, n) / 4
        elif k % 3 == 1:
            x = rng.uniform(-2, 2, n)
        else:
            x = np.where(rng.random(n) < 0.5, rng.choice(SPECIAL, n), rng.integers(-8, 9, n) / 4)
            x = np.where(rng.random(n) < 0.3, np.nextafter(x, rng.choice([-np.inf, np.inf], n)), x)
            if k % 4 == 0:
                x[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf, 1e6, -1e300, 5e-324])
        made.append(x + 0.0 if k % 5 else x)
    return made
