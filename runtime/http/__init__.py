"""The HTTP service: routes, streams, access."""
