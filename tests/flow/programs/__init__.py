"""Programs in plain Python that judge whatever records functions with branches and loops on data."""

from .registry import PROGRAMS, load, matching

__all__ = ["PROGRAMS", "load", "matching"]
