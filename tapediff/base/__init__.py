"""Foundations: source locations of the user's code, the current recording, locks that survive forks and interrupts.

Open first: `source_location.py`.
"""
