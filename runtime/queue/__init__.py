"""How turns get from those who produce them to the workers."""

from turnwire.runtime.queue.announcement import Announcement, Kind, Ticket
from turnwire.runtime.queue.async_producer import AsyncProducer
from turnwire.runtime.queue.interface import WorkQueue
from turnwire.runtime.queue.memory import MemoryQueue
from turnwire.runtime.queue.producer import Producer
from turnwire.runtime.queue.turn_queue import TurnQueue

__all__ = ["Announcement", "AsyncProducer", "Kind", "MemoryQueue", "Producer", "Ticket", "TurnQueue", "WorkQueue"]
