"""Everything that can be set for a service or a worker: one frozen object, read once at the start."""

from turnwire.runtime.settings.groups import (
    HttpSettings,
    LimitSettings,
    ModelSettings,
    RedisSettings,
    Settings,
    TurnSettings,
    WorkerSettings,
)
from turnwire.runtime.settings.sources import LoadedSettings, SettingsError, load_settings

__all__ = [
    "HttpSettings",
    "LimitSettings",
    "LoadedSettings",
    "ModelSettings",
    "RedisSettings",
    "Settings",
    "SettingsError",
    "TurnSettings",
    "WorkerSettings",
    "load_settings",
]
