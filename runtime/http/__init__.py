"""The HTTP service: routes, streams, access."""

from turnwire.runtime.http.process import RunningService, open_service, run_service

__all__ = ["RunningService", "open_service", "run_service"]
