"""How the API pages show the source: types that stand for anything are left out, and so is the way in for readers of the source."""

import re

import griffe

# Aliases of the source that tell a user no more than the description of the argument does, and defaults that stand for a value.
ANYTHING = re.compile(r"\b(Tree|Operand|Out|Target|UserFunction|Argnums|object|P|Foreign)\b")
DEFAULTS = {"FIRST": "0", "ABSENT": "..."}


# Parts of a docstring that are sentences. A parser would take the words before a colon in them for a type.
SECTION = re.compile(r"^(Returns|Cost|Source):[ \n]((?:.+\n?)+)", re.MULTILINE)


def as_paragraph(section):
    return f"**{section[1]}:** {' '.join(section[2].split())}\n"


class Signatures(griffe.Extension):
    def on_function(self, *, func, **_):
        for parameter in func.parameters:
            if ANYTHING.search(str(parameter.annotation)):
                parameter.annotation = None
            parameter.default = DEFAULTS.get(str(parameter.default), parameter.default)
        if ANYTHING.search(str(func.returns)):
            func.returns = None
        if func.docstring is not None:
            func.docstring.value = SECTION.sub(as_paragraph, func.docstring.value)

    def on_class(self, *, cls, **_):
        if cls.docstring is not None:
            cls.docstring.value = SECTION.sub(as_paragraph, cls.docstring.value)

    def on_module(self, *, mod, **_):
        """The paragraph of a folder that says which file to open first is for whoever reads the source."""
        if mod.docstring is not None:
            paragraphs = mod.docstring.value.split("\n\n")
            mod.docstring.value = "\n\n".join(p for p in paragraphs if "pen first: `" not in p)
