"""Fixtures: one server for the run, a world for each test, and the journal of a test that failed."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from ._server import Server, World

_WORLD = pytest.StashKey[World]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shared-inbox")
    group.addoption("--shared-inbox-flags", default="", help="further flags of shared-inbox-mock, e.g. '--rate-limit off'")
    parser.addini("shared_inbox_flags", "further flags of shared-inbox-mock", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "shared_inbox(empty=False, seed=None, clock='manual'): how the world of the test starts")


@pytest.fixture(scope="session")
def shared_inbox_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The mock server of this run; it starts when a test first needs it."""
    flags = pytestconfig.getoption("--shared-inbox-flags") or pytestconfig.getini("shared_inbox_flags")
    with Server(*flags.split()) as server:
        yield server


@pytest.fixture
def shared_inbox(request: pytest.FixtureRequest, shared_inbox_server: Server) -> Iterator[World]:
    """A world of this test's own: the demo workspace, with a clock that stands until the test moves it.

    `@pytest.mark.shared_inbox(empty=True)` starts with nothing in it.
    """
    marker = request.node.get_closest_marker("shared_inbox")
    world = shared_inbox_server.world(**(marker.kwargs if marker else {}))
    request.node.stash[_WORLD] = world
    yield world
    shared_inbox_server.end(world)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    world = item.stash.get(_WORLD, None)
    if report.when == "call" and report.failed and world is not None:
        report.sections.append(("what the app asked of the shared inbox", world.journal()))
    return report
