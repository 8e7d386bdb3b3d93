"""The graph of a model: parameters, data, lines and the terms of the log density, found on its tape."""

from __future__ import annotations

import linecache
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...base.source_location import Site, expression_at, spot_of
from ...base.wrapper import Wrapper
from ...errors import PosteriorError, is_recoverable
from ...ir.arguments import Constant
from ...ir.containers import flatten_argument
from ...ir.instruction import CONSTANT, Instruction, Tree, UserFunction
from ...ir.tape import Tape
from ...ops.arrays.indexing import PLACING
from ...ops.arrays.reductions import SUMS
from ...ops.declaration.op import Elementwise, Op
from ...ops.elementwise.arithmetic import DIVIDE, MULTIPLY
from ...targets.guarded_tape import GuardedTape
from ..density import NamedDensity
from .drawing import Node, dot, svg


@dataclass(frozen=True, eq=False)
class ModelGraph:
    """The graph of a posterior; see td.Posterior.graph.

    Attributes:
        nodes: parameters, data, lines of the function, and terms, whose sum is the log density; each with the numbers of those it reads.
    """

    nodes: tuple[Node, ...]

    @property
    def svg(self) -> str:
        """The picture, as the text of an SVG file."""
        return svg(self.nodes)

    @property
    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return dot(self.nodes)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        named = [node.label for node in self.nodes if node.kind in ("parameter", "data")]
        reading = [(node, "; ".join(self.nodes[k].name for k in node.parents)) for node in self.nodes if node.parents]
        return "\n".join(["; ".join(named), *(f"{node.kind}: {node.label}  <-  {parents}" for node, parents in reading)])


def graph_of(posterior: NamedDensity) -> ModelGraph:
    """Record the function of parameters and data, not of the unconstrained vector, and read its tape."""
    values, data = posterior.constrain(posterior.example_point()), Constant(posterior.data)
    try:
        tape, _ = GuardedTape(_OfValues(posterior.function)).tape_for(({name: value[()] for name, value in values.items()}, data))
    except Exception as error:
        if not is_recoverable(error):
            raise
        raise PosteriorError("the log density has no value where the graph was to be recorded", got=error, fix="post.check()") from error
    found = _Reader(tape)
    for kind, given in (("parameter", values), ("data", posterior.data)):
        for name, value in given.items():
            found.add_input(name, _label(posterior, name), kind, len(flatten_argument({name: value})[0]))
    found.read()
    return ModelGraph(_without_unread(found.nodes))


