"""Who is told of what: subscribers of both eras, and the look that finds what has changed.

Other processes change the store as well, so it is looked at while somebody is subscribed, and
never else.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from ...runners.errors import KernelwrightError
from ..protocol.late import loaded

LOOK_S: Final = 1.0
MOST_WATCHED: Final = 1000
"""addresses at once"""
Versions = Mapping[str, str]
logger = logging.getLogger(__name__)


class Subscriptions:
    """The addresses that are watched, and how they stood when last looked at."""

    def __init__(self, look: Callable[[tuple[str, ...]], Awaitable[Versions]]) -> None:
        """`look` gives a text for each address that changes when the resource does."""
        self._look = look
        self.bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self.bus)
        self._listened: Counter[str] = Counter()
        self._sessions: dict[str, dict[int, Any]] = {}
        """of the older protocol, by address and identity"""
        self._known: dict[str, str] = {}

    async def watch(self) -> None:
        """Look again and again, and tell; runs until it is cancelled."""
        while True:
            await anyio.sleep(LOOK_S)
            if self.watched:
                await self.tell_changes()

    @property
    def watched(self) -> tuple[str, ...]:
        """Every address that somebody wants to be told of."""
        return tuple(dict.fromkeys((*(+self._listened), *self._sessions)))[:MOST_WATCHED]

    async def tell_changes(self) -> None:
        """Look once, and tell of what changed since the last look."""
        try:
            found = await self._look(self.watched)
        except KernelwrightError as error:  # the broker is being started again, or the disk is full
            logger.warning("subscribers are not told of changes: %s", error)
            return
        changed = [u for u, v in found.items() if self._known.get(u, v) != v]
        kept = {uri: self._known[uri] for uri in self.watched if uri in self._known}
        self._known = kept | dict(found)
        for uri in changed:
            await self._tell(uri)

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """A stream of the newer protocol, open as long as its client wants it."""
        uris = tuple(params.notifications.resource_subscriptions or ())
        await _require_watched(uris)
        with self._counted(uris):
            await self._learn(uris)
            return await self._listen(context, params)

    async def subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        """A subscription of the older protocol, held until it is ended or cannot be told."""
        uri = str(params.uri)
        await _require_watched((uri,))
        self._sessions.setdefault(uri, {})[id(context.session)] = context.session
        await self._learn((uri,))
        return EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """Its end."""
        self._forget(str(params.uri), id(context.session))
        return EmptyResult()

    async def _learn(self, uris: tuple[str, ...]) -> None:
        """How they stand now, so that the next change is seen."""
        new = tuple(uri for uri in uris if uri not in self._known)
        if new:
            self._known |= await self._look(new)

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for identity, session in tuple(self._sessions.get(uri, {}).items()):
            try:
                await session.send_resource_updated(uri)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._forget(uri, identity)

    def _forget(self, uri: str, identity: int) -> None:
        sessions = self._sessions.get(uri, {})
        sessions.pop(identity, None)
        if not sessions:
            self._sessions.pop(uri, None)

    @contextmanager
    def _counted(self, uris: tuple[str, ...]) -> Generator[None]:
        self._listened.update(uris)
        try:
            yield
        finally:
            self._listened.subtract(uris)


async def _require_watched(uris: tuple[str, ...]) -> None:
    """Raises SpecError or HandleUnknown."""
    if uris:
        await loaded()
        from .kinds import require_watched

        for uri in uris:
            require_watched(uri)
