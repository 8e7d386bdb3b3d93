"""Random functions that read state in many ways, and random changes of that state between their calls."""

import collections
import dataclasses
import functools
import random
import types

import numpy as np

# Expressions that a function may read.
READS = (
    "g0", "g1 * 2", "arr[0]", "arr.sum()", "large[3]", "obj.a", "obj.child.a", "obj.parts[0]", "obj.table['k']", "sum(numbers)", "numbers[-1]",
    "table['p']", "table.get('q', 0.5)", "helper(1.0)", "obj.method(2.0)", "obj.half", "cell()", "module.v", "module.sub.v",
    "getattr(obj, 'z', 0.25)", "(obj.t if hasattr(obj, 't') else 1.5)", "slotted.s", "record.x", "record.y[1]", "Derived.k", "Derived.static(3.0)",
    "obj(1.0)", "obj[1]", "part(1.0)", "space.q", "queue[0]", "len(members)", "nested[0][1]", "pair[1][0]", "counts['a']", "defaulted()",
    "(obj.child.child.a if obj.child.child else 0.1)", "squared(2.0)",
)  # fmt: skip

_TEXT = """
def helper(x): return x * g0
squared = lambda x: x * g1
def outer():
    inside, limit = [0.7], 0.3
    def cell(): return inside[0] * limit
    return cell
cell = outer()
def product(a, b): return a * b
def defaulted(q=[0.6]): return q[0]
def f(x):
    s = 0.0
{terms}
    return s * 2 if s > 1.0 else s
"""


@dataclasses.dataclass
class Record:
    x: float
    y: list


class Slotted:
    __slots__ = ("s",)


def classes():
    """A base and a derived class of their own for each program, as changes may be to classes."""

    class Base:
        k, _half = 1.5, 0.2

        @staticmethod
        def static(x):
            return x * 0.5

        def method(self, x):
            return x * self.a

        @property
        def half(self):
            return self.a + self._half

        def __call__(self, x):
            return x + self.b

        def __getitem__(self, index):
            return self.parts[index]

    class Derived(Base):
        pass

    return Base, Derived


def program(seed):
    """A namespace with a function `f` that reads some of it, and a function that changes one thing in it."""
    rng = random.Random(seed)
    base, derived = classes()

    def tree(depth):
        made = derived()
        made.a, made.b, made.parts, made.table = rng.random(), rng.random(), [rng.random(), rng.random()], {"k": rng.random()}
        made.child = tree(depth - 1) if depth else None
        return made

    module = types.ModuleType("a_users_module")
    module.v, module.sub = rng.random(), types.ModuleType("a_users_module.sub")
    module.sub.v = rng.random()
    names = {
        "np": np, "g0": rng.random(), "g1": rng.random(), "arr": np.array([rng.random() for _ in range(4)]), "large": np.arange(600.0) * rng.random(),
        "obj": tree(2), "numbers": [rng.random() for _ in range(3)], "table": {"p": rng.random()}, "Derived": derived, "Base": base,
        "slotted": Slotted(), "record": Record(rng.random(), [1.0, rng.random()]), "space": types.SimpleNamespace(q=rng.random()),
        "queue": collections.deque([rng.random()]), "members": {1, 2}, "nested": [[1.0, 2.0], [3.0]], "pair": (1, [2.0]),
        "counts": collections.defaultdict(float, a=1.0), "module": module,
    }  # fmt: skip
    names["slotted"].s = rng.random()
    chosen = rng.sample(READS, rng.randint(2, 7))
    terms = "\n".join(f"    s = s + ({read}) * x[{k % 2}]" for k, read in enumerate(chosen))
    exec(compile(_TEXT.format(terms=terms), "a_users_file.py", "exec"), names)
    names["part"] = functools.partial(names["product"], 0.4)
    return names, rng, chosen


def change(names, rng):
    """Rebind, set, add, delete, or change in place."""
    new = rng.random()
    obj = rng.choice([names["obj"], names["obj"].child or names["obj"]])
    kind = rng.choice([names["Base"], names["Derived"]])
    cells, defaults = names["cell"].__closure__, names["defaulted"]
    rng.choice((
        lambda: names.update(g0=new), lambda: names.update(g1=new), lambda: names["arr"].__setitem__(0, new),
        lambda: names.update(arr=names["arr"].copy()), lambda: names.update(arr=names["arr"] * 1.1),
        lambda: names["large"].__imul__(1.1), lambda: setattr(obj, rng.choice(("a", "b", "_half", "z", "t", "k")), new),
        lambda: obj.parts.append(new), lambda: obj.parts.__setitem__(0, new), lambda: obj.table.__setitem__("k", new),
        lambda: setattr(obj, "child", names["obj"] if new < 0.5 else None), lambda: names["numbers"].append(new),
        lambda: names["numbers"].__setitem__(0, new), lambda: names["table"].__setitem__(rng.choice("pq"), new), lambda: names["table"].pop("q", 0),
        lambda: setattr(kind, rng.choice(("k", "z", "t", "_half")), new), lambda: [vars(obj).pop(name, 0) for name in ("z", "t", "k")],
        lambda: setattr(names["module"], "v", new), lambda: setattr(names["module"].sub, "v", new), lambda: setattr(names["slotted"], "s", new),
        lambda: setattr(names["record"], "x", new), lambda: names["record"].y.__setitem__(1, new), lambda: setattr(names["space"], "q", new),
        lambda: names["queue"].appendleft(new), lambda: names["members"].add(rng.randint(0, 9)), lambda: names["nested"][0].__setitem__(1, new),
        lambda: names["pair"][1].__setitem__(0, new), lambda: names["counts"].__setitem__("a", new),
        lambda: exec(f"def helper(x): return x * {new}", names), lambda: cells[0].cell_contents.__setitem__(0, new),
        lambda: setattr(cells[1], "cell_contents", new), lambda: names.update(part=functools.partial(names["product"], new)),
        lambda: defaults.__defaults__[0].__setitem__(0, new), lambda: setattr(defaults, "__defaults__", ([new],)),
        lambda: setattr(names["Derived"], "method", lambda self, x: x * 0.9 * self.a), lambda: setattr(names["Base"], "static", staticmethod(lambda x: x * new)),
        lambda: names.update(squared=lambda x: x * 0.77), lambda: names.update(obj=names["obj"].child or names["obj"]),
        lambda: setattr(obj, "__dict__", {**vars(obj), "b": new}), lambda: names.update(nested=[[1.0, new]]),
    ))()  # fmt: skip