def _without_unread(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Leave out terms of data alone, which are constants, and what nothing else reads; all parameters stay."""
    varies, read = list[bool](), set[int]()
    for node in nodes:
        varies.append(node.kind == "parameter" or any(varies[k] for k in node.parents))
    for k in reversed(range(len(nodes))):
        if k in read or nodes[k].kind == "parameter" or (nodes[k].kind == "term" and varies[k]):
            read |= {k, *nodes[k].parents}
    place = {k: n for n, k in enumerate(sorted(read))}
    return tuple(nodes[k]._replace(parents=tuple(place[p] for p in nodes[k].parents)) for k in sorted(read))


class _OfValues(Wrapper):
    """The function of two dicts."""

    calls = "f"

    def __init__(self, f: UserFunction) -> None:
        self.f = f

    def __call__(self, values: Mapping[str, Tree], data: Mapping[str, Tree]) -> Tree:
        return self.f(**values, **data)


def _label(posterior: NamedDensity, name: str) -> str:
    """A parameter with its constraint; and the dimensions."""
    if name in posterior.shapes:
        shape, kind = posterior.shapes[name], f": {posterior.parameters[name].transform.name}"
    else:
        shape, kind = getattr(posterior.data[name], "shape", ()), ""
    axes = ", ".join(map(str, posterior.dims.get(name, shape)))
    return f"{name}{kind}[{axes}]" if axes else f"{name}{kind}"


class _Reader:
    """Reads a tape backward from its result: first to the terms, then through the lines that compute what they read."""

    def __init__(self, tape: Tape) -> None:
        self.tape, self.nodes = tape, list[Node]()
        self._inputs: dict[int, int] = {}
        # By line: its node, None while that is read and if it reads no parameters and data; and its instructions.
        self._lines: dict[_Line, int | None] = {}
        self._of_line: dict[_Line, list[int]] = {}
        for number, i in enumerate(tape.instructions):
            if (line := _line(i.site)) is not None:
                self._of_line.setdefault(line, []).append(number)

    def add_input(self, name: str, label: str, kind: str, count: int) -> None:
        """Add a parameter or data, whose arrays are the next `count` inputs of the tape."""
        for number in self.tape.inputs[len(self._inputs) : len(self._inputs) + count]:
            self._inputs[number] = len(self.nodes)
        self.nodes.append(Node(name, label, kind))

    def read(self) -> None:
        """Add a node for each expression that is a term, and for each line on the way to it."""
        terms: dict[Hashable, list[int]] = {}
        for number in self._terms():
            terms.setdefault(number if number in self._inputs else spot_of(self._at(number).site), []).append(number)
        for numbers in terms.values():
            known = self._inputs.get(numbers[0])
            if known is not None:
                self.nodes.append(Node(self.nodes[known].name, self.nodes[known].name, "term", (known,)))
            else:
                parents = self._parents(numbers, self._at(numbers[0]).site)
                if parents:
                    text = expression_at(self._at(numbers[0]).site) or self._at(numbers[0]).op.name
                    self.nodes.append(Node(text, text, "term", parents))

    def _at(self, number: int) -> Instruction:
        return self.tape.instructions[number]

    def _terms(self) -> list[int]:
        """The values that are added up, and the conditions that choose between them, in the order of the function."""
        found, pending, seen = set[int](), [*self.tape.outputs], set[int]()
        while pending:
            number = pending.pop()
            if number in seen:
                continue
            seen.add(number)
            i = self._at(number)
            if i.op in (MULTIPLY, DIVIDE):  # with numbers
                through = [k for k in i.inputs if self._at(k).op is not CONSTANT]
                through = through if len(through) == 1 and (i.op is MULTIPLY or through[0] == i.inputs[0]) else []
            else:
                through = [k for k in i.inputs if _is_sum(i.op) and self._at(k).type.is_float]
            if through:
                pending += through
            elif i.op is not CONSTANT:
                found.add(number)
        return sorted(found)

    def _parents(self, numbers: Iterable[int], site: Site | None) -> tuple[int, ...]:
        """The nodes that values read: inputs, and other lines; values of the line of this site are passed through."""
        found, unread = self._read_by(numbers, _line(site))
        if unread:
            self._read_lines(unread)
            found, _ = self._read_by(numbers, _line(site))
        return tuple(sorted(found))

    def _read_by(self, numbers: Iterable[int], own: _Line | None) -> tuple[set[int], dict[_Line, int]]:
        """The nodes that values read, and the lines among these that have not been read, with their last values."""
        found, unread, pending, seen = set[int](), dict[_Line, int](), list(numbers), set[int]()
        while pending:
            number = pending.pop()
            if number in seen:
                continue
            seen.add(number)
            if number in self._inputs:
                found.add(self._inputs[number])
            elif (line := _line(self._at(number).site)) is None or line == own:
                pending += self._at(number).inputs
            elif line not in self._lines:
                unread[line] = max(number, unread.get(line, number))
            elif (node := self._lines[line]) is not None:
                found.add(node)
        return found, unread

    def _read_lines(self, lines: Mapping[_Line, int]) -> None:
        """Add the nodes of lines that compute values, after those of the lines that they read."""
        pending = list(lines.items())
        while pending:
            line, last = pending[-1]
            here = self._of_line[line]
            found, unread = self._read_by(here[: bisect_right(here, last)], line)
            # A line that is being read is not read for itself.
            self._lines.setdefault(line, None)
            if unread:
                pending += unread.items()
                continue
            pending.pop()
            if found and self._lines[line] is None:
                self._lines[line] = len(self.nodes)
                text = linecache.getline(line[0], line[1]).strip() or f"line {line[1]}"
                name = text.partition("=")[0].strip() if " = " in text else text
                self.nodes.append(Node(name, text, "line", tuple(sorted(found))))


# A file, the number of a line, and the function.
_Line = tuple[str, int, str]


def _line(site: Site | None) -> _Line | None:
    return None if site is None else site.place


def _is_sum(op: object) -> bool:
    """True for sums, differences, and what moves or chooses entries."""
    if isinstance(op, Elementwise):
        return op.linear and op.compares is None and op.jump is None
    return isinstance(op, Op) and (op.moves or op in (*SUMS, *PLACING))
