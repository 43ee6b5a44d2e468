"""An exploration that waits to be ended."""

import pathlib
import time


def test_waits(shared_inbox_explore):
    def app(world):
        pathlib.Path("started").touch()
        time.sleep(600)

    shared_inbox_explore(app, mails=["Hello"], app_timeout=600)
