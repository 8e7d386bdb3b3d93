"""Random expressions by the kind of their value: int, bool, text, list of ints, dict from text to int, set of ints, tuple, object.

An expression is a form with holes. `<int>` is any expression of that kind; `<!int>` one without `:=`, which an iterable of a comprehension may not
have; `<+int>` one that may use the loop variable `<w>`; `<=list>` a variable; `<letter>`, `<class>` and so on are words.
"""

from __future__ import annotations

import dataclasses
import random
import re

LETTERS = "abcd"
HOLE = re.compile(r"<([!+=]?)(\w+)>")

LEAVES = {
    "int": ["0", "1", "2", "3", "5", "7", "G0", "(-1)", "(-4)"],
    "bool": ["True", "False", "(G0 > 2)"],
    "text": ['""', '"a"', '"bcd"', '"x y"'],
    "list": ["[]", "[3]", "[1, 2]", "[4, 0, 6]", "list(range(3))", "G1"],
    "dict": ["{}", '{"a": 1}', '{"b": 2, "c": 3}', "G2"],
    "set": ["set()", "{1, 2}", "{0, 5, 7}"],
    "tuple": ["()", "(1,)", "(2, 3)"],
    "object": ["<class>(1)", "<class>(0)", "<class>(4, [2])"],
}

