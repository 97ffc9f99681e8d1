"""Where settings come from: defaults, a TOML file, the environment, the command line; the later one wins.

In the file a setting stands in the table of its group (`[redis]`, `url = ...`). In the environment it is called
TURNWIRE_, group, two underscores, name: TURNWIRE_REDIS__URL. On the command line it is `--set redis.url=...`. Texts
from the latter two are read by the setting's type: lists are separated by commas. "none" is how to say that there is
none, in the file too, since TOML has no word for it.

Nothing is coerced and nothing is passed over. Every problem is named with the place it came from, all at once.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import attrs

from turnwire.runtime.settings.checks import Check
from turnwire.runtime.settings.groups import Settings, conflicts
from turnwire.runtime.settings.values import Field, from_text, shown, shown_raw, structure, wanted

PREFIX = "TURNWIRE_"
FILE_VARIABLE = "TURNWIRE_SETTINGS"
"""Names the file, if the command line names none."""
DEFAULT = "default"


class SettingsError(ValueError):
    """Settings are wrong; nothing is started. For the operator: each line names a setting and where it came from."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@attrs.frozen
class LoadedSettings:
    """Settings, and where each of them came from, by its full name."""

    settings: Settings
    sources: Mapping[str, str]


def all_fields() -> dict[str, Field]:
    """Give every setting by its full name, such as `redis.url`."""
    return {
        f"{group.name}.{field.name}": field
        for group in attrs.fields(Settings)
        for field in attrs.fields(cast("type[attrs.AttrsInstance]", group.type))
    }


def variable_of(name: str) -> str:
    """Give the environment variable of a setting.

    >>> variable_of("redis.url")
    'TURNWIRE_REDIS__URL'
    """
    return PREFIX + name.replace(".", "__").upper()


def load_settings(
    file: str | Path | None = None, *, environ: Mapping[str, str] | None = None, command_line: Iterable[str] = ()
) -> LoadedSettings:
    """Read all settings once. `command_line` has texts of the form `redis.url=...`. Raises SettingsError."""
    environ = environ or {}
    reading = _Reading()
    path = file or environ.get(FILE_VARIABLE)
    if path:
        reading.read_file(Path(path))
    reading.read_environment(environ)
    reading.read_command_line(command_line)
    return reading.finish()


class _Reading:
    """Collects values and problems, source by source."""

    def __init__(self) -> None:
        self._fields = all_fields()
        self._values: dict[str, Any] = {}
        self._sources = dict.fromkeys(self._fields, DEFAULT)
        self._problems: list[str] = []

    def read_file(self, path: Path) -> None:
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:  # not there, not UTF-8, not TOML
            self._problems.append(f"settings file {path}: {exc}")
            return
        groups = [group.name for group in attrs.fields(Settings)]
        for group, table in tables.items():
            if group not in groups:
                self._problems.append(f"{group}: no such group of settings{_like(group, groups)} (file {path})")
            elif not isinstance(table, dict):
                self._problems.append(f"{group}: expected a table [{group}], got {type(table).__name__} (file {path})")
            else:
                for key, value in cast("dict[str, object]", table).items():
                    self._take(f"{group}.{key}", value, f"file {path}")

    def read_environment(self, environ: Mapping[str, str]) -> None:
        names = {variable_of(name): name for name in self._fields}
        for variable, text in environ.items():
            if not variable.startswith(PREFIX) or variable == FILE_VARIABLE:
                continue
            if variable in names:
                self._take_text(names[variable], text, f"environment {variable}")
            else:
                self._problems.append(f"{variable}: no such setting{_like(variable, names, PREFIX)} (environment)")

    def read_command_line(self, assignments: Iterable[str]) -> None:
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if equals:
                self._take_text(name.strip(), text, "command line")
            else:
                self._problems.append(f"{assignment}: expected NAME=VALUE, such as redis.prefix=codex (command line)")

    def finish(self) -> LoadedSettings:
        if self._problems:
            raise SettingsError(self._problems)
        groups: dict[str, Any] = {
            group.name: cast("Callable[..., object]", group.type)(
                **{name.partition(".")[2]: value for name, value in self._values.items() if _group(name) == group.name}
            )
            for group in attrs.fields(Settings)
        }
        settings = Settings(**groups)
        for name, problem in conflicts(settings):
            field = self._fields[name]
            value = getattr(getattr(settings, _group(name)), field.name)
            unwanted = "" if value is None else f", not {shown(field, value)}"
            self._complain(name, problem + unwanted, self._sources[name])
        if self._problems:
            raise SettingsError(self._problems)
        return LoadedSettings(settings, self._sources)

    def _take_text(self, name: str, text: str, source: str) -> None:
        field = self._fields.get(name)
        self._take(name, text if field is None else from_text(text, field.type), source)

    def _take(self, name: str, value: object, source: str) -> None:
        field = self._fields.get(name)
        if field is None:
            self._complain(name, f"no such setting{_like(name, self._fields)}", source)
            return
        self._sources[name] = source
        try:
            structured = structure(value, field.type)
        except TypeError:
            self._complain(name, f"expected {wanted(field.type)}, got {shown_raw(field, value)}", source)
            return
        check: Check | None = field.metadata["check"]
        if check is not None and structured is not None and (problem := check(structured)) is not None:
            self._complain(name, f"{problem}, not {shown(field, structured)}", source)
        else:
            self._values[name] = structured

    def _complain(self, name: str, problem: str, source: str) -> None:
        self._problems.append(f"{name}: {problem} ({source})")


def _group(name: str) -> str:
    return name.partition(".")[0]


def _like(name: str, names: Iterable[str], prefix: str = "") -> str:
    """Guess what was meant; the prefix that all names have makes none of them alike."""
    close = get_close_matches(name.removeprefix(prefix), [each.removeprefix(prefix) for each in names], 1)
    return f"; did you mean {prefix}{close[0]}?" if close else ""
