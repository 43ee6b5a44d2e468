"""Functions that are explored: two that break a rule, two that do not, and options that are wrong."""

import json
import pathlib
import re
import urllib.request
import uuid

import pytest

from shared_inbox_mock import Found

MAILS = ["Where is my order 1042?", "Order 1043 is broken"]


def call(world, method, path, body=None):
    headers = {"Authorization": f"Bearer {world.live_key}", "Content-Type": "application/json"}
    request = urllib.request.Request(world.base_url + path, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def blind(world):
    for mail in call(world, "GET", "/conversations?limit=100"):
        if order := re.search(r"\b10\d\d\b", mail["snippet"]):
            call(world, "POST", f"/conversations/{mail['id']}/replies", {"body": f"Your order {order[0]} is on its way."})
            call(world, "POST", f"/conversations/{mail['id']}/status", {"status": "waiting"})


def order_of(text):
    found = re.search(r"\b10\d\d\b", text)
    return found and found[0]


def deals_with(item, order):
    """A message about this order or about none, or a draft that a person did not want."""
    if item.get("direction") == "outbound":
        return order_of(item["text"]) in (None, order)
    return item.get("event") == "draft-discarded"


def correct(world, words=str):
    for entry in call(world, "GET", "/conversations?limit=100"):
        view = call(world, "GET", f"/conversations/{entry['id']}")
        items = view["timeline"]
        asked = [(n, order_of(it["text"])) for n, it in enumerate(items) if it.get("direction") == "inbound"]
        if not any(order for _, order in asked) or view["risk"] or (view["assignee"] or {}).get("type") == "user":
            continue
        waiting = [order for n, order in asked if order and not any(deals_with(it, order) for it in items[n + 1 :])]
        for order in dict.fromkeys(waiting):
            call(world, "POST", f"/conversations/{entry['id']}/replies", {"body": words(f"Your order {order} is on its way.")})
        call(world, "POST", f"/conversations/{entry['id']}/status", {"status": "waiting"})


def test_breaks_a_rule(shared_inbox_explore):
    shared_inbox_explore(blind, mails=MAILS, schedules=200, seconds=600)


def test_breaks_it_again(shared_inbox_explore):
    with pytest.raises(Found, match="never-twice") as found:
        shared_inbox_explore(blind, mails=MAILS, replay="1_0_lost-after@reply.0")
    assert found.value.report["schedules"] == 1
    printed = found.value.report["findings"][0]["tests"]["python"]
    pathlib.Path("test_printed.py").write_text(f"from test_explore import blind, correct\n\n\n{printed}")


def test_a_command_and_a_scenario_in_a_file(shared_inbox_explore):
    pathlib.Path("scenario.toml").write_text('mails = ["Where is my order 1042?"]')
    with pytest.raises(RuntimeError, match="made no request"):
        shared_inbox_explore(["true"], scenario="scenario.toml")
    with pytest.raises(ValueError, match="nowhere.toml: cannot be read"):
        shared_inbox_explore(["true"], scenario="nowhere.toml")


def test_holds(shared_inbox_explore):
    report = shared_inbox_explore(correct, mails=MAILS, schedules=30, seconds=600)
    assert report["verdict"] == "held" and report["schedules"] == 30


def test_a_floor_that_is_not_reached_and_what_could_not_be_judged_fail(shared_inbox_explore):
    shared_inbox_explore(correct, mails=MAILS, schedules=4, seconds=600, min_singles=4, strict=True)
    with pytest.raises(Found, match="4 single steps were tried, fewer than min_singles=5: nothing found: 4 of "):
        shared_inbox_explore(correct, mails=MAILS, schedules=4, seconds=600, min_singles=5)
    varies = lambda world: correct(world, lambda text: f"{text} ({uuid.uuid4().hex})")
    with pytest.raises(Found, match="(?s)could be judged: nothing found.*\nnot judged: same-end of outbox.text: the words differ"):
        shared_inbox_explore(varies, mails=MAILS, schedules=1, seconds=600, strict=True)


def test_an_interrupted_explorer_is_no_pass(shared_inbox_explore, monkeypatch, tmp_path):
    program = tmp_path / "interrupted"
    report = {"verdict": "interrupted", "findings": [], "notJudged": [], "coverage": {"singles": {"tried": 0, "of": 0}}}
    program.write_text(f"#!/bin/sh\nread wanted; echo '{json.dumps({'report': report, 'text': 'interrupted'})}'\n")
    program.chmod(0o700)
    monkeypatch.setenv("SHARED_INBOX_MOCK", str(program))
    with pytest.raises(RuntimeError, match="explore could not run: it was interrupted"):
        shared_inbox_explore(correct, mails=MAILS)


def test_a_coroutine_function_holds(shared_inbox_explore):
    async def app(world):
        correct(world)

    assert shared_inbox_explore(app, mails=MAILS, schedules=5, seconds=600)["verdict"] == "held"


def test_a_check_is_an_oracle(shared_inbox_explore):
    def check(world):
        if any(it["status"] not in (200, 201) for it in world.control.list_requests()):
            pytest.fail("a request failed")
        assert world.state_dir.is_dir()

    with pytest.raises(Found, match="check does not hold: Failed: a request failed"):
        shared_inbox_explore(correct, mails=MAILS, check=check, schedules=200, seconds=600)


@pytest.mark.parametrize(
    "options, named",
    [
        ({"mails": []}, "mails: must have"),
        ({"mails": MAILS, "seconds": "long"}, 'seconds: "long"'),
        ({"mails": MAILS, "people": "some"}, "people: must be"),
        ({"mails": MAILS, "replay": "nonsense"}, "replay nonsense: is no token"),
    ],
)
def test_a_wrong_option_is_named(shared_inbox_explore, options, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        shared_inbox_explore(correct, **options)


def test_an_app_that_fails_by_itself(shared_inbox_explore):
    with pytest.raises(RuntimeError, match="the run without trouble breaks a rule") as failed:
        shared_inbox_explore(lambda world: 1 / 0, mails=MAILS)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
