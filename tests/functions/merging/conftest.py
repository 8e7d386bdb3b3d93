"""What tests of long loops share: loops that are long enough after a few hundred operations, which leaves tests short."""

import pytest

from tapediff.recording import record
from tapediff.targets.guarded.merging import Merging


@pytest.fixture
def short_recordings_are_long(monkeypatch):
    monkeypatch.setattr(record, "LONG", 300)


@pytest.fixture
def without_comparisons(monkeypatch):
    """First answers are not compared with the plain function's, which would notice most of what is amiss."""
    monkeypatch.setattr(Merging, "check", lambda *_: None)
    monkeypatch.setattr("tapediff.targets.guarded.merging.Expected.is_met", lambda *_: True)
    monkeypatch.setattr("tapediff.targets.guarded.merging.TRIALS", 0)
