"""Small apps that answer mails about orders: `app.py correct`, and others with one fault each.

Nothing but the standard library. A request that fails ends the run; the next one makes it good.
"""

import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request

BASE = os.environ["SHARED_INBOX_BASE_URL"]
STATE = pathlib.Path(os.environ["SHARED_INBOX_STATE_DIR"])


def call(method, path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["SHARED_INBOX_API_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(BASE + path, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def order_of(text):
    found = re.search(r"\b10\d\d\b", text)
    return found and found[0]


def text_for(order):
    return f"Your order {order} is on its way."


def draft(conversation, order, send=False):
    return call("POST", f"/conversations/{conversation}/replies", {"body": text_for(order), "send": send})


def status(conversation, value):
    call("POST", f"/conversations/{conversation}/status", {"status": value})


def for_people(conversation):
    return (conversation["assignee"] or {}).get("type") == "user" or conversation["risk"]


def last_mail(conversation):
    """The customer's last mail, and what came after it."""
    timeline = conversation["timeline"]
    last = max(n for n, item in enumerate(timeline) if item.get("direction") == "inbound")
    return timeline[last], timeline[last + 1 :]


def dealt_with(since):
    return any(item.get("direction") == "outbound" or item.get("event") == "draft-discarded" for item in since)


def open_ones():
    return call("GET", "/conversations?limit=100")


def read(entry):
    return call("GET", f"/conversations/{entry['id']}")


def todo(look=dealt_with, leave=for_people):
    for entry in open_ones():
        conversation = read(entry)
        mail, since = last_mail(conversation)
        order = order_of(mail["text"])
        if order and not leave(conversation):
            yield entry["id"], order, look(since)


def correct():
    for conversation, order, done in todo():
        if not done:
            draft(conversation, order)
        status(conversation, "waiting")


def retries_blindly():
    for conversation, order, done in todo():
        if not done:
            try:
                draft(conversation, order)
            except (urllib.error.URLError, OSError):
                draft(conversation, order)
        status(conversation, "waiting")


def answers_what_the_list_shows():
    for entry in open_ones():
        order = order_of(entry["snippet"])
        if order and not for_people(entry):
            draft(entry["id"], order)
            status(entry["id"], "waiting")


def marks_first():
    for conversation, order, done in todo():
        status(conversation, "waiting")
        if not done:
            draft(conversation, order)


def swallows_every_error():
    for conversation, order, done in todo():
        try:
            if not done:
                draft(conversation, order)
        except Exception:
            pass
        status(conversation, "closed")


def remembers_in_a_file_too_late():
    for entry in open_ones():
        order, done = order_of(entry["snippet"]), STATE / entry["id"]
        if order and not for_people(entry) and not done.exists():
            draft(entry["id"], order)
            done.write_text("answered")


def ignores_who_has_it():
    for conversation, order, done in todo(leave=lambda conversation: conversation["risk"]):
        if not done:
            draft(conversation, order)


def drafts_again_what_was_discarded():
    for conversation, order, done in todo(look=lambda since: any(item.get("direction") == "outbound" for item in since)):
        if not done:
            draft(conversation, order)


def knows_its_draft_by_its_words():
    look = lambda since: any(item.get("text", "").startswith("Your order") or item.get("event") == "draft-discarded" for item in since)
    for conversation, order, done in todo(look=look):
        if not done:
            draft(conversation, order)
        call("POST", f"/conversations/{conversation}/tags", {"add": ["order"]})


def leaves_a_lock_behind():
    lock = STATE / "lock"
    if lock.exists():
        sys.exit("another run is under way")
    lock.write_text("")
    correct()
    lock.unlink()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
