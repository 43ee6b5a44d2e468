"""One call of the control API, with nothing but the standard library."""

from __future__ import annotations

import asyncio
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_Takes = ParamSpec("_Takes")
_Gives = TypeVar("_Gives")

__tracebackhide__ = True


class Refused(Exception):
    """The server did not do it, and says why."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(f"{status}: {error}")
        self.status = status
        """The HTTP status."""
        self.error = error
        """The server's sentence."""


class NotMet(AssertionError):
    """What a test expected did not happen; the text says what came nearest."""


class Unreachable(ConnectionError):
    """The server did not respond."""

    def __init__(self, message: str, ended: bool) -> None:
        super().__init__(message)
        self.ended = ended
        """Whether the server has ended; otherwise it is slow, or something stands between."""


class Caller:
    """Where a world is controlled, and the token for it where one is needed."""

    # No proxy stands between a test and a server on its own machine.
    _opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __init__(self, url: str, token: str | None = None, *, how_it_ended: Callable[[], str | None] = lambda: None) -> None:
        self.url = url.rstrip("/")
        """The address of the control API."""
        self._token = token
        self._how_it_ended = how_it_ended

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _call(self, method: str, path: str, *places: str, body: Any = None, query: dict[str, Any] | None = None) -> Any:
        url = self.url + path.format(*(urllib.parse.quote(place, safe="") for place in places))
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        if asked:
            url += "?" + urllib.parse.urlencode(asked)
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=120) as response:
                text = response.read()
        except urllib.error.HTTPError as refused:
            sentence = _sentence(refused.read())
            if path == "/expect" and refused.code == 409:
                raise NotMet(sentence) from None
            raise Refused(refused.code, sentence) from None
        except (OSError, http.client.HTTPException) as failed:
            ended = self._how_it_ended()
            reason = failed.reason if isinstance(failed, urllib.error.URLError) else failed
            raise Unreachable(ended or f"The mock server at {self.url} does not respond: {reason}", ended is not None) from None
        return json.loads(text) if text else None


async def in_thread(call: Callable[_Takes, _Gives], *args: _Takes.args, **kwargs: _Takes.kwargs) -> _Gives:
    """Makes a call that blocks in a thread, so that the event loop runs on."""
    try:
        return await asyncio.to_thread(call, *args, **kwargs)
    except (NotMet, Refused, Unreachable) as error:
        # Without the frames of the thread, so that pytest shows the line of the test.
        raise error.with_traceback(None) from None


def _sentence(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, LookupError, TypeError):
        return "The server did not say why."