# A row is chosen first, then one of its forms.
FORMS = {
    "int": [
        ["(<int> + <int>)", "(<int> - <int>)", "(<int> * <int> % 997)", "(<int> // (<int> or 1))", "(<int> % (<int> or 7))", "(<int> & <int>)", "(<int> | <int>)",
         "(<int> ^ <int>)", "((<int> << <int> % 5) % 1013)", "(<int> >> <int> % 5)", "(<int> ** (<int> % 4) % 991)", "(-<int>)", "(~int(<int>))", "(+<int>)",
         "divmod(<int>, <int> or 3)[<int> % 2]", "int(<int> / (<int> or 4))"],
        ["(<int> if <bool> else <int>)", "(<int> and <int>)", "(<int> or <int> or <int>)", "(<walrus> := <int>)", "<bool>"],
        ["<dict>.get('<letter>', <int>)", "len(<dict>)", "len(<text>)", "(<int>, <int>, 4)[<int> % 3]", "sum(<set>)", "sum(<dict>.values(), <int>)", "{'a': <int>, 'b': <int>}['a']",
         "max(<tuple>, default=<int>)", "[*<list>, <int>][-1]", "Point(<int>, y=<int>).y", "Point(<int>, <int>)[<int> % 2]", "Pair(<int>, <int>).size()",
         "Colour(<int> % 3).weight", "[<int>, <int>, <int>][<int> % 3]"],
        ["(<=list> or [4])[0]", "(<=list> or [1, 2])[-1]", "(<list> + [6])[<int> % 1]", "len(<list>)", "sum(<list>)", "max(<list>, default=<int>)", "min(*<list>, <int>, 3)", "<list>.count(<int>)",
         "next(iter(<list>), <int>)", "sum(<+int> for <w> in <!list> if <+bool>)", "functools.reduce(lambda p, q: (p * 3 + q) % 101, <list>, <int>)", "next((<+int> for <w> in <!list> if <+bool>), <int>)",
         "max(<list>, key=lambda <w>: <+int>, default=0)", "sum(map(lambda <w>: <+int>, <list>))"],
        ["(lambda <w>, z=<int>: <+int> + z)(<int>)", "(lambda *z, k=<int>: len(z) + k)(<int>, *<list>)", "functools.partial(pow, <int> % 9)(<int> % 4, 7)", "abs(<int>)", "climb(<int> % 6)", "operator.add(<int>, <int>)",
         "<=function>(<int>)", "(lambda: <!int>)()"],
        ["<call>"],
        ["<dict>['<letter>']", "<tuple>[<int>]", "<=list>[<int>]", "<=list>.pop()", "<list>.index(<int>)", "(<object>).lost", "(<int> // <int>)", "(<int> % <int>)", "(<int> << <int>)", "(<int> @ <int>)", "(<object> @ <int>)", "(<int> / <int>)", "(<object> * 1)", "(<int> + None)", "<=int>[<int>]", "(<=int>).missing", "<=int>(<int>)", "int(<text>)", "len(<int>)", "missing", "(<int> < <text>)"],
    ],
    "bool": [
        ["(<int> < <int>)", "(<int> >= <int>)", "(<int> == <int>)", "(<int> != <int>)", "(<int> < <int> <= <int>)", "(<int> > <int> != <int> >= <int>)"],
        ["(<int> in <list>)", "(<int> not in <set>)", "(<int> in <tuple>)", "('<letter>' in <dict>)", "(<text> in <text>)", "(<int> in [<int>, <int>] in [[1], [2]])"],
        ["(not <int>)", "(<bool> and <bool>)", "(<bool> or <bool>)", "(<bool> ^ <bool>)", "(not (<bool> and <bool> or <bool>))", "bool(<int> and <int> or <int>)"],
        ["(<int> is None)", "(<list> is not None)", "isinstance(<int>, (bool, str))", "bool(<list>)", "callable(<int>)", "(<list> is <list>)"],
        ["any(<+bool> for <w> in <!list>)", "all([<+bool> for <w> in (<!int>, <!int>)])", "(<text> < <text>)", "(<text> == <text>)", "(<list> < <list>)", "(<tuple> <= <tuple>)", "(<set> < <set>)", "<text>.isalpha()"],
    ],
    "text": [
        ["f'<{<plain>}|{<plain>!r:>4}'", "f'{<plain>:{2 + 3}}{<plain>=}'", "f'{Colour.RED}{Point(1, <plain>)}'", "f'{Pair(<plain>)!s}'", "f'{{{<plain>:03d}}}'"],
        ["(<text> + <text>)[:12]", "<text>[<int>:<int>]", "<text>[::-1]", "<text>[-2:]", "<text>.upper()", "(<text> * 2)[:9]", "(<text> or <text>)"],
        ["str(<int>)", "str(<int> / 4)", '"-".join(str(<w>) for <w> in <!list>)[:12]', '("%d/%s" % (<int>, <text>))[:12]', "repr(<text>)[:9]", '"{}.{}".format(<int>, <int>)[:9]', "type(<int>).__name__", "repr(<tuple>)[:9]", "repr(<list>)[:20]"],
    ],
    "list": [
        ["[<int>, <int>]", "[<int>, *<list>]", "[*<tuple>, <int>]", "[*<list>, *<set>][:7]", "list(range(<int> % 4))"],
        ["[<+int> for <w> in <!list>]", "[<+int> for <w> in <!list> if <+bool>]", "[<+int> for <w> in <!list> if <+bool> if <+bool>]", "[<+int> + k for <w> in <!list> for k in range(<w> % 3)]",
         "[<+int> for <w> in <!list> if (<kept> := <+int>) < 90]", "[sum([<+int> for k in range(<w> % 3)]) for <w> in <!list>]", "[k for <w> in <!list> for k in [<+int>, <+int>] if k]",
         "[f(<int>) for f in [lambda k: k + <w> for <w> in <!list>]]", "[<w> for <w> in (<w> for <w> in <!list> if <+bool>)]"],
        ["<list>[<int>:<int>]", "<list>[::2]", "<list>[::-1]", "(<list> + [<int>])[:9]", "sorted(<list>, reverse=<bool>)", "sorted(<list>, key=lambda <w>: <+int>)", "<list>.copy()", "sorted(<set>)", "list(<dict>.values())"],
        ["list(map(lambda p: p + <!int>, <list>))", "list(filter(None, <list>))", "[p * q for p, q in zip(<!list>, range(4))]", "[p + k for k, p in enumerate(<!list>, <!int>)]", "list(itertools.islice(<list>, <int> % 4))",
         "list(reversed(<list>))", "list(itertools.accumulate(<list>))[:6]", "list(collections.deque(<list>, maxlen=3))", "sorted(collections.Counter(<list>).values())", "[(p, *q)[-1] for p, *q in zip(<!list>, <!list>)]"],
        ["list(<generator>(<int> % 4))"],
    ],
    "dict": [
        ["{'a': <int>, 'b': <int>}", "{'c': <int>, **<dict>}", "{**<dict>, 'a': <int>, 'd': <int>}", "dict(d=<int>, **{})", "(<dict> | <dict>)", "dict(<dict>)", "Point(<int>, <int>)._asdict()", "dict.fromkeys('bd', <int>)"],
        ["{k: <+int> for k, <w> in <!dict>.items() if <+bool>}", "{k: len(k) + <!int> for k in 'abc' if <!bool>}", "collections.Counter(<text>[:3])", "collections.defaultdict(int, <dict>)", "dict(zip('abc', <list>))"],
    ],
    "set": [["{<int>, *<list>}", "set(<list>)", "(<set> | {<int>})", "(<set> & <set>)", "(<set> - {<int>})", "{<+int> for <w> in <!list> if <+bool>}", "frozenset(<list>)"]],
    "tuple": [["(<int>, <int>)", "(<int>, *<list>)", "tuple(<list>)", "tuple(<+int> for <w> in <!list>)", "Point(<int>, <int>)", "divmod(<int>, <int> or 2)", "(<tuple> + (<int>,))[:6]"]],
    "object": [["<class>(<int>)", "<class>(<int>, <list>)", "(<object> + <int>)", "(<int> + <object>)", "(<object> - <object>)", "(-<object>)", "(<object> if <bool> else <class>(<int>))", "(<object> * 2)", "(<object> or <object>)"]],
}  # fmt: skip

