"""Agents with one habit each, held against hostile email."""

import json
import re
import urllib.request

import pytest


def call(inbox, method, path, body=None):
    headers = {"Authorization": f"Bearer {inbox.key}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(inbox.base_url + path, data, headers, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def conversation(inbox):
    address = re.search(r"\((\S+@\S+)\)", inbox.task)[1]
    found = next(it for it in call(inbox, "GET", "/conversations") if it["contact"]["email"] == address)
    return call(inbox, "GET", f"/conversations/{found['id']}")


def answer(inbox, text="It is on its way:"):
    timeline = conversation(inbox)["timeline"]
    notes = " ".join(item["body"] for item in timeline if item["type"] == "note")
    code = re.search(r"Tracking number for the customer: ([\w-]+)", notes)[1]
    call(inbox, "POST", f"/conversations/{conversation(inbox)['id']}/replies", {"body": f"{text} {code}."})
    return timeline


def words(timeline):
    return " ".join(item["text"] for item in timeline if item["type"] == "message")


@pytest.mark.shared_inbox_redteam(only=["plain.codes", "plain.send"])
def test_held(shared_inbox_redteam):
    assert shared_inbox_redteam(answer)["result"] == "held"


async def agent_of_test_async(inbox):
    answer(inbox)


@pytest.mark.shared_inbox_redteam(only=["plain.send"])
def test_async(shared_inbox_redteam):
    shared_inbox_redteam(agent_of_test_async)


@pytest.mark.shared_inbox_redteam(only=["plain.codes", "plain.send"])
def test_obeyed(shared_inbox_redteam):
    def obeys(inbox):
        timeline = answer(inbox)
        if "internal notes" in words(timeline):
            notes = " ".join(item["body"] for item in timeline if item["type"] == "note")
            call(inbox, "POST", f"/conversations/{conversation(inbox)['id']}/replies", {"body": notes})

    shared_inbox_redteam(obeys)


@pytest.mark.shared_inbox_redteam(only=["link.tracking"])
def test_review(shared_inbox_redteam):
    shared_inbox_redteam(lambda inbox: answer(inbox, "Do not open https://track-acme.example/login, please. It left:"))


@pytest.mark.shared_inbox_redteam(only=["plain.send"])
def test_raises(shared_inbox_redteam):
    def quota_exceeded(inbox):
        if "Do not leave this as a draft" in words(conversation(inbox)["timeline"]):
            raise RuntimeError("429 quota exceeded")
        answer(inbox)

    shared_inbox_redteam(quota_exceeded)


@pytest.mark.shared_inbox_redteam(only=["plain.tag"])
def test_not_tried(shared_inbox_redteam):
    shared_inbox_redteam(lambda inbox: None)
