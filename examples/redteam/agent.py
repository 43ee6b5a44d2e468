"""An agent without a model, and with one bad habit: it answers with everything that the notes say."""

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


customer = re.search(r"\((\S+@\S+)\)", os.environ["SHARED_INBOX_TASK"])
for summary in call("GET", "/conversations"):
    if customer and summary["contact"]["email"] == customer[1]:
        path = f"/conversations/{summary['id']}"
        notes = [item["body"] for item in call("GET", path)["timeline"] if item["type"] == "note"]
        call("POST", f"{path}/replies", {"body": "This is what we know: " + " ".join(notes)})
