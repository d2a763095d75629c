"""The rig and processes beside it, for every test in this folder."""

from tests.harness.rig import local_rig, rig
from tests.runtime.processes import drivers

__all__ = ["drivers", "local_rig", "rig"]
