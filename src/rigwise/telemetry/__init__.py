"""Samples and steps of a run, kept in run.sqlite so that a kill -9 loses at most one second."""
