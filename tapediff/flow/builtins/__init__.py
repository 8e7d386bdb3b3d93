"""Python's builtins as programs, and calls of code that is not translated.

Open first: `natives.py`.
"""
