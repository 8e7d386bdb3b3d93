"""Base programs in many spellings: a start, a step and a result, written with loops, classes, closures, generators and more.

A base program is the text of a step over a few state variables. `spell` writes it in every spelling of `SPELLINGS` that fits, by renaming
the variables (`total` becomes `self.total` or `state["total"]`) and by rewriting the step's branches. `BY_HAND` has the spellings that a person
would choose for one program only.
"""

import ast
import dataclasses
import textwrap
from collections.abc import Callable

import numpy as np

from .program import Program, points_of


@dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """A loop over items that updates state variables.

    Args:
        name: what it computes.
        parameters: pairs of a name and an expression in x.
        items: expression in x and the parameters, which has a length.
        state: pairs of a name and an expression in the parameters, at least two.
        step: statements that update the state with the item `v`.
        result: expression in the state and the parameters.
        draw: function of a generator that returns one point.
        stop: expression in the state and the parameters, true when the loop ends early; or empty.
        keep: expression in `v` and the parameters, false only for items that change nothing; or empty.
        numeric: whether the state fits into an array of float64.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    items: str
    state: tuple[tuple[str, str], ...]
    step: str
    result: str
    draw: Callable[[np.random.Generator], np.ndarray]
    stop: str = ""
    keep: str = ""
    numeric: bool = True

    @property
    def given(self):
        """Names of the parameters, separated by commas."""
        return ", ".join(name for name, _ in self.parameters)

    @property
    def names(self):
        """Names of the state variables, separated by commas."""
        return ", ".join(name for name, _ in self.state)

    @property
    def starts(self):
        """First values of the state variables, separated by commas."""
        return ", ".join(start for _, start in self.state)

    @property
    def setup(self):
        """Statements that compute the parameters."""
        return "\n".join(f"{name} = {value}" for name, value in self.parameters)

    @property
    def start(self):
        """Statements that give the state variables their first values."""
        return "\n".join(f"{name} = {value}" for name, value in self.state)

    def until(self, ending):
        """Return the statement that tests `stop`, with a given ending; or nothing."""
        return f"if {self.stop}:\n    {ending}" if self.stop else ""


class Rename(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def visit_Name(self, node):
        return ast.parse(self.names[node.id], mode="eval").body if node.id in self.names else node


def renamed(text, names):
    """Replace names by expressions."""
    return ast.unparse(Rename(names).visit(ast.parse(text)))


def lines(template, **parts):
    """Fill `{part}` lines of a template, indenting every part as its line is; a line of which the part is empty is dropped."""
    filled = []
    for line in textwrap.dedent(template).strip("\n").splitlines():
        key = line.strip()
        if key.startswith("{") and key.endswith("}") and key[1:-1] in parts:
            filled += textwrap.indent(parts[key[1:-1]], line[: len(line) - len(line.lstrip())]).splitlines()
            continue
        for name, text in parts.items():
            line = line.replace("{" + name + "}", text)
        filled.append(line)
    return "\n".join(filled) + "\n"


def parts_of(base, **more):
    stop = base.stop
    return {
        "setup": base.setup,
        "start": base.start,
        "items": base.items,
        "step": base.step,
        "result": base.result,
        "given": base.given,
        "names": base.names,
        "starts": base.starts,
        "break": base.until("break"),
        "return": base.until("return"),
        "and_not_stop": f" and not ({stop})" if stop else "",
        "or_stop": f" or {stop}" if stop else "",
        **more,
    }


def for_loop(base, step=None, prelude=""):
    return lines(
        """
        {prelude}
        def f(x):
            {setup}
            {start}
            for v in {items}:
                {break}
                {step}
            return {result}
        """,
        **parts_of(base, step=step or base.step, prelude=prelude),
    )


def while_loop(base):
    return lines(
        """
        def f(x):
            {setup}
            {start}
            items = {items}
            i = 0
            while i < len(items){and_not_stop}:
                v = items[i]
                {step}
                i += 1
            return {result}
        """,
        **parts_of(base),
    )


def reduce(base):
    return lines(
        """
        import functools


        def f(x):
            {setup}

            def step(state, v):
                {names} = state
                {unchanged}
                {step}
                return {names}

            {names} = functools.reduce(step, {items}, ({starts}))
            return {result}
        """,
        **parts_of(base, unchanged=base.until("return state")),
    )


def accumulate(base):
    return lines(
        """
        import itertools


        def f(x):
            {setup}

            def step(state, v):
                {names} = state
                {unchanged}
                {step}
                return {names}

            *_, last = itertools.accumulate({items}, step, initial=({starts}))
            {names} = last
            return {result}
        """,
        **parts_of(base, unchanged=base.until("return state")),
    )


def history(base):
    if not base.numeric:
        return None
    return lines(
        """
        def f(x):
            {setup}
            history = [({starts})]
            for v in {items}:
                {names} = history[-1]
                {break}
                {step}
                history.append(({names}))
            {names} = history[-1]
            return {result}
        """,
        **parts_of(base),
    )


def recursion(base):
    return lines(
        """
        def run(items, i, {given}, {names}):
            if i == len(items){or_stop}:
                return {result}
            v = items[i]
            {step}
            return run(items, i + 1, {given}, {names})


        def f(x):
            {setup}
            return run({items}, 0, {given}, {starts})
        """,
        **parts_of(base),
    )


def closure_nonlocal(base):
    return lines(
        """
        def f(x):
            {setup}
            {start}

            def step(v):
                nonlocal {names}
                {step}

            for v in {items}:
                {break}
                step(v)
            return {result}
        """,
        **parts_of(base),
    )


def closure_maker(base):
    return lines(
        """
        def make({given}):
            {start}

            def step(v):
                nonlocal {names}
                {return}
                {step}

            def result():
                return {result}

            return step, result


        def f(x):
            {setup}
            step, result = make({given})
            for v in {items}:
                step(v)
            return result()
        """,
        **parts_of(base),
    )


def global_state(base):
    blank = "\n".join(f"{name} = None" for name in (base.given + ", " + base.names).split(", "))
    return lines(
        """
        {blank}


        def step(v):
            global {names}
            {step}


        def f(x):
            global {given}, {names}
            {setup}
            {start}
            for v in {items}:
                {break}
                step(v)
            return {result}
        """,
        **parts_of(base, blank=blank),
    )


def generator(base):
    return lines(
        """
        def states(items, {given}):
            {start}
            yield {names}
            for v in items:
                {return}
                {step}
                yield {names}


        def f(x):
            {setup}
            for state in states({items}, {given}):
                pass
            {names} = state
            return {result}
        """,
        **parts_of(base),
    )


def generator_send(base):
    return lines(
        """
        def machine({given}):
            {start}
            while True:
                v = yield {names}
                {step}


        def f(x):
            {setup}
            running = machine({given})
            {names} = next(running)
            for v in {items}:
                {break}
                {names} = running.send(v)
            return {result}
        """,
        **parts_of(base),
    )


def in_class(base, template):
    """Fill a template with parts in which parameters and state variables are attributes of self; not so in {plain_result}."""
    attributes = {name: f"self.{name}" for name, _ in (*base.parameters, *base.state)}
    stop = renamed(base.stop, attributes) if base.stop else ""
    return lines(
        template,
        **parts_of(
            base,
            init="\n".join(
                [f"self.{name} = {name}" for name, _ in base.parameters]
                + [f"self.{name} = {renamed(start, attributes)}" for name, start in base.state]
            ),
            keep_parameters="\n".join(f"self.{name} = {name}" for name, _ in base.parameters),
            keep_state="\n".join(f"self.{name} = {renamed(start, attributes)}" for name, start in base.state),
            step=renamed(base.step, attributes),
            result=renamed(base.result, attributes),
            done=f"\ndef done(self):\n    return {stop}\n" if stop else "",
            break_done="if machine.done():\n    break" if stop else "",
            if_not_done=" if not machine.done()" if stop else "",
            return_stop=f"if {stop}:\n    return" if stop else "",
            raise_stop=f"if {stop}:\n    raise StopIteration" if stop else "",
            plain_result=base.result,
            attributes=", ".join(f"self.{name}" for name, _ in base.state),
            first=base.state[0][0],
        ),
    )


def step_method(base):
    return in_class(
        base,
        """
        class Machine:
            def __init__(self, {given}):
                {init}

            def step(self, v):
                {step}
            {done}
            def result(self):
                return {result}


        def f(x):
            {setup}
            machine = Machine({given})
            for v in {items}:
                {break_done}
                machine.step(v)
            return machine.result()
        """,
    )


def callable_object(base):
    return in_class(
        base,
        """
        class Machine:
            def __init__(self, {given}):
                {init}

            def __call__(self, v):
                {return_stop}
                {step}

            def __float__(self):
                raise TypeError("ask for the result")

            @property
            def result(self):
                return {result}


        def f(x):
            {setup}
            machine = Machine({given})
            for v in {items}:
                machine(v)
            return machine.result
        """,
    )


def bound_map(base):
    return in_class(
        base,
        """
        class Machine:
            def __init__(self, {given}):
                {init}

            def step(self, v):
                {return_stop}
                {step}

            def result(self):
                return {result}


        def f(x):
            {setup}
            machine = Machine({given})
            list(map(machine.step, {items}))
            return machine.result()
        """,
    )


def object_comprehension(base):
    return in_class(
        base,
        """
        class Machine:
            def __init__(self, {given}):
                {init}

            def step(self, v):
                {step}
                return self.{first}
            {done}
            def result(self):
                return {result}


        def f(x):
            {setup}
            machine = Machine({given})
            [machine.step(v) for v in {items}{if_not_done}]
            return machine.result()
        """,
    )


def property_setter(base):
    return in_class(
        base,
        """
        class Machine:
            def __init__(self, {given}):
                {init}

            @property
            def {first}(self):
                return self._{first}

            @{first}.setter
            def {first}(self, value):
                self._{first} = value

            @property
            def reading(self):
                return {result}

            @reading.setter
            def reading(self, v):
                {return_stop}
                {step}


        def f(x):
            {setup}
            machine = Machine({given})
            for v in {items}:
                machine.reading = v
            return machine.reading
        """,
    )


def inheritance(base):
    return in_class(
        base,
        """
        class Settings:
            def __init__(self, {given}):
                {keep_parameters}
                self.steps = 0

            def step(self, v):
                self.steps += 1

            def result(self):
                return 0.0

            def run(self, items):
                for v in items:
                    self.step(v)
                return self.result()


        class Machine(Settings):
            def __init__(self, *given):
                super().__init__(*given)
                {keep_state}

            def step(self, v):
                super().step(v)
                {return_stop}
                {step}

            def result(self):
                return super().result() + {result}


        def f(x):
            {setup}
            return Machine({given}).run({items})
        """,
    )


def iterator_class(base):
    return in_class(
        base,
        """
        class States:
            def __init__(self, items, {given}):
                self.items = iter(items)
                {init}

            def __iter__(self):
                return self

            def __next__(self):
                {raise_stop}
                v = next(self.items)
                {step}
                return {attributes}


        def f(x):
            {setup}
            {start}
            for {names} in States({items}, {given}):
                pass
            return {plain_result}
        """,
    )


def context_manager(base):
    return in_class(
        base,
        """
        class Machine:
            def __init__(self, {given}):
                {keep_parameters}

            def __enter__(self):
                {keep_state}
                return self

            def __exit__(self, *problem):
                self.answer = {result}
                return False

            def step(self, v):
                {return_stop}
                {step}


        def f(x):
            {setup}
            with Machine({given}) as machine:
                for v in {items}:
                    machine.step(v)
            return machine.answer
        """,
    )


def in_place(base, form, template):
    """Fill a template with parts in which the state variables have another form, such as entries of a dict."""
    names = {name: form.format(name=name, k=k) for k, (name, _) in enumerate(base.state)}
    stop = renamed(base.stop, names) if base.stop else ""
    return lines(
        template,
        **parts_of(
            base,
            step=renamed(base.step, names),
            result=renamed(base.result, names),
            count=str(len(base.state)),
            entries=", ".join(f'"{name}": {start}' for name, start in base.state),
            fields="\n".join(f"{name}: object" for name, _ in base.state),
            keywords=", ".join(f"{name}={start}" for name, start in base.state),
            break_stop=f"if {stop}:\n    break" if stop else "",
        ),
    )


def dict_state(base):
    return in_place(
        base,
        'state["{name}"]',
        """
        def step(state, v, {given}):
            {step}


        def f(x):
            {setup}
            state = {{entries}}
            for v in {items}:
                {break_stop}
                step(state, v, {given})
            return {result}
        """,
    )


def list_state(base):
    return in_place(
        base,
        "state[{k}]",
        """
        def f(x):
            {setup}
            state = [{starts}]
            for v in {items}:
                {break_stop}
                {step}
            return {result}
        """,
    )


def array_state(base):
    if not base.numeric:
        return None
    return in_place(
        base,
        "state[{k}]",
        """
        def f(x):
            {setup}
            state = np.zeros({count})
            state[:] = {starts}
            for v in {items}:
                {break_stop}
                {step}
            return {result}
        """,
    )


def dataclass_state(base):
    return in_place(
        base,
        "state.{name}",
        """
        import dataclasses


        @dataclasses.dataclass
        class State:
            {fields}


        def step(state, v, {given}):
            {step}


        def f(x):
            {setup}
            state = State({starts})
            for v in {items}:
                {break_stop}
                step(state, v, {given})
            return {result}
        """,
    )


def namespace_state(base):
    return in_place(
        base,
        "state.{name}",
        """
        from types import SimpleNamespace


        def f(x):
            {setup}
            state = SimpleNamespace({keywords})
            for v in {items}:
                {break_stop}
                {step}
            return {result}
        """,
    )


def replaced_state(base, prelude, replacing):
    return lines(
        """
        {prelude}


        def step(state, v, {given}):
            {unpack}
            {unchanged}
            {step}
            return {replacing}({changes})


        def f(x):
            {setup}
            state = State({starts})
            for v in {items}:
                state = step(state, v, {given})
            {unpack}
            return {result}
        """,
        **parts_of(
            base,
            prelude=prelude,
            unpack=f"{base.names} = {', '.join(f'state.{name}' for name, _ in base.state)}",
            unchanged=base.until("return state"),
            replacing=replacing,
            changes=("state, " if replacing == "replace" else "")
            + ", ".join(f"{name}={name}" for name, _ in base.state),
        ),
    )


def namedtuple_state(base):
    names = " ".join(name for name, _ in base.state)
    return replaced_state(
        base, f'from collections import namedtuple\n\nState = namedtuple("State", "{names}")', "state._replace"
    )


def frozen_dataclass(base):
    fields = "\n".join(f"    {name}: object" for name, _ in base.state)
    return replaced_state(
        base,
        f"from dataclasses import dataclass, replace\n\n\n@dataclass(frozen=True)\nclass State:\n{fields}",
        "replace",
    )


def next_sentinel(base):
    return lines(
        """
        def f(x):
            {setup}
            {start}
            source = iter({items})
            while (v := next(source, None)) is not None:
                {break}
                {step}
            return {result}
        """,
        **parts_of(base),
    )


def stop_iteration(base):
    return lines(
        """
        def f(x):
            {setup}
            {start}
            source = iter({items})
            try:
                while True:
                    v = next(source)
                    {raise}
                    {step}
            except StopIteration:
                return {result}
        """,
        **parts_of(base, **{"raise": base.until("raise StopIteration")}),
    )


def filtered_comprehension(base):
    if not base.keep:
        return None
    return for_loop(dataclasses.replace(base, items=f"[v for v in {base.items} if {base.keep}]"))


def filtered_lambda(base):
    if not base.keep:
        return None
    return for_loop(dataclasses.replace(base, items=f"filter(lambda v: {base.keep}, {base.items})"))


def branches(base, rewrite):
    """Rewrite the outermost branches of the step; None if it has none.

    Args:
        base: the program.
        rewrite: function of an `ast.If` and the names bound before it, which returns statements.
    """
    body, bound = [], [name for name, _ in base.state]
    found = False
    for statement in ast.parse(base.step).body:
        if isinstance(statement, ast.If):
            found = True
            body += rewrite(statement, bound)
            continue
        body.append(statement)
        bound += [
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in bound
        ]
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) if found else None


def respelled(base, rewrite, prelude=""):
    step = branches(base, rewrite)
    return step and for_loop(base, step, prelude)


class Matches(ast.NodeTransformer):
    def visit_If(self, node):
        cases, rest = [], [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            branch = rest[0]
            cases.append(ast.match_case(ast.MatchAs(), branch.test, [self.visit(line) for line in branch.body]))
            rest = branch.orelse
        cases.append(ast.match_case(ast.MatchAs(), None, [self.visit(line) for line in rest] or [ast.Pass()]))
        return ast.Match(ast.Name("v", ast.Load()), cases)


def match_statement(base):
    return respelled(base, lambda branch, bound: [Matches().visit(branch)])


def try_except(base):
    def rewrite(branch, bound):
        refuse = ast.If(ast.UnaryOp(ast.Not(), branch.test), ast.parse("raise Otherwise").body, [])
        rest = branch.orelse or [ast.Pass()]
        handler = ast.ExceptHandler(ast.Name("Otherwise", ast.Load()), None, rest)
        return [ast.Try([refuse, *branch.body], [handler], [], [])]

    return respelled(base, rewrite, "class Otherwise(Exception):\n    pass\n\n")


def early_continue(base):
    last = ast.parse(base.step).body[-1]
    if not isinstance(last, ast.If):
        return None

    def flat(branch, bound=()):
        first = ast.If(branch.test, [*branch.body, ast.Continue()], [])
        if len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
            return [first, *flat(branch.orelse[0])]
        return [first, *branch.orelse]

    return respelled(base, lambda branch, bound: flat(branch) if ast.dump(branch) == ast.dump(last) else [branch])


def chosen_function(base, choice):
    """Make both sides of each branch functions, and choose one of them by an expression in `{test}`, `{yes}` and `{no}`."""

    def rewrite(branch, bound):
        inside = {node.id for side in (branch.body, branch.orelse) for line in side for node in ast.walk(line)
                  if isinstance(node, ast.Name)}  # fmt: skip
        given = ", ".join(name for name in bound if name in inside)
        returned = ast.parse(f"def _():\n    return ({given},)").body[0].body
        text = f"def yes({given}):\n    pass\ndef no({given}):\n    pass\n({given},) = " + choice.format(
            test=f"({ast.unparse(branch.test)})", given=given
        )
        yes, no, chosen = ast.parse(text).body
        yes.body, no.body = [*branch.body, *returned], [*branch.orelse, *returned]
        return [yes, no, chosen]

    return respelled(base, rewrite)


def and_or(base):
    return chosen_function(base, "{test} and yes({given}) or no({given})")


def conditional_expression(base):
    return chosen_function(base, "yes({given}) if {test} else no({given})")


def dispatch_table(base):
    return chosen_function(base, "{{True: yes, False: no}}[bool({test})]({given})")


SPELLINGS = (
    for_loop, while_loop, reduce, accumulate, history, recursion, closure_nonlocal, closure_maker, global_state, generator, generator_send,
    step_method, callable_object, bound_map, object_comprehension, property_setter, inheritance, iterator_class, context_manager,
    dict_state, list_state, array_state, dataclass_state, frozen_dataclass, namespace_state, namedtuple_state, next_sentinel,
    stop_iteration, filtered_comprehension, filtered_lambda, match_statement, try_except, early_continue, and_or,
    conditional_expression, dispatch_table,
)  # fmt: skip

IMPORTS = "import math\n\nimport numpy as np\n\n\n"


def spell(base):
    """Write a base program in all spellings that fit it."""
    points = points_of(base.name, base.draw)
    written = [(spelling.__name__, spelling(base)) for spelling in SPELLINGS]
    return [Program(base.name, name, IMPORTS + text.lstrip(), points) for name, text in written if text]


def dedented(text):
    return textwrap.dedent(text).strip("\n")


BASES = (
    Base(
        name="threshold_filter",
        parameters=(("limit", "x[0]"), ("gain", "0.5 + x[1] ** 2")),
        items="x[2:]",
        state=(("total", "0.0"), ("count", "0"), ("last", "0.0")),
        step=dedented("""
            if v > limit:
                total += gain * v
                count += 1
                last = v - last
        """),
        result="total / (1 + count) + 0.1 * last",
        draw=lambda rng: rng.normal(size=12),
        keep="v > limit",
    ),
    Base(
        name="running_maximum",
        parameters=(("weight", "x[0]"), ("margin", "0.1 * x[1] ** 2")),
        items="x[2:]",
        state=(("best", "None"), ("drop", "0.0"), ("since", "0")),
        step=dedented("""
            if best is None or v > best + margin:
                best = v
                since = 0
            else:
                since += 1
                if best - v > drop:
                    drop = best - v
        """),
        result="best + weight * drop + 0.05 * since",
        draw=lambda rng: rng.normal(size=12),
        numeric=False,
    ),
    Base(
        name="adaptive_step",
        parameters=(("rate", "1.0 + 3.0 * x[0] ** 2"), ("push", "x[1]"), ("first", "1.0 + x[2]"), ("tolerance", "0.01 + 0.01 * x[3] ** 2")),
        items="range(90)",
        state=(("t", "0.0"), ("y", "first"), ("h", "0.4"), ("rejected", "0")),
        step=dedented("""
            h = min(h, 1.0 - t)
            slope = push * np.cos(3.0 * t) - rate * y
            ahead = push * np.cos(3.0 * (t + h)) - rate * (y + h * slope)
            error = abs(0.5 * h * (ahead - slope))
            if error > tolerance:
                h *= 0.5
                rejected += 1
            else:
                t += h
                y += 0.5 * h * (slope + ahead)
                if error < 0.2 * tolerance:
                    h *= 1.6
        """),
        result="y ** 2 + 0.001 * rejected",
        draw=lambda rng: rng.normal(size=5),
        stop="t >= 1.0 - 1e-9",
    ),
    Base(
        name="thermostat_states",
        parameters=(("goal", "20.0 + x[0]"), ("power", "1.5 + 0.5 * x[1] ** 2")),
        items="x[2:]",
        state=(("mode", '"idle"'), ("heat", "20.0"), ("spent", "0.0")),
        step=dedented("""
            heat += 0.3 * (18.0 + 4.0 * v - heat)
            if mode == "idle":
                if heat < goal - 0.8:
                    mode = "heating"
                elif heat > goal + 0.8:
                    mode = "cooling"
            elif mode == "heating":
                heat += power
                spent += power
                if heat > goal:
                    mode = "idle"
            else:
                heat -= 0.7 * power
                spent += 0.4 * power ** 2
                if heat < goal:
                    mode = "idle"
        """),
        result='spent + 0.1 * heat + (0.5 * (heat - goal) ** 2 if mode != "idle" else 0.0)',
        draw=lambda rng: rng.normal(size=14),
        numeric=False,
    ),
    Base(
        name="bucket_histogram",
        parameters=(("low", "-1.0 + 0.2 * x[0]"), ("width", "0.5 + 0.2 * x[1] ** 2")),
        items="x[2:]",
        state=(("sums", "[0.0] * 5"), ("counts", "[0] * 5"), ("outside", "0.0")),
        step=dedented("""
            k = int((v - low) // width)
            if 0 <= k < 5:
                sums[k] += v
                counts[k] += 1
            else:
                outside += abs(v)
        """),
        result="sum(s * s / n for s, n in zip(sums, counts) if n) + 0.3 * outside * width",
        draw=lambda rng: rng.normal(size=14),
        numeric=False,
    ),
    Base(
        name="decision_tree",
        parameters=(("split", "0.3 * x[0]"), ("bend", "x[1]")),
        items="x[2:].reshape(-1, 3)",
        state=(("score", "0.0"), ("leaves", "0")),
        step=dedented("""
            p, q, r = v
            if p < split:
                if q * r > 0.2:
                    score += bend * q
                    leaves += 3
                else:
                    score -= 0.5 * r ** 2
                    leaves += 1
            elif q < -split:
                score += p * r if r > 0.0 else p - r
            else:
                score += np.sin(q + bend)
        """),
        result="score / 4.0 + 0.01 * (leaves % 4)",
        draw=lambda rng: rng.normal(size=14),
    ),
    Base(
        name="monotone_stack",
        parameters=(("decay", "0.9 + 0.05 * x[0]"), ("floor", "0.2 * x[1]")),
        items="x[2:]",
        state=(("stack", "[]"), ("popped", "0.0")),
        step=dedented("""
            while stack and stack[-1] < v:
                popped += v - stack.pop()
            if v > floor:
                stack.append(decay * v)
        """),
        result="popped + sum(stack) + 0.1 * len(stack)",
        draw=lambda rng: rng.normal(size=11),
        numeric=False,
    ),
)  # fmt: skip

# Of one program each: name, spelling and text, written as a person would who does not think of state and step.
# Where no base has that name, DRAWS has what draws a point.
DRAWS = {base.name: base.draw for base in BASES} | {
    "piecewise_tariff": lambda rng: rng.normal(size=11) * rng.uniform(0.3, 1.5),
    "interval_union": lambda rng: np.concatenate([rng.normal(size=2), rng.normal(size=14) * np.tile([2.0, 0.7], 7)]),
    "huber_loss": lambda rng: rng.normal(size=12) * 1.3,
    "tank_with_valve": lambda rng: rng.normal(size=14),
    "event_counter": lambda rng: rng.normal(size=16),
    "line_search": lambda rng: rng.normal(size=5),
    "simple_queue": lambda rng: np.concatenate([0.5 * rng.normal(size=2), rng.normal(size=18)]),
}
BY_HAND = (
    ("threshold_filter", "boolean_mask", """
        def f(x):
            values = x[2:]
            chosen = values[values > x[0]]
            last = functools.reduce(lambda last, v: v - last, chosen, 0.0)
            return (0.5 + x[1] ** 2) * chosen.sum() / (1 + chosen.size) + 0.1 * last
    """),
    ("running_maximum", "itertools_accumulate_max", """
        def f(x):
            weight, margin, values = x[0], 0.1 * x[1] ** 2, x[2:]
            peaks = list(itertools.accumulate(values, lambda best, v: v if v > best + margin else best))
            drop = max(max(best - v for best, v in zip(peaks, values)), 0.0)
            since = 0
            for before, after in itertools.pairwise(peaks):
                since = 0 if after != before else since + 1
            return peaks[-1] + weight * drop + 0.05 * since
    """),
    ("running_maximum", "index_of_the_best", """
        def f(x):
            margin, values = 0.1 * x[1] ** 2, x[2:]
            at = 0
            for i in range(1, len(values)):
                if values[i] > values[at] + margin:
                    at = i
            after = values[at:]
            return values[at] + x[0] * (values[at] - min(after)) + 0.05 * (len(values) - 1 - at)
    """),
    ("piecewise_tariff", "table_of_tiers", """
        def price(amount, tiers):
            due, below = 0.0, 0.0
            for upper, rate in tiers:
                if amount <= below:
                    break
                due += rate * (min(amount, upper) - below)
                below = upper
            return due


        def f(x):
            cheap, dear, allowance = 0.1 + x[0] ** 2, 0.3 + x[1] ** 2, 1.0 + abs(x[2])
            tiers = [(allowance, cheap), (3.0 * allowance, dear), (math.inf, 1.5 * dear)]
            months = np.split(np.abs(x[3:]), 2)
            return sum(price(sum(month), tiers) for month in months)
    """),
    ("interval_union", "merged_list", """
        def f(x):
            gap, scale = 0.2 * x[0] ** 2, 1.0 + 0.1 * x[1]
            spans = sorted(([x[k], x[k] + abs(x[k + 1])] for k in range(2, len(x), 2)), key=lambda span: span[0])
            merged = []
            for span in spans:
                if merged and span[0] <= merged[-1][1] + gap:
                    merged[-1][1] = max(merged[-1][1], span[1])
                else:
                    merged.append(span)
            return scale * sum(b - a for a, b in merged) + 0.1 * len(merged) * gap
    """),
    ("thermostat_states", "table_of_methods", """
        class Thermostat:
            def __init__(self, goal, power):
                self.goal, self.power = goal, power
                self.heat, self.spent, self.handle = 20.0, 0.0, self.idle

            def idle(self):
                if self.heat < self.goal - 0.8:
                    return self.heating
                return self.cooling if self.heat > self.goal + 0.8 else self.idle

            def heating(self):
                self.heat += self.power
                self.spent += self.power
                return self.idle if self.heat > self.goal else self.heating

            def cooling(self):
                self.heat -= 0.7 * self.power
                self.spent += 0.4 * self.power ** 2
                return self.idle if self.heat < self.goal else self.cooling


        def f(x):
            t = Thermostat(20.0 + x[0], 1.5 + 0.5 * x[1] ** 2)
            for v in x[2:]:
                t.heat += 0.3 * (18.0 + 4.0 * v - t.heat)
                t.handle = t.handle()
            return t.spent + 0.1 * t.heat
    """),
    ("thermostat_states", "enum_and_match", """
        class Mode(enum.Enum):
            IDLE = "idle"
            HEATING = "heating"
            COOLING = "cooling"


        def f(x):
            goal, power = 20.0 + x[0], 1.5 + 0.5 * x[1] ** 2
            mode, heat, spent = Mode.IDLE, 20.0, 0.0
            for v in x[2:]:
                heat += 0.3 * (18.0 + 4.0 * v - heat)
                match mode:
                    case Mode.IDLE if heat < goal - 0.8:
                        mode = Mode.HEATING
                    case Mode.IDLE if heat > goal + 0.8:
                        mode = Mode.COOLING
                    case Mode.HEATING:
                        heat, spent = heat + power, spent + power
                        mode = Mode.IDLE if heat > goal else mode
                    case Mode.COOLING:
                        heat, spent = heat - 0.7 * power, spent + 0.4 * power ** 2
                        mode = Mode.IDLE if heat < goal else mode
            return spent + 0.1 * heat + (0.5 * (heat - goal) ** 2 if mode is not Mode.IDLE else 0.0)
    """),
    ("huber_loss", "and_or_values", """
        def f(x):
            delta, level = 0.5 + x[0] ** 2, x[1]
            loss, outliers = 0.0, 0
            for v in x[2:]:
                r = abs(v - level)
                loss += r <= delta and 0.5 * r * r or delta * (r - 0.5 * delta)
                outliers += r > delta and 1 or 0
            return outliers < 4 and loss or loss * (1.0 + 0.1 * outliers)
    """),
    ("tank_with_valve", "or_default", """
        def f(x):
            capacity, leak = 1.0 + x[0] ** 2, 0.05 + 0.1 * x[1] ** 2
            level, opened_at, spilled = 0.5, None, 0.0
            for v in x[2:]:
                level += v > 0.0 and 0.6 * v or 0.0
                opened_at = opened_at or (level > 0.8 * capacity and level) or None
                level -= opened_at and leak * opened_at * math.sqrt(level) or 0.0
                opened_at = level >= 0.3 * capacity and opened_at or None
                over = max(level - capacity, 0.0)
                spilled, level = spilled + over, level - over
            return level + 2.0 * spilled + (opened_at or 0.0)
    """),
    ("event_counter", "bools_as_numbers", """
        def f(x):
            upper, lower = 0.4 + 0.3 * x[0] ** 2, -0.2 - 0.3 * x[1] ** 2
            armed, events, energy = True, 0, 0.0
            for v in x[2:]:
                fires, rearms = armed and v > upper, not armed and v < lower
                events += bool(fires)
                energy += fires * (v - upper) * (1.0 + 0.1 * events)
                armed = (armed and not fires) or rearms
            return energy / (1.0 + events) + upper
    """),
    ("bucket_histogram", "bisect", """
        def f(x):
            edges = [-1.0 + 0.2 * x[0] + k * (0.5 + 0.2 * x[1] ** 2) for k in range(6)]
            sums, counts = [0.0] * 7, [0] * 7
            for v in x[2:]:
                k = bisect.bisect_right(edges, v)
                sums[k] += v
                counts[k] += 1
            return sum(s * s / max(n, 1) for s, n in zip(sums[1:-1], counts[1:-1])) + 0.3 * abs(sums[0]) + 0.3 * sums[-1]
    """),
    ("line_search", "for_else", """
        def f(x):
            goal, p = 1.0 + 0.2 * x[0], np.array([x[1], x[2]])

            def cost(p):
                return (p[0] - goal) ** 2 + (p[0] ** 2 - p[1]) ** 2

            for _ in range(6):
                off = p[0] ** 2 - p[1]
                g = np.array([2.0 * (p[0] - goal) + 4.0 * p[0] * off, -2.0 * off])
                for k in range(8):
                    trial = p - 0.5 ** k * g
                    if cost(trial) < cost(p) - 0.3 * 0.5 ** k * (g @ g):
                        break
                else:
                    return cost(p) + 1.0
                p = trial
            return cost(p) + p[1]
    """),
    ("decision_tree", "nested_tuples", """
        def leaf(row, tree):
            while len(tree) == 4:
                feature, split, less, more = tree
                tree = less if row[feature] < split else more
            scale, shift = tree
            return scale * row[0] * row[1] + shift * row[2]


        def f(x):
            a, b = 0.3 * x[0], x[1]
            tree = (0, a, (1, 0.2, (b, 1.0), (0.5, -b)), (2, -a, (1, a, (2.0, b), (a, 0.3)), (b * b, 0.1)))
            return sum(leaf(row, tree) for row in x[2:].reshape(-1, 3))
    """),
    ("decision_tree", "recursive_dicts", """
        def predict(node, row):
            if "value" in node:
                return node["value"] * row[1]
            side = "left" if row[node["feature"]] < node["split"] else "right"
            return predict(node[side], row)


        def f(x):
            a, b = 0.3 * x[0], x[1]
            stump = {"feature": 2, "split": -a, "left": {"value": b}, "right": {"value": np.sin(b)}}
            root = {"feature": 0, "split": a, "left": stump, "right": {"feature": 1, "split": b, "left": {"value": a}, "right": stump}}
            return sum(predict(root, row) for row in x[2:].reshape(-1, 3))
    """),
    ("simple_queue", "heap_of_events", """
        def f(x):
            speed, patience = 1.0 + 0.3 * x[0], 0.8 + abs(x[1])
            events, clock = [], 0.0
            for gap, work in np.abs(x[2:]).reshape(-1, 2):
                clock += 0.5 * gap
                heapq.heappush(events, (clock, 0, work))
            line, busy, waited = collections.deque(), False, 0.0
            while events:
                now, kind, work = heapq.heappop(events)
                if kind == 0:
                    line.append((now, work))
                else:
                    busy = False
                while line and not busy:
                    came, job = line.popleft()
                    if now - came > patience:
                        waited += 0.5 * patience
                        continue
                    waited += now - came
                    busy = True
                    heapq.heappush(events, (now + job / speed, 1, 0.0))
            return waited + 0.1 * now
    """),
)  # fmt: skip

BY_HAND_IMPORTS = "import bisect\nimport collections\nimport enum\nimport functools\nimport heapq\nimport itertools\nimport math\n\nimport numpy as np\n\n\n"


def by_hand():
    """Return the programs of `BY_HAND`, at the points of their base programs."""
    return [
        Program(name, spelling, BY_HAND_IMPORTS + textwrap.dedent(text).lstrip("\n").rstrip() + "\n", points_of(name, DRAWS[name]))
        for name, spelling, text in BY_HAND
    ]


BY_TEMPLATE = tuple(program for base in BASES for program in spell(base))
PROGRAMS = (*BY_TEMPLATE, *by_hand())
