"""Imports of the servers, loaded once before processes are forked."""

import encodings.idna
import importlib

import anyio._backends._asyncio
import httpcore
import httptools
import pytest
import scipy.special
import scipy.stats
import typer.main
import uvicorn.lifespan.on
import uvicorn.protocols.http.httptools_impl
import uvloop

from shuffledp.cli.app import app

__all__ = ["COMMAND", "anyio", "encodings", "httpcore", "httptools", "pytest", "scipy", "uvicorn", "uvloop"]

COMMAND = typer.main.get_command(app)
"""All commands, with their options parsed once."""

for _name in (
    "collect.shuffler.app",
    "collect.shuffler.settings",
    "collect.analyzer.app",
    "collect.analyzer.settings",
    "collect.server.run",
    "collect.store.sqlite",
    "collect.store.postgres",
    "collect.task.new_task",
    "release.release",
    "ledger",
):
    importlib.import_module(f"shuffledp.{_name}")

for _name in ("shuffler", "analyzer"):  # typer imports these when it first parses options
    COMMAND.commands[_name].make_context(_name, ["--task", "t", "--key", "k", "--store", "s"], resilient_parsing=True)
