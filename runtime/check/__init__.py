"""Judges the two logs of finished turns, from the specification alone: it shares no rule with the actors it judges."""

from turnwire.runtime.check.implied import CheckLimits
from turnwire.runtime.check.judge import judge
from turnwire.runtime.check.violation import OutputEntry, RawEvent, Violation

__all__ = ["CheckLimits", "OutputEntry", "RawEvent", "Violation", "judge"]
