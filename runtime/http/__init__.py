"""The HTTP service: by itself, or mounted in a host's application; and who may do what."""

from turnwire.runtime.http.access import Action, Authoriser, Principal, Target
from turnwire.runtime.http.mounted import open_app
from turnwire.runtime.http.process import RunningService, open_service, run_service

__all__ = [
    "Action",
    "Authoriser",
    "Principal",
    "RunningService",
    "Target",
    "open_app",
    "open_service",
    "run_service",
]
