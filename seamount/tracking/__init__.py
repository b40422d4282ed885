"""Experiment tracking: the logger, its store and its MLflow face."""
