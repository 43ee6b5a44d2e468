"""A test that waits to be ended, with a fixture that still needs the server when it is."""

import pathlib
import time

import pytest


@pytest.fixture
def clock(shared_inbox):
    yield
    shared_inbox.control.get_clock()


def test_passes(shared_inbox):
    pass


def test_waits(clock):
    pathlib.Path("started").touch()
    time.sleep(600)
