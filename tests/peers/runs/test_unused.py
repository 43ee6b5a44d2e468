"""What a test set up and what had no effect: a warning, or a failure where the test is strict."""

import urllib.request

import pytest


def arm(world):
    world.control.add_fault({"path": "/conversations/*/replies", "effect": {"drop": "after"}})


def me(world):
    urllib.request.urlopen(urllib.request.Request(world.base_url + "/me", headers={"Authorization": "Bearer " + world.live_key})).read()


def test_warned(shared_inbox):
    arm(shared_inbox)


@pytest.mark.shared_inbox(strict=True)
def test_strict(shared_inbox):
    arm(shared_inbox)


@pytest.mark.shared_inbox(strict=True)
def test_strict_about_none(shared_inbox):
    shared_inbox.control.expect({"of": "outbox", "where": {"to": "nobody@customer.example"}, "count": 0})


@pytest.mark.shared_inbox(strict=True)
def test_fired(shared_inbox):
    shared_inbox.control.add_fault({"path": "/me", "effect": {"delayMs": 1}})
    me(shared_inbox)


@pytest.mark.shared_inbox(strict="yes")
def test_wrong_option(shared_inbox):
    pass
