"""Calls with fewer passes."""

from tapediff.base.settings import settings


def without(passes, call):
    """What a call gives when these passes are left out."""
    kept, settings.left_out = settings.left_out, settings.left_out.union(passes)
    try:
        return call()
    finally:
        settings.left_out = kept
