"""The server dies in the second test."""

import os
import signal
import subprocess
import urllib.request


def kill_server():
    [server] = subprocess.check_output(["pgrep", "-f", os.environ["SHARED_INBOX_MOCK"]], text=True).split()
    os.kill(int(server), signal.SIGKILL)


def test_passes_before(shared_inbox):
    pass


def test_has_an_assertion_of_its_own(shared_inbox):
    kill_server()
    assert 1 == 2, "the test's own words"


def test_uses_the_world(shared_inbox):
    pass


def test_uses_the_server(shared_inbox_server):
    shared_inbox_server.main.control.get_clock()


def test_passes_without_it():
    pass
