"""Small apps that answer mails about orders: `app.py correct`, and others with one fault each.

Nothing but the standard library. A request that fails ends the run; the next one makes it good.
"""

import json
import os
import pathlib
import random
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


GREETINGS = ["Hello,", "Good day,", "Thank you for asking.", "We have looked it up.", "Good news:", "Dear customer,"]
ENDINGS = ["is on its way.", "has left our warehouse.", "will be with you soon.", "was handed to the carrier.", "is being delivered."]


def varied_text_for(order):
    """What a model may write: never the same twice."""
    middle = " ".join(random.choices(["indeed", "happily", "we see that", "as promised,", "rest assured,"], k=8))
    return f"{random.choice(GREETINGS)} {middle} your order {order} {random.choice(ENDINGS)}"


def text_for(order):
    return f"Your order {order} is on its way."


def draft(conversation, order, send=False, text=text_for):
    return call("POST", f"/conversations/{conversation}/replies", {"body": text(order), "send": send})


def status(conversation, value):
    call("POST", f"/conversations/{conversation}/status", {"status": value})


def for_people(conversation):
    return (conversation["assignee"] or {}).get("type") == "user" or conversation["risk"]


def asked_orders(conversation):
    """The order of each email that names one, with what came after that email."""
    timeline = conversation["timeline"]
    mails = [(n, order_of(item["text"])) for n, item in enumerate(timeline) if item.get("direction") == "inbound"]
    return [(order, timeline[n + 1 :]) for n, order in mails if order]


def deals_with(item, order):
    """A message about this order or about none, or a draft that a person did not want."""
    if item.get("direction") == "outbound":
        return order_of(item["text"]) in (None, order)
    return item.get("event") == "draft-discarded"


def open_ones():
    return call("GET", "/conversations?limit=100")


def read(entry):
    return call("GET", f"/conversations/{entry['id']}")


def todo(deals=deals_with, leave=for_people):
    """Conversations in which a customer asks for an order, with the orders that wait for an answer."""
    for entry in open_ones():
        conversation = read(entry)
        asked = asked_orders(conversation)
        if asked and not leave(conversation):
            waiting = [order for order, since in asked if not any(deals(item, order) for item in since)]
            yield entry["id"], list(dict.fromkeys(waiting))


def correct(text=text_for):
    for conversation, orders in todo():
        for order in orders:
            draft(conversation, order, text=text)
        status(conversation, "waiting")


def varies():
    correct(varied_text_for)


def retries_blindly(text=text_for):
    for conversation, orders in todo():
        for order in orders:
            try:
                draft(conversation, order, text=text)
            except (urllib.error.URLError, OSError):
                draft(conversation, order, text=text)
        status(conversation, "waiting")


def varies_and_retries_blindly():
    retries_blindly(varied_text_for)


def varies_and_mixes_orders_up():
    """After a failure it tells the customer of another order."""
    failed = STATE / "failed"
    for conversation, orders in todo():
        for order in orders:
            try:
                draft(conversation, "1049" if failed.exists() else order, text=varied_text_for)
            except OSError:
                failed.write_text("")
                raise
        status(conversation, "waiting")


def answers_what_the_list_shows():
    for entry in open_ones():
        order = order_of(entry["snippet"])
        if order and not for_people(entry):
            draft(entry["id"], order)
            status(entry["id"], "waiting")


def marks_first():
    for conversation, orders in todo():
        status(conversation, "waiting")
        for order in orders:
            draft(conversation, order)


def swallows_every_error():
    for conversation, orders in todo():
        try:
            for order in orders:
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
    for conversation, orders in todo(leave=lambda conversation: conversation["risk"]):
        for order in orders:
            draft(conversation, order)


def sends_what_was_discarded():
    discarded = set()

    def deals(item, order):
        if item.get("event") == "draft-discarded":
            discarded.add(order)
            return False
        return deals_with(item, order)

    for conversation, orders in todo(deals=deals):
        for order in orders:
            draft(conversation, order, send=order in discarded)


def knows_its_draft_by_its_words():
    deals = lambda item, order: item.get("text") == text_for(order) or item.get("event") == "draft-discarded"
    for conversation, orders in todo(deals=deals):
        for order in orders:
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
