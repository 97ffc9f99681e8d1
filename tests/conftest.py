"""Fixtures that tests of several folders share, and how properties are searched.

The examples of a property are the same in every run, so that a run of the tests says something about the change that
was made. `pytest --hypothesis-profile=search` looks for new ones.
"""

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.kit.servers", "tests.kit.logs"]

# No deadlines and no check of speed: how long an example takes says more about the machine's other work than about it.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("same")
