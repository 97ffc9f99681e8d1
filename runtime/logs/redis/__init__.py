"""Logs in Redis Streams."""

from turnwire.runtime.logs.redis.log import RedisLog, open_redis_log
from turnwire.runtime.logs.redis.options import RedisLogOptions

__all__ = ["RedisLog", "RedisLogOptions", "open_redis_log"]
