"""The HTTP service: by itself, or mounted in a host's application; and who may do what."""

try:
    from turnwire.runtime.http.access import Action, Authoriser, Principal, Target
    from turnwire.runtime.http.mounted import open_app
    from turnwire.runtime.http.process import RunningService, open_service, run_service
except ModuleNotFoundError as exc:
    raise ModuleNotFoundError(
        f"the HTTP service needs {exc.name}: pip install 'turnwire[serve]'", name=exc.name
    ) from exc

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
