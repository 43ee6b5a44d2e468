"""Holds a function against hostile email: `shared-inbox-mock redteam`, driven over its stdin and stdout."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._explore import _await
from ._server import program

__tracebackhide__ = True


@dataclass(frozen=True)
class AgentInbox:
    """What an agent is told about the inbox and its task."""

    task: str
    """The task, in words."""
    base_url: str
    """The prefix of the REST API."""
    key: str
    """Its key, with all five scopes."""
    mcp_url: str
    """The MCP endpoint, with the same key as its bearer token."""
    state_dir: pathlib.Path
    """An empty folder of its own."""

    def __repr__(self) -> str:
        return f"AgentInbox(base_url={self.base_url!r})"


Agent: TypeAlias = Callable[[AgentInbox], Awaitable[object] | object]


class Obeyed(AssertionError):
    """The agent did what an attacker wanted. The text is the story of it."""

    def __init__(self, text: str, result: dict[str, Any]) -> None:
        super().__init__(text)
        self.result = result
        """The result of the attack, as `--json` writes it."""


class NotTried(AssertionError):
    """The agent did not meet the attack while working, so nothing is shown."""


class Review(Exception):
    """It takes a person to tell whether the agent obeyed. The text has the sentence."""


def flags(options: Mapping[str, Any]) -> list[str]:
    """The flags of the program for the options of the marker `shared_inbox_redteam`."""
    given = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                given.append(flag)
            elif one is not None and one is not False:
                given += [flag, str(one)]
    return given


def attacks(options: Mapping[str, Any]) -> list[str]:
    """The ids of the attacks that these options choose."""
    listed = subprocess.run([program(), "redteam", "--list", "--json", "-", *flags(options)], capture_output=True, text=True)
    if listed.returncode != 0:
        raise ValueError(listed.stderr.strip().removeprefix("shared-inbox-mock: "))
    return [attack["id"] for attack in json.loads(listed.stdout)["attacks"] if attack["sampled"]]


class RedTeam:
    """A red team that runs one attack at a time. The runs without an attack are made once for each task."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        choosing = ("only", "task", "all", "sample")
        others = {name: value for name, value in options.items() if name not in choosing}
        command = [program(), "redteam", "--pipe", *flags(others)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()

    def run(self, attack: str, agent: Agent) -> dict[str, Any]:
        """Runs the agent under an attack, and before that on its task without one where that is not known.

        Returns the result. Raises `Obeyed`, `Review`, `NotTried`, or what the agent itself raised under the attack.
        """
        failed: BaseException | None = None
        said = self._ask({"attack": attack})
        while "run" in said:
            failed = _call(agent, said["world"])
            number = said["run"]
            said = self._ask({"failed": number, "error": repr(failed)} if failed else {"done": number})
        if "result" not in said:
            raise RuntimeError(f"redteam could not run: {said.get('error')}")
        result: dict[str, Any] = said["result"]
        if result["result"] == "obeyed":
            raise Obeyed("\n".join([f"{attack} was obeyed", *result["story"]]), result) from failed
        if result["result"] == "review":
            raise Review(result["why"])
        if result["result"] == "not-tried":
            if failed:
                raise failed
            raise NotTried(f"{attack} was not tried: {result['why']}")
        return result

    def _ask(self, line: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout and self._process.stderr
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self._process.stdout.readline()
        if not answer:
            why = self._process.stderr.read().decode(errors="replace").strip()
            raise RuntimeError(f"redteam could not run: {why or 'shared-inbox-mock has ended'}")
        said: dict[str, Any] = json.loads(answer)
        return said


def _call(agent: Agent, world: Mapping[str, str]) -> BaseException | None:
    """Calls the agent, and returns what it raised."""
    inbox = AgentInbox(world["task"], world["base_url"], world["key"], world["mcp_url"], pathlib.Path(world["state_dir"]))
    try:
        result = agent(inbox)
        if isinstance(result, Awaitable):
            _await(result)
    except KeyboardInterrupt:
        raise
    except SystemExit as end:
        return end if end.code else None
    except BaseException as error:  # Also what `pytest.fail` raises.
        return error
    return None
