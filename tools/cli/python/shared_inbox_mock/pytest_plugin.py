"""Fixtures: one server for the run, a world for each test, and the journal of a test that failed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from ._explore import explore
from ._http import Refused, Unreachable
from ._redteam import Agent, RedTeam, Review, attacks
from ._server import AsyncWorld, Server, World, program

_WORLD = pytest.StashKey[World]()
_JOURNAL = pytest.StashKey[str]()
_STRICT = pytest.StashKey[bool]()


class UnusedWarning(pytest.PytestWarning):
    """A test set up what had no effect: a fault that never fired, or an expectation of none that nothing could have met."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shared-inbox")
    told = "a further flag of shared-inbox-mock, such as --shared-inbox-flag=--rate-limit=off; may be repeated"
    group.addoption("--shared-inbox-flag", action="append", default=[], metavar="FLAG", help=told)
    parser.addini("shared_inbox_flags", "further flags of shared-inbox-mock, as a list", type="args", default=[])
    strict = "fails a test that set up what had no effect, such as a fault that never fired; otherwise it is a warning"
    parser.addini("shared_inbox_strict", strict, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "shared_inbox(empty=False, seed=None, clock='manual', strict=False): how the world of the test starts, and whether what had no effect fails it")
    told = "shared_inbox_redteam(only=[], task=[], sample=80, all=False, attacks=None, seed=1, strict=False, judge=None, timeout=120)"
    config.addinivalue_line("markers", f"{told}: which attacks the test is run with, as the flags of shared-inbox-mock redteam")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test case of each attack."""
    if "shared_inbox_redteam" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("shared_inbox_redteam")
    try:
        ids = attacks(marker.kwargs if marker else {})
    # No line of this package is to blame, so that only the sentence is shown.
    except (FileNotFoundError, PermissionError) as wrong:
        raise pytest.Collector.CollectError(str(wrong)) from None
    except ValueError as wrong:
        raise pytest.Collector.CollectError(f"@pytest.mark.shared_inbox_redteam: {wrong}") from None
    metafunc.parametrize("shared_inbox_redteam", ids, indirect=True)


@pytest.fixture(scope="session")
def shared_inbox_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The mock server of this run; it starts when a test first needs it."""
    try:
        server = Server(*pytestconfig.getini("shared_inbox_flags"), *pytestconfig.getoption("--shared-inbox-flag"))
    except (OSError, RuntimeError) as wrong:
        # No line of a test or of this package is to blame.
        raise pytest.fail.Exception(str(wrong), pytrace=False) from None
    with server:
        yield server


@pytest.fixture
def shared_inbox(request: pytest.FixtureRequest, shared_inbox_server: Server) -> Iterator[World]:
    """A world of this test's own: the demo workspace, with a clock that stands until the test moves it.

    `@pytest.mark.shared_inbox(empty=True)` starts with nothing in it.
    """
    marker = request.node.get_closest_marker("shared_inbox")
    if marker and marker.args:
        pytest.fail(f"@pytest.mark.shared_inbox takes its options by name, such as empty=True, not {marker.args[0]!r}", pytrace=False)
    options = dict(marker.kwargs) if marker else {}
    strict = options.pop("strict", request.config.getini("shared_inbox_strict"))
    if not isinstance(strict, bool):
        pytest.fail(f"@pytest.mark.shared_inbox: strict must be True or False, not {strict!r}", pytrace=False)
    try:
        world = shared_inbox_server.world(**options)
    except (Refused, TypeError, ValueError) as wrong:
        raise pytest.fail.Exception(f"@pytest.mark.shared_inbox: {wrong}", pytrace=False) from None
    request.node.stash[_WORLD] = world
    request.node.stash[_STRICT] = strict
    yield world
    # A fixture of the test may have failed while it was torn down; then the report comes when the world is gone.
    request.node.stash[_JOURNAL] = _journal(world)
    del request.node.stash[_WORLD]
    try:
        shared_inbox_server.end(world)
    except Unreachable:
        pass  # The tests that use it say so.


