"""The whole shared-inbox service in memory, for the tests of your app.

With pytest there is nothing to import: the fixture `shared_inbox` gives each test a world of its own.

    def test_the_app_answers(shared_inbox):
        shared_inbox.control.inbound({"to": shared_inbox.inbox(), "from": "vera@customer.example", "text": "Hello?"})
        my_app.run(shared_inbox.base_url, shared_inbox.live_key)
        shared_inbox.control.expect({"of": "requests", "where": {"method": "POST"}})
"""

from ._explore import ExploreWorld, Found, explore
from ._http import NotMet, Refused, Unreachable
from ._redteam import AgentInbox, NotTried, Obeyed
from ._server import AsyncWorld, Server, World, program
from .control import AsyncControl, Control

__all__ = [
    "AgentInbox",
    "AsyncControl",
    "AsyncWorld",
    "Control",
    "ExploreWorld",
    "Found",
    "NotMet",
    "NotTried",
    "Obeyed",
    "Refused",
    "Server",
    "Unreachable",
    "World",
    "explore",
    "program",
]
