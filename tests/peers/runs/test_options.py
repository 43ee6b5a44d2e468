"""Each of these has a wrong option."""

import pytest


@pytest.mark.shared_inbox(clock="manuel")
def test_clock(shared_inbox):
    pass


@pytest.mark.shared_inbox(True)
def test_position(shared_inbox):
    pass


@pytest.mark.shared_inbox(emtpy=True)
def test_name(shared_inbox):
    pass


@pytest.mark.shared_inbox(empty="yes")
def test_empty(shared_inbox):
    pass


@pytest.mark.shared_inbox(seed={"converse": []})
def test_seed(shared_inbox):
    pass
