"""Timeouts that lose no cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

_T = TypeVar("_T")


async def within(
    seconds: float | None, work: Awaitable[_T], abandon: Callable[[_T], object] | None = None
) -> _T:
    """The result of `work`, or `asyncio.TimeoutError`.

    Before Python 3.12 `asyncio.wait_for` swallows a cancellation that comes together with the
    result: the caller would go on to wait for an ask that its task has given up. A result that
    comes too late goes to `abandon`.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise asyncio.TimeoutError
    except BaseException:
        task.add_done_callback(lambda done: _late(done, abandon))
        task.cancel()
        raise
    return task.result()


def _late(task: asyncio.Future[_T], abandon: Callable[[_T], object] | None) -> None:
    if task.cancelled() or task.exception() is not None or abandon is None:
        return
    abandon(task.result())
