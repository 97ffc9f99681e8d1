"""What a docstring says about a function and about each of its parameters.

Two ways of writing are understood: a section `Args:` with an indented `name: words` for each, and lines
`:param name: words`. The description for the model is what stands before the first section.
"""

import inspect
import re
from typing import Final

_SECTION: Final = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?):\s*$")
_ARGUMENTS: Final = frozenset({"Args", "Arguments", "Parameters"})
_ENTRY: Final = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<words>.*)$")
_FIELD: Final = re.compile(r"^:(?:param|parameter|arg)\s+(?:[^:]*\s)?(?P<name>\w+):\s*(?P<words>.*)$")
_ANY_FIELD: Final = re.compile(r"^:\w+[^:]*:")


def read_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Give the description, and what is said of each parameter.

    >>> read_docstring('''Say what time it is.
    ...
    ...     Args:
    ...         city: where, for example
    ...             Oslo
    ... ''')
    ('Say what time it is.', {'city': 'where, for example Oslo'})
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    end = next((number for number, line in enumerate(lines) if _SECTION.match(line) or _ANY_FIELD.match(line)), None)
    if end is None:
        return "\n".join(lines).strip(), {}
    said: dict[str, list[str]] = {}
    section, name = "", ""
    for line in lines[end:]:
        if found := _SECTION.match(line):
            section, name = found[1], ""
        elif found := _FIELD.match(line):
            section, name = "", found["name"]
            said[name] = [found["words"]]
        elif _ANY_FIELD.match(line):
            name = ""
        elif section in _ARGUMENTS and (found := _entry(line, lines[end:])):
            name = found["name"]
            said[name] = [found["words"]]
        elif name:
            said[name].append(line.strip())
    texts = {name: " ".join(word for word in words if word) for name, words in said.items()}
    return "\n".join(lines[:end]).strip(), {name: text for name, text in texts.items() if text}


def _entry(line: str, section: list[str]) -> re.Match[str] | None:
    """Find `name: words` at the smallest indent of its section; deeper lines go on with what was said before."""
    indents = [len(other) - len(other.lstrip()) for other in section if other.startswith(" ") and other.strip()]
    own = len(line) - len(line.lstrip())
    return _ENTRY.match(line.strip()) if line.startswith(" ") and own == min(indents) else None