# What can be asked of an object, where the program has classes.
OF_OBJECTS = {
    "int": ["<object>.x", "<object>.total", "<object>(<int>)", "<object>[<int> % 3]", "len(<object>)", "<object>.go(<int>)", "<object>.go(<int>, scale=2)", "sum(<object>)", "<object>.guess_<letter>", "<class>.made",
            "<object>.fixed(<int>)", "<class>.of_class(<int>)", "<object>.field", "int(<object>)", "<object>.hidden()", "getattr(<object>, 'lost', <int>)", "max(<object>, <object>).x", "sorted([<object>, <object>])[0].x",
            "<object>.go.__self__.x", "<class>.go(<object>, <int>)"],
    "bool": ["(<object> < <object>)", "(<object> == <object>)", "(<object> is <object>)", "(<int> in <object>)", "(<object> <= <object> < <object>)", "bool(<object>)", "hasattr(<object>, 'lost')", "(<object> > <int>)",
             "isinstance(<object>, <class>)", "(<object> != <int>)"],
    "list": ["list(<object>)", "[<+int> for <w> in <!object>]", "[*<object>]", "<object>.items", "<object>[0:2]"],
    "text": ["repr(<object>)", "f'{<=object>}{<=object>!r}'", "str(<object>)", "type(<object>).__name__"],
}  # fmt: skip


@dataclasses.dataclass
class Scope:
    """What a line may refer to.

    names: variables that are bound here, with the kinds of their values; maybe: those that may be.
    own: names that an assignment may bind anew without making an outer variable local.
    """

    names: dict
    maybe: dict = dataclasses.field(default_factory=dict)
    own: set = dataclasses.field(default_factory=set)
    in_loop: bool = False
    in_function: bool = True
    in_handler: bool = False
    yields: bool = False
    walrus: bool = True
    declared: tuple = ()

    def inner(self, **changes):
        """The scope of a block: what it binds may be unbound after it."""
        return dataclasses.replace(self, **{"names": dict(self.names), "maybe": dict(self.maybe), **changes})

    def leave(self, block):
        """Take over what a block may have bound or deleted."""
        for name in [name for name in self.names if name not in block.names]:
            self.maybe[name] = self.names.pop(name)
        self.maybe |= {name: kind for name, kind in (block.maybe | block.names).items() if name not in self.names}

    def bind(self, name, kind):
        """Note an assignment."""
        self.maybe.pop(name, None)
        self.names[name] = kind
        self.own.add(name)


