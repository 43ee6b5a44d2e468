"""Fixtures: one server for the run, a world for each test, and the journal of a test that failed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from ._explore import explore
from ._http import Refused, Unreachable
from ._server import AsyncWorld, Server, World

_WORLD = pytest.StashKey[World]()
_JOURNAL = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shared-inbox")
    told = "a further flag of shared-inbox-mock, such as --shared-inbox-flag=--rate-limit=off; may be repeated"
    group.addoption("--shared-inbox-flag", action="append", default=[], metavar="FLAG", help=told)
    parser.addini("shared_inbox_flags", "further flags of shared-inbox-mock, as a list", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "shared_inbox(empty=False, seed=None, clock='manual'): how the world of the test starts")


@pytest.fixture(scope="session")
def shared_inbox_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The mock server of this run; it starts when a test first needs it."""
    with Server(*pytestconfig.getini("shared_inbox_flags"), *pytestconfig.getoption("--shared-inbox-flag")) as server:
        yield server


@pytest.fixture
def shared_inbox(request: pytest.FixtureRequest, shared_inbox_server: Server) -> Iterator[World]:
    """A world of this test's own: the demo workspace, with a clock that stands until the test moves it.

    `@pytest.mark.shared_inbox(empty=True)` starts with nothing in it.
    """
    marker = request.node.get_closest_marker("shared_inbox")
    if marker and marker.args:
        pytest.fail(f"@pytest.mark.shared_inbox takes its options by name, such as empty=True, not {marker.args[0]!r}", pytrace=False)
    try:
        world = shared_inbox_server.world(**(marker.kwargs if marker else {}))
    except (Refused, TypeError, ValueError) as wrong:
        raise pytest.fail.Exception(f"@pytest.mark.shared_inbox: {wrong}", pytrace=False) from None
    request.node.stash[_WORLD] = world
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


@pytest.fixture(scope="session")
def shared_inbox_explore() -> Callable[..., dict[str, Any]]:
    """Finds the bad day that breaks an app: `shared_inbox_explore(app, mails=["Where is my order 1042?"])`.

    The options are those of `shared_inbox_mock.explore`.
    """
    return explore


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
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _one_line_if_the_server_ended())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    return (yield from _one_line_if_the_server_ended())
