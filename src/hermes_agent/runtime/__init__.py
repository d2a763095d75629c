"""Runs that outlive their process: who drives a session, how long, and who takes over."""
