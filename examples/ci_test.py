"""A CI test of an app, in Python, with nothing but the standard library and the mock server's program.

The app under test is `answer_order_questions`: it reads open mail and drafts an answer to whoever asks for an order. The
tests start the mock server once; each test gets a world of its own in it, with its own keys, data, clock and faults.

    cargo build --bin shared-inbox-mock
    python3 examples/ci_test.py

SHARED_INBOX_MOCK names the program if it is elsewhere. With SHARED_INBOX_BASE_URL and SHARED_INBOX_API_KEY set, the app
itself runs once against that service instead of the tests; it makes drafts and never sends.
"""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# --- the app ----------------------------------------------------------------------------------------------------------

ORDERS = {"1042": "on its way", "1043": "waiting for stock"}


def request(method, url, key=None, body=None):
    """One call; the JSON that came back. A GET is tried three times, because repeating it is harmless."""
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    for attempts_left in (2, 1, 0):
        try:
            call = urllib.request.Request(url, data, headers, method=method)
            with urllib.request.urlopen(call, timeout=30) as response:
                text = response.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            if error.code == 409:  # an expectation of a test that was not met: its sentence says what came nearest
                raise AssertionError(json.load(error)["error"]) from None
            if method != "GET" or error.code < 500 or not attempts_left:
                raise
        except OSError:
            if method != "GET" or not attempts_left:
                raise
        time.sleep(0.05)


def answer_order_questions(base_url, key):
    """Drafts an answer to each open mail that names an order we know. Returns how many."""
    drafted = 0
    for summary in request("GET", f"{base_url}/conversations?view=open&limit=100", key):
        if "answered" in summary["tags"]:
            continue
        url = f"{base_url}/conversations/{summary['id']}"
        timeline = request("GET", url, key)["timeline"]
        mails = [item for item in timeline if item["type"] == "message" and item["direction"] == "inbound"]
        order = re.search(r"\b10\d\d\b", mails[-1]["text"]) if mails else None
        if order and order[0] in ORDERS:
            # The tag first: if the draft is lost, a person is missing one; the other way round there might be two.
            request("POST", f"{url}/tags", key, {"add": ["answered"]})
            reply = {"body": f"Your order {order[0]} is {ORDERS[order[0]]}.", "summary": f"State of order {order[0]}"}
            request("POST", f"{url}/replies", key, reply)
            drafted += 1
    return drafted


# --- its tests --------------------------------------------------------------------------------------------------------


def find_program():
    built = pathlib.Path(__file__).resolve().parent.parent / "target" / "debug" / "shared-inbox-mock"
    return os.environ.get("SHARED_INBOX_MOCK") or (str(built) if built.exists() else "shared-inbox-mock")


class OrderQuestions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        command = [find_program(), "--listen", "127.0.0.1:0", "--clock", "manual", "--json", "--quiet"]
        cls.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        cls.ready = json.loads(cls.server.stdout.readline())  # one line, once it accepts connections

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        assert cls.server.wait(timeout=10) == 0, "the mock server ends cleanly"
        cls.server.stdout.close()

    def setUp(self):
        world = request("POST", f"{self.ready['control_url']}/worlds", body={"empty": True, "clock": "manual"})
        self.base_url, self.control_url, self.key = world["base_url"], world["control_url"], world["keys"]["live"]
        self.inbox = next(m["address"] for m in self.control("GET", "mailboxes") if not m["sandbox"] and not m["owner"])

    def tearDown(self):
        request("DELETE", self.control_url)

    def control(self, method, path, body=None):
        return request(method, f"{self.control_url}/{path}", body=body)

    def expect(self, of, where=None, count=None, within=0):
        """Waits, in the world's time, until this has happened; fails with what came nearest."""
        expectation = {"of": of, "where": where or {}, "withinSeconds": within}
        if count is not None:
            expectation["count"] = count
        return self.control("POST", "expect", expectation)

    def customer_writes(self, text, **more):
        return self.control("POST", "inbound", {"to": self.inbox, "from": "kim@example.com", "text": text, **more})

    def run_app(self):
        return answer_order_questions(self.base_url, self.key)

    def test_a_question_about_an_order_gets_one_draft(self):
        self.customer_writes("Where is my order 1042?")
        self.customer_writes("Do you also sell bicycles?")
        self.assertEqual(self.run_app(), 1)
        self.assertEqual(self.run_app(), 0, "the second run finds nothing to do")
        [draft] = self.control("GET", "approvals")
        self.assertEqual(draft["text"], "Your order 1042 is on its way.")

    def test_no_customer_gets_mail_without_a_person(self):
        self.customer_writes("Where is my order 1042?")
        self.run_app()
        self.expect("outbox", count=0, within=3600)
        [draft] = self.control("GET", "approvals")
        self.control("POST", f"messages/{draft['messageId']}/approve", {})
        self.expect("outbox", {"text": "Your order 1042*", "outcome": "sent"}, count=1, within=3600)

    def test_the_app_gets_over_a_server_error(self):
        self.customer_writes("Where is my order 1042?")
        self.control("POST", "faults", {"path": "/conversations", "times": 2, "effect": {"status": 500}})
        self.assertEqual(self.run_app(), 1)
        self.expect("requests", {"path": "/conversations", "status": 500}, count=2)
        self.expect("requests", {"method": "POST", "path": "/conversations/*/replies", "body": {"body": "Your order 1042*"}}, count=1)

    def test_a_webhook_is_signed_and_comes_again_after_a_failure(self):
        answers, events = [500, 204], []

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                events.append((self.headers, body))
                self.send_response(answers.pop(0))
                self.end_headers()

            def log_message(self, *_):
                pass

        receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        url = f"http://127.0.0.1:{receiver.server_port}/"
        hook = {"url": url, "livemode": True, "scope": "team", "events": ["client.replied"]}
        secret = self.control("POST", "webhooks", hook)["secret"]

        first = self.customer_writes("Where is my order 1042?")
        self.customer_writes("Hello?", conversationId=first["conversationId"])
        self.expect("deliveries", {"type": "client.replied", "outcome": "delivered"}, within=60)

        self.assertEqual(len(events), 2, "refused once, delivered at the second try")
        for headers, body in events:
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
            mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)
            self.assertEqual(headers["webhook-signature"], "v1," + base64.b64encode(mac.digest()).decode())
        self.assertEqual(events[0][0]["webhook-id"], events[1][0]["webhook-id"], "the same event on every try")


if __name__ == "__main__":
    if os.environ.get("SHARED_INBOX_BASE_URL"):
        base_url, key = os.environ["SHARED_INBOX_BASE_URL"], os.environ["SHARED_INBOX_API_KEY"]
        print(f"drafts made: {answer_order_questions(base_url.rstrip('/'), key)}")
    else:
        unittest.main(verbosity=2)
