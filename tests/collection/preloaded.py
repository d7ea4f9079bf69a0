"""What servers import, imported once for all that are forked afterwards."""

import importlib

import pytest
import scipy.special
import scipy.stats
import typer.main

from shuffledp.cli.app import app

__all__ = ["COMMAND", "pytest", "scipy"]

COMMAND = typer.main.get_command(app)
"""All commands, whose options are read once."""

for _name in (
    "collection.shuffler.app",
    "collection.analyzer.app",
    "collection.service.serving",
    "collection.stores.sqlite",
    "collection.stores.postgres",
    "collection.task.making",
    "jobs.release",
    "ledger",
):
    importlib.import_module(f"shuffledp.{_name}")
