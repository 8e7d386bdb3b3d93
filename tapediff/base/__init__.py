"""What everything else stands on: the lines of the user's code, which recording is current, locks that survive forks and interrupts.

Open first: `source_location.py`.
"""
