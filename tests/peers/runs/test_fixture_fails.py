"""A fixture fails, once before the test and once after it, and the app has asked for something."""

import urllib.request

import pytest


def ask(world):
    urllib.request.urlopen(urllib.request.Request(world.base_url + "/me", headers={"Authorization": f"Bearer {world.live_key}"}))
    world.control.expect({"of": "outbox", "where": {"text": "never"}})


@pytest.fixture
def fails_before(shared_inbox):
    ask(shared_inbox)


@pytest.fixture
def fails_after(shared_inbox):
    yield
    ask(shared_inbox)


def test_before(fails_before):
    pass


def test_after(fails_after):
    pass
