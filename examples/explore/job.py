"""Answers each open email that names an order, and closes the conversation. It looks right, and breaks on a bad day."""

import json
import os
import re
import urllib.request

BASE_URL, KEY = os.environ["SHARED_INBOX_BASE_URL"], os.environ["SHARED_INBOX_API_KEY"]


def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(BASE_URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


for conversation in call("GET", "/conversations"):
    order = re.search(r"order (\d+)", conversation["snippet"], re.IGNORECASE)
    if order:
        path = f"/conversations/{conversation['id']}"
        call("POST", f"{path}/replies", {"body": f"Your order {order[1]} is on its way.", "send": True})
        call("POST", f"{path}/status", {"status": "waiting"})
