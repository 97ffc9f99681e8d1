"""How a service keeps Python's garbage collector out of the way.

A library must not do that to its host; a process of our own may. Each open turn is some sixty objects that live as long
as it does. The collector goes by how many objects were made, so with ten thousand turns it looks at all of them over
and over and finds nothing: half of what an event costs then.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 50)
"""Python's own are 700, 10, 10. Rubbish in cycles waits for 50,000 new objects, which is some megabytes of it."""


@contextmanager
def collect_rarely() -> Generator[None, None, None]:
    """For the length of a block, collect more rarely, and never look at what is there already: code, mostly."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
