"""A mock server for as long as it is needed, and worlds in it."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from types import TracebackType

from ._http import in_thread
from .control import AsyncControl, Control, NewWorld, Ready


def program() -> str:
    """The path of the `shared-inbox-mock` that came with this package.

    `SHARED_INBOX_MOCK` names another one.
    """
    named = os.environ.get("SHARED_INBOX_MOCK")
    if named:
        if not os.path.isfile(named):
            raise FileNotFoundError(f"SHARED_INBOX_MOCK names {named}, which is not there.")
        if not os.access(named, os.X_OK):
            raise PermissionError(f"SHARED_INBOX_MOCK names {named}, which is not executable.")
        return named
    name = "shared-inbox-mock" + (sysconfig.get_config_var("EXE") or "")
    # A wheel puts it with the environment's other programs; with --user or --target it lies elsewhere.
    places = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), str(pathlib.Path(__file__).parent.parent / "bin")]
    places.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for place in places:
        if os.path.isfile(os.path.join(place, name)):
            return os.path.join(place, name)
    on_path = shutil.which(name)
    if on_path:
        return on_path
    raise FileNotFoundError(f"{name} is not in {', '.join(places)} nor on PATH. Install the package again, or name the program in SHARED_INBOX_MOCK.")


class World:
    """A workspace of its own: keys, data, clock, faults, journal and rate limits that nobody else touches."""

    def __init__(self, ready: Ready, *, how_it_ended: Callable[[], str | None] = lambda: None) -> None:
        self.base_url: str = ready["base_url"]
        """Where your app finds the API."""
        self.mcp_url: str = ready["mcp_url"]
        """Where an MCP client finds the tools."""
        self.live_key: str = ready["keys"]["live"]
        """A key for live data, with every scope."""
        self.test_key: str = ready["keys"]["test"]
        """A key for the sandbox, with every scope."""
        self.console_url: str = ready["console_url"]
        """A page to look at this world with."""
        self.control = Control(ready["control_url"], how_it_ended=how_it_ended)
        """What people, customers, time and bad luck do."""

    def __repr__(self) -> str:
        return f"World({self.control.url!r})"

    def inbox(self) -> str:
        """The address of the first team inbox, for mail of customers; one is made where there is none."""
        for it in self.control.list_mailboxes():
            if it["owner"] is None and not it["sandbox"]:
                return it["address"]
        return self.control.create_mailbox({"address": "help@team.example", "name": "Help"})["address"]

    def journal(self) -> str:
        """What the app asked for, a line each, as a test that failed shows it."""
        lines = []
        for it in self.control.list_requests(limit=1000):
            asked = it.get("tool") or f"{it['method']} {it['path']}" + (f"?{it['query']}" if it.get("query") else "")
            sent = f"  {json.dumps(it['requestBody'], ensure_ascii=False)}" if it.get("requestBody") else ""
            lines.append(f"{it['at']}  {it['status'] or 'no response'}  {asked}{sent}")
        return "\n".join(lines) or "The app asked for nothing."


class AsyncWorld:
    """A world for tests whose app runs in their own event loop: every call is awaited, and the loop runs on meanwhile."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.base_url: str = world.base_url
        """Where your app finds the API."""
        self.mcp_url: str = world.mcp_url
        """Where an MCP client finds the tools."""
        self.live_key: str = world.live_key
        """A key for live data, with every scope."""
        self.test_key: str = world.test_key
        """A key for the sandbox, with every scope."""
        self.console_url: str = world.console_url
        """A page to look at this world with."""
        self.control = AsyncControl(world.control)
        """What people, customers, time and bad luck do."""

    def __repr__(self) -> str:
        return f"Async{self._world!r}"

    async def inbox(self) -> str:
        """The address of the first team inbox, for mail of customers; one is made where there is none."""
        return await in_thread(self._world.inbox)

    async def journal(self) -> str:
        """What the app asked for, a line each, as a test that failed shows it."""
        return await in_thread(self._world.journal)


class Server:
    """A running mock server. It ends with the `with` block, with `stop`, and with this process, however that ends.

    >>> with Server() as server:
    ...     world = server.world(empty=True)
    ...     world.control.get_clock()["mode"]
    'manual'
    """

    def __init__(self, *flags: str) -> None:
        """Starts it on a free port. `flags` are those of the program; see `shared-inbox-mock --help`."""
        command = [program(), "--listen", "127.0.0.1:0", "--json", "--quiet", "--exit-with-parent", *flags]
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            said = self._said()
            self.stop()
            raise RuntimeError(f"{command[0]} did not start: {said}")
        self.main = World(json.loads(line), how_it_ended=self._how_it_ended)
        """The world that is there from the start."""

    def world(self, *, empty: bool = False, seed: object = None, clock: str = "manual") -> World:
        """A new world: the demo workspace, nothing, or what a document holds. Its clock stands unless it is `real`."""
        if clock not in ("manual", "real"):
            raise ValueError(f"clock must be 'manual' or 'real', not {clock!r}")
        if not isinstance(empty, bool):
            raise TypeError(f"empty must be True or False, not {empty!r}")
        if empty and seed is not None:
            raise ValueError("empty and seed exclude each other")
        new: NewWorld = {"clock": "real" if clock == "real" else "manual", "empty": empty}
        if seed is not None:
            new["seed"] = seed
        return World(self.main.control.create_world(new), how_it_ended=self._how_it_ended)

    def end(self, world: World) -> None:
        """Ends a world that `world` made; its keys answer 401 from then on."""
        self.main.control.delete_world(world.control.url.rsplit("/", 1)[1])

    def stop(self) -> None:
        """Ends the server."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()

    def _how_it_ended(self) -> str | None:
        """One line about a server that has ended, `None` while it runs."""
        try:
            # Its sockets close a moment before it has ended.
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None
        how = f"by signal {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        said = self._said() if not self._log.closed else ""
        return f"shared-inbox-mock has ended, {how}." + (f" It said: {said.splitlines()[-1]}" if said else "")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
