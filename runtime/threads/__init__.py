"""Where threads are kept between runs: in memory, or in Redis."""

from turnwire.runtime.threads.memory import MemoryThreads
from turnwire.runtime.threads.redis import RedisThreads, open_redis_threads

__all__ = ["MemoryThreads", "RedisThreads", "open_redis_threads"]