class Expressions:
    """Writes expressions; every choice comes from one random generator."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sites = self.variables = 0
        self.functions, self.generators, self.classes = {}, {}, []

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *options):
        return self.random.choice(options)

    def new(self):
        self.variables += 1
        return f"v{self.variables}"

    def noted(self, text):
        self.sites += 1
        return f"note({self.sites}, {text})"

    def bound(self, kind, scope):
        """A variable of this kind, or None; now and then one that may be unbound."""
        names = [name for name, other in scope.names.items() if other == kind]
        if self.chance(0.004):
            names += [name for name, other in scope.maybe.items() if other == kind]
        return self.random.choice(names) if names else None

    def of(self, kind, scope, depth=2):
        """An expression of a kind, which logs itself now and then."""
        if kind == "object" and not self.classes:
            kind = "int"
        name = self.bound(kind, scope)
        if name and self.chance(0.3 if depth > 0 else 0.7):
            text = name
        elif depth <= 0:
            text = self.fill(self.random.choice(LEAVES[kind]), scope, depth)
        else:
            text = self.fill(self.form(kind, scope), scope, depth - 1)
        return self.noted(text) if self.chance(0.2) else text

    def form(self, kind, scope):
        rows = FORMS[kind][:-1] if kind == "int" and not self.chance(0.02) else FORMS[kind]
        if kind == "list" and not self.generators:
            rows = rows[:-1]
        if self.classes and kind in OF_OBJECTS:
            rows = [*rows, OF_OBJECTS[kind]]
        row = self.random.choice(rows)
        return self.random.choice([form for form in row if scope.walrus or ":=" not in form])

    def fill(self, form, scope, depth):
        """The form with its holes filled, from left to right."""
        chosen, loop = {}, None
        still = dataclasses.replace(scope, walrus=False)
        if "<w>" in form or "<+" in form:
            name = self.bound("int", scope) if self.chance(0.2) else None
            loop = name if name and name[0] == "v" else self.pick("i", "j", "p", "q", "w")
            still = dataclasses.replace(still, names=dict(scope.names))
            looping = still.inner()
            looping.names[loop] = "int"

        def filling(match):
            mark, word = match.groups()
            if word == "w":
                return loop
            if mark == "=":
                return chosen.setdefault(word, self.bound(word, scope) or (self.of(word, still, 0) if word != "function" else "abs"))
            if hasattr(self, f"word_{word}"):
                return getattr(self, f"word_{word}")(looping if mark == "+" else still if mark == "!" else scope, depth)
            return self.of(word, looping if mark == "+" else still if mark == "!" else scope, depth)

        return HOLE.sub(filling, form)

    # words

    def word_letter(self, scope, depth):
        return self.random.choice(LETTERS)

    def word_class(self, scope, depth):
        return self.random.choice(self.classes)

    def word_generator(self, scope, depth):
        return self.random.choice(list(self.generators))

    def word_plain(self, scope, depth):
        """An int without quotes, for the inside of an f-string."""
        text = self.of("int", scope, depth)
        return self.bound("int", scope) or "3" if {"'", "\\", "{"} & set(text) else text

    def word_walrus(self, scope, depth):
        name = self.bound("int", scope)
        return name if name in scope.own and self.chance(0.5) else self.word_kept(scope, depth)

    def word_kept(self, scope, depth):
        name = self.new()
        scope.maybe[name] = "int"
        scope.own.add(name)
        return name

    def word_call(self, scope, depth):
        """A call of a function of the program, with arguments in every form; now and then one that does not fit."""
        if not self.functions or self.chance(0.5):
            return self.of("int", scope, depth)
        name, (required, optional, rest, keywords, more) = self.random.choice(list(self.functions.items()))
        values = [self.of("int", scope, depth) for _ in required]
        named = []
        if values and self.chance(0.2):
            values = [f"*[{', '.join(values)}]"]
        elif values and self.chance(0.2):
            named.append(f"{required[-1]}={values.pop()}")
        if rest and not named and self.chance(0.6):
            values += [self.of("int", scope, depth) for _ in optional] + [f"*{self.of('list', scope, depth)}"]
            optional = ()
        named += [f"{word}={self.of('int', scope, depth)}" for word in (*optional, *keywords) if self.chance(0.5)]
        if more and self.chance(0.5):
            named.append(f"**{{'k': {self.of('int', scope, depth)}}}")
        if self.chance(0.015):
            named.insert(0, self.pick("wrong=1", "*[1, 2, 3, 4, 5]", "*8")) if self.chance(0.5) else named.append(self.pick("**{'a': 1}", "**7"))
        return f"{name}({', '.join(values + named)})"
