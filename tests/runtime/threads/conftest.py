"""The stores that the tests of this folder are run with."""

from tests.kit.threads import open_threads

__all__ = ["open_threads"]
