"""Settings of all tests."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def ctrl_c():
    """Shells start background jobs with Ctrl-C ignored, and Python keeps that. Tests of Ctrl-C need Python's own handler."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
