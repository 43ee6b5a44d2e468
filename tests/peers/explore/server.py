"""Small servers that answer mails about orders when a webhook says so: `server.py correct`, and one with a fault.

Nothing but the standard library; the signature is checked by hand.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.request

SECRET = base64.b64decode(os.environ["SHARED_INBOX_WEBHOOK_SECRET"].removeprefix("whsec_"))
LOCK = threading.Lock()


def call(method, path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["SHARED_INBOX_API_KEY"], "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(os.environ["SHARED_INBOX_BASE_URL"] + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def genuine(headers, body):
    identity, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    signed = f"{identity}.{stamp}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return abs(time.time() - int(stamp)) < 300 and any(hmac.compare_digest(wanted, one) for one in given)


def order_of(text):
    found = re.search(r"\b10\d\d\b", text)
    return found and found[0]


def deals_with(item, order):
    """A message about this order or about none, or a draft that a person did not want."""
    if item.get("direction") == "outbound":
        return order_of(item["text"]) in (None, order)
    return item.get("event") == "draft-discarded"


def handle(event, looks):
    conversation = event["data"].get("conversation_id")
    if conversation is None or (not looks and event["data"].get("turn") != "ours"):
        return
    view = call("GET", f"/conversations/{conversation}")
    timeline = view["timeline"]
    mails = [(n, order_of(item["text"])) for n, item in enumerate(timeline) if item.get("direction") == "inbound"]
    asked = [(n, order) for n, order in mails if order]
    if not asked or (view["assignee"] or {}).get("type") == "user" or view["risk"]:
        return
    waiting = [order for n, order in asked if not (looks and any(deals_with(item, order) for item in timeline[n + 1 :]))]
    for order in dict.fromkeys(waiting):
        call("POST", f"/conversations/{conversation}/replies", {"body": f"Your order {order} is on its way."})
    if view["status"] == "open":
        call("POST", f"/conversations/{conversation}/status", {"status": "waiting"})


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 401
        if genuine(self.headers, body):
            try:
                with LOCK:
                    handle(json.loads(body), sys.argv[1] == "correct")
                status = 200
            except OSError:
                status = 500
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
