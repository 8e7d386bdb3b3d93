"""How the API pages show the source: types that stand for anything are left out, and so is the way in for readers of the source."""

import griffe

# Aliases of the source that tell a user no more than the description of the argument does, and defaults that stand for a value.
ANYTHING = {"Tree", "Operand", "Out", "Target", "UserFunction", "Argnums", "object"}
DEFAULTS = {"FIRST": "0", "ABSENT": "..."}


class Signatures(griffe.Extension):
    def on_function(self, *, func, **_):
        for parameter in func.parameters:
            if str(parameter.annotation) in ANYTHING:
                parameter.annotation = None
            parameter.default = DEFAULTS.get(str(parameter.default), parameter.default)
        if str(func.returns) in ANYTHING:
            func.returns = None

    def on_module(self, *, mod, **_):
        """The paragraph of a folder that says which file to open first is for whoever reads the source."""
        if mod.docstring is not None:
            paragraphs = mod.docstring.value.split("\n\n")
            mod.docstring.value = "\n\n".join(p for p in paragraphs if "pen first: `" not in p)
