"""A small app that works in the inbox: when a customer writes again about an order, a draft with its state waits for a person.

The service tells it with a signed webhook; a draft is made with one call. `test_app.py` beside it shows how it is tested.
"""

import json
import re
import urllib.request

from flask import Flask, request
from standardwebhooks import Webhook, WebhookVerificationError

ORDERS = {"1042": "on its way", "1043": "waiting for stock"}


def create_app(base_url: str, key: str, secret: str) -> Flask:
    app = Flask(__name__)
    done: set[str] = set()

    def call(method: str, path: str, body: object = None) -> dict:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(base_url + path, data, headers, method=method), timeout=30) as response:
            return json.load(response)

    @app.post("/webhooks")
    def webhook() -> tuple[str, int]:
        try:
            event = Webhook(secret).verify(request.get_data(), dict(request.headers))
        except WebhookVerificationError:
            return "not genuine", 400
        # The service delivers at least once; the id of the event says whether it was here before.
        if event["type"] == "client.replied" and event["id"] not in done:
            answer(event["data"]["conversation_id"])
            done.add(event["id"])
        return "", 204

    def answer(conversation: str) -> None:
        timeline = call("GET", f"/conversations/{conversation}")["timeline"]
        mails = [item for item in timeline if item["type"] == "message" and item["direction"] == "inbound"]
        order = re.search(r"\b10\d\d\b", mails[-1]["text"])
        if order and order[0] in ORDERS:
            draft = {"body": f"Your order {order[0]} is {ORDERS[order[0]]}.", "summary": f"State of order {order[0]}"}
            call("POST", f"/conversations/{conversation}/replies", draft)

    return app
