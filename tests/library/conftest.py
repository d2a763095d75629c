"""The rig, for every test in this folder."""

from tests.harness.rig import local_rig, rig

__all__ = ["local_rig", "rig"]
