"""Fixtures that tests of several folders share, and how properties are searched.

The examples of a property are the same in every run, so that a run of the tests says something about the change that
was made. `pytest --hypothesis-profile=search` looks for new ones.
"""

from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.kit.servers", "tests.kit.logs", "tests.kit.browser"]

# No deadlines and no check of speed: how long an example takes says more about the machine's other work than about it.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("same")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make what a test logged fit for the way between test processes: some tests speak of halves of characters."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
