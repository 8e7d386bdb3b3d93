"""Python's builtins as programs, and calls of untranslated code.

Open first: `natives.py`.
"""
