"""Where threads are kept between runs: in memory, or in Redis."""

from turnwire.runtime.threads.memory import MemoryThreads

__all__ = ["MemoryThreads"]
