"""Programs in plain Python that judge whatever records functions with branches and loops on data."""

from .registry import JUDGED, PROGRAMS, load

__all__ = ["JUDGED", "PROGRAMS", "load"]