@pytest.fixture
def shared_inbox_async(shared_inbox: World) -> AsyncWorld:
    """The world of `shared_inbox` for a test whose app runs in the test's own event loop: every call is awaited."""
    return AsyncWorld(shared_inbox)


@pytest.fixture
def shared_inbox_explore(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """Finds the bad day that breaks an app: `shared_inbox_explore(app, mails=["Where is my order 1042?"])`.

    The options are those of `shared_inbox_mock.explore`. The line that says how far it looked is a section of the test's report
    (`-rP` shows it) and a property in JUnit's.
    """
    node = request.node
    try:
        program()
    except (FileNotFoundError, PermissionError) as wrong:
        raise pytest.fail.Exception(str(wrong), pytrace=False) from None

    def tell(line: str, report: dict[str, Any]) -> None:
        node.add_report_section("call", "shared_inbox_explore", line)
        node.user_properties.append(("shared_inbox_explore", line))

    return functools.partial(explore, tell=tell)


@pytest.fixture(scope="session")
def _redteams() -> Iterator[dict[str, RedTeam]]:
    teams: dict[str, RedTeam] = {}
    yield teams
    for team in teams.values():
        team.close()


@pytest.fixture
def shared_inbox_redteam(request: pytest.FixtureRequest, _redteams: dict[str, RedTeam]) -> Callable[[Agent], dict[str, Any]]:
    """Holds an agent against hostile email: `shared_inbox_redteam(agent)`. Each attack is a test case of its own.

    The agent is a function that takes an `AgentInbox`. An attack that was obeyed fails the test, with its story; one that takes a
    person to tell skips it; what the agent raises is raised. `@pytest.mark.shared_inbox_redteam(only=["hidden"])` chooses attacks.
    """
    __tracebackhide__ = True
    marker = request.node.get_closest_marker("shared_inbox_redteam")
    options = marker.kwargs if marker else {}
    # A task is tried once without an attack for each function of a test, which may have an agent of its own.
    name = f"{request.node.nodeid.split('[')[0]} {options!r}"

    def run(agent: Agent) -> dict[str, Any]:
        __tracebackhide__ = True
        team = _redteams.get(name) or _redteams.setdefault(name, RedTeam(options))
        try:
            return team.run(request.param, agent)
        except Review as review:
            raise pytest.skip.Exception(f"for review: {review}") from None

    return run


def _journal(world: World) -> str:
    try:
        return world.journal()
    except (Refused, Unreachable) as gone:
        return str(gone)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        world = item.stash.get(_WORLD, None)
        journal = _journal(world) if world else item.stash.get(_JOURNAL, None)
        if journal is not None:
            report.sections.append(("what the app asked of the shared inbox", journal))
    return report


def _one_line_if_the_server_ended() -> Generator[None, object, object]:
    """Lets a test whose server has ended fail with that line alone, since no line of the test is to blame."""
    try:
        return (yield)
    except Unreachable as gone:
        if gone.ended:
            raise pytest.fail.Exception(str(gone), pytrace=False) from None
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _one_line_if_the_server_ended())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield from _one_line_if_the_server_ended()
    # Only a test that passed comes here.
    world = item.stash.get(_WORLD, None)
    unused = _unused(world) if world else []
    strict = item.stash.get(_STRICT, False)
    if unused and strict:
        raise pytest.fail.Exception("The test set up what had no effect:\n" + "\n".join(unused), pytrace=False)
    for message in unused:
        item.warn(UnusedWarning(message))
    return result


def _unused(world: World) -> list[str]:
    try:
        return [it["message"] for it in world.control.list_unused()]
    except (Refused, Unreachable):
        return []  # A server that has ended fails the tests that use it.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    return (yield from _one_line_if_the_server_ended())
