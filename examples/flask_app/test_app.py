"""The app's tests, with the fixture that `pip install shared-inbox-mock` brings: a world of its own for each test."""

import threading
import urllib.error
import urllib.request

import pytest
from werkzeug.serving import make_server

from app import create_app


@pytest.fixture
def running(shared_inbox):
    """The app on a free port, with its webhook in the test's world. Gives the conversation of a customer."""
    server = make_server("127.0.0.1", 0, lambda environ, start: app(environ, start), threaded=True)
    hook = {"url": f"http://127.0.0.1:{server.server_port}/webhooks", "livemode": True, "scope": "team", "events": ["client.replied"]}
    # The world's clock may stand anywhere; this stamps what is sent with the machine's time, which the app's verifier looks at.
    secret = shared_inbox.control.create_webhook({**hook, "timestamps": "real"})["secret"]
    app = create_app(shared_inbox.base_url, shared_inbox.live_key, secret)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield shared_inbox.control.inbound({"to": shared_inbox.inbox(), "from": "vera@customer.example", "text": "Hello"})["conversationId"]
    server.shutdown()
    thread.join()


def writes(world, conversation, text):
    world.control.inbound({"to": world.inbox(), "from": "vera@customer.example", "text": text, "conversationId": conversation})


@pytest.mark.shared_inbox(empty=True)
def test_a_question_about_an_order_gets_a_draft_and_no_mail_leaves(shared_inbox, running):
    writes(shared_inbox, running, "Where is my order 1042?")
    shared_inbox.control.expect({"of": "deliveries", "where": {"outcome": "delivered"}, "withinSeconds": 60})
    [draft] = shared_inbox.control.list_approvals()
    assert draft["text"] == "Your order 1042 is on its way."
    shared_inbox.control.expect({"of": "outbox", "count": 0, "withinSeconds": 3600})


@pytest.mark.shared_inbox(empty=True)
def test_an_event_that_comes_twice_is_answered_once(shared_inbox, running):
    shared_inbox.control.add_fault({"webhook": "*", "effect": {"twice": True}})
    writes(shared_inbox, running, "Where is my order 1043?")
    shared_inbox.control.expect({"of": "deliveries", "where": {"outcome": "delivered"}, "withinSeconds": 600})
    shared_inbox.control.expect({"of": "requests", "where": {"method": "POST", "path": "/conversations/*/replies"}, "count": 1, "withinSeconds": 3600})


@pytest.mark.shared_inbox(empty=True)
def test_a_failure_of_the_service_is_made_good_by_the_next_try(shared_inbox, running):
    shared_inbox.control.add_fault({"path": "/conversations/*", "times": 1, "effect": {"status": 503}})
    writes(shared_inbox, running, "Where is my order 1042?")
    shared_inbox.control.expect({"of": "deliveries", "where": {"outcome": "delivered"}, "withinSeconds": 3600})
    assert len(shared_inbox.control.list_approvals()) == 1


def test_a_forged_event_is_refused(shared_inbox, running):
    [hook] = shared_inbox.control.list_webhooks()
    forged = urllib.request.Request(hook["url"], b'{"type":"client.replied"}', {"webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(forged)
    assert refused.value.code == 400
