"""What is inside of an exception group, however deep."""

from collections.abc import Iterator
from typing import cast


def leaves(exc: BaseException) -> Iterator[BaseException]:
    """Give the exceptions that a group holds, or the exception itself if it is no group."""
    if isinstance(exc, BaseExceptionGroup):
        for inner in cast("tuple[BaseException, ...]", exc.exceptions):
            yield from leaves(inner)
    else:
        yield exc
