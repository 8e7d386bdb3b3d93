"""Problems of kinds that the library was not tuned on, after those of other suites (ADBench among them): natural NumPy in `models.py`,
`physics.py` and `networks.py`, and what other engines run for them. `problems.py` has the list."""
