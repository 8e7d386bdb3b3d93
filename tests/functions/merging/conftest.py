"""What tests of long loops share: loops that are long enough after a few hundred operations, which leaves tests short."""

import pytest

from tapediff.recording import record


@pytest.fixture
def short_recordings_are_long(monkeypatch):
    monkeypatch.setattr(record, "LONG", 300)
