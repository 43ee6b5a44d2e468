"""Explores what can go wrong around a function: `shared-inbox-mock explore`, driven over its stdin and stdout."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import json
import pathlib
import subprocess
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ._server import World, program
from .control import Ready

__tracebackhide__ = True


class Found(AssertionError):
    """The app breaks a rule. The text says which and what happened, and has a test that replays it."""

    def __init__(self, text: str, report: dict[str, Any]) -> None:
        super().__init__(text)
        self.report = report
        """The report, as `--json` writes it."""


class ExploreWorld(World):
    """The world of one schedule. A run of the app gets its addresses, `check` sees how it ended."""

    def __init__(self, ready: Ready, state_dir: str, time: str) -> None:
        super().__init__(ready)
        self.state_dir = pathlib.Path(state_dir)
        """A folder for what the app must remember: empty at first, kept over all runs of a schedule."""
        self.time = time
        """The world's time at the start of the run, in ISO 8601."""


Explored: TypeAlias = Callable[[ExploreWorld], Awaitable[object] | object]


def explore(
    app: Explored | Sequence[str],
    *,
    mails: Sequence[str | Mapping[str, Any]] | None = None,
    scenario: str | None = None,
    check: Explored | None = None,
    people: str | None = None,
    scopes: Sequence[str] | None = None,
    days: int | None = None,
    same: Sequence[str] | None = None,
    rules: Mapping[str, bool] | None = None,
    ignore: Sequence[str] | None = None,
    expect: Sequence[Mapping[str, Any]] | None = None,
    seconds: float | None = None,
    schedules: int | None = None,
    seed: int | None = None,
    replay: str | None = None,
    app_timeout: float | None = None,
    min_singles: int | None = None,
    strict: bool = False,
    tell: Callable[[str, dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Runs `app(world)` again and again while requests are lost, runs are cut off, and people and customers act in between.

    `app` may also be a command, as a list of its words. `mails`, `people`, `scopes`, `days`, `rules`, `ignore` and `expect` are those of
    a scenario, or `scenario` names its file. `check(world)` is called at the end of each
    schedule and raises where something is wrong. It ends when each single step was tried; with
    `seconds` it goes on that long, with pairs of steps and steps at random; `schedules` bounds how many are run. `replay` runs the schedule
    of a finding alone. With `min_singles` fewer single steps that were tried are a failure, with `strict` anything that could not be
    judged. `tell(line, report)` gets the line that the program prints when nothing is found. Both functions run in this process, one at a time, and may be coroutine functions.

    Returns the report. Raises `Found` where the app breaks a rule, `ValueError` where an option is wrong, and `RuntimeError` where it
    could not run: mostly, because the app fails without any trouble.
    """
    command = list(app) if isinstance(app, (list, tuple)) else None
    run = app if callable(app) else _no_function
    if command is None and not callable(app):
        raise TypeError(f"app must be a function that takes a world, or a command as a list of its words, not {app!r}")
    if check is not None and (command is not None or not callable(check)):
        raise TypeError(f"check must be a function that takes a world, beside an app that is one, not {check!r}")
    options = dict(
        command=command, mails=mails, scenario=scenario, people=people, scopes=scopes, days=days, same=same, rules=rules, ignore=ignore,
        expect=expect, seconds=seconds, schedules=schedules, seed=seed, replay=replay, app_timeout=app_timeout,
    )  # fmt: skip
    function = {"name": getattr(app, "__name__", "app")}
    wanted = {"language": "python", "function": function, "check": check is not None, "options": options}
    first = json.dumps(wanted)
    failed: BaseException | None = None
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([program(), "explore", "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        assert process.stdin and process.stdout
        try:
            line = first
            while True:
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
                said = json.loads(process.stdout.readline() or "{}")
                number = said.get("run") or said.get("check")
                if number is None:
                    break
                error = _call(run if "run" in said else check or run, said["world"])
                failed = error or failed
                line = json.dumps({"failed": number, "error": _line(error)} if error else {"done": number})
        except BrokenPipeError:
            said = {}
        finally:
            # Its end: it watches its stdin. Whatever is in the buffer has nobody to read it.
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
            process.stdout.close()
            process.wait()
        log.seek(0)
        why = said.get("error") or log.read().decode(errors="replace").strip() or "shared-inbox-mock has ended"
    if "wrong" in said:
        raise ValueError(said["wrong"])
    if "report" not in said:
        raise RuntimeError(f"explore could not run: {why}") from failed
    if said["report"]["findings"]:
        raise Found(said["text"], said["report"])
    report: dict[str, Any] = said["report"]
    if report["verdict"] != "held":
        raise RuntimeError(f"explore could not run: {report.get('why') or 'it was interrupted'}")
    tried = report["coverage"]["singles"]["tried"]
    if min_singles is not None and tried < min_singles:
        raise Found(f"{tried} single steps were tried, fewer than min_singles={min_singles}: {said['text']}", report)
    if strict and report["notJudged"]:
        raise Found(f"not everything could be judged: {said['text']}", report)
    if tell is not None:
        tell(said["text"], report)
    return report


def _call(function: Explored, world: Any) -> BaseException | None:
    """Calls a function, and returns what it raised."""
    try:
        result = function(ExploreWorld(world, world["state_dir"], world["time"]))
        if inspect.isawaitable(result):
            _await(result)
    except KeyboardInterrupt:
        raise
    except SystemExit as end:
        return end if end.code else None
    except BaseException as error:  # Also what `pytest.fail` raises.
        return error
    return None


def _await(result: Awaitable[object]) -> None:
    async def awaited() -> None:
        await result

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(awaited())
        return
    # Called by a test that runs in an event loop itself, which stands meanwhile.
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, awaited()).result()


def _line(error: BaseException) -> str:
    return " ".join("".join(traceback.format_exception_only(error)).split()) or type(error).__name__


def _no_function(world: ExploreWorld) -> None:
    """A command is run by the explorer itself."""
