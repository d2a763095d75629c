"""Shell commands, read before they run: what they start, what may go wrong, what cannot be known."""

from .examine import examine
from .report import CommandReport, Program, Risk, RiskKind, prefix

__all__ = ["CommandReport", "Program", "Risk", "RiskKind", "examine", "prefix"]
