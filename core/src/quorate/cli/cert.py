"""`quorate cert`: a small certificate authority, for trials and tests."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Final

import click

from quorate.cli.failures import not_installed
from quorate.cli.options import DIRECTORY, flag, option
from quorate.cli.terminal import Terminal

_DAYS: Final = 365
#: The settings that take the files of a pair and of its authority.
_OF_NODE: Final = ("tls.cert_file", "tls.key_file", "tls.ca_file")
_OF_CLIENT: Final = ("QUORATE_TLS_CERT", "QUORATE_TLS_KEY", "QUORATE_TLS_CA")

_directory = option(
    "--dir directory",
    "Directory of the authority and its certificates.",
    DIRECTORY,
    Path("quorate-certs"),
)
_days = option("--days", "Days until it expires.", click.IntRange(1, 3_650), _DAYS)


@click.group("cert")
def command() -> None:
    """Make certificates for trials; in production, use your own authority."""


@command.command("init")
@_directory
@_days
@click.pass_obj
def init(terminal: Terminal, directory: Path, days: int) -> None:
    """Make an authority: ca.pem for every node and client, and ca.key, which stays here."""
    _authority().make_authority(directory, days)
    terminal.report(
        f"made {directory / 'ca.pem'}; sign with `quorate cert create`",
        {"ca": str(directory / "ca.pem")},
    )


@command.command("create")
@click.argument("name")
@option("--host hosts", "A DNS name or IP address by which clients reach the node.", multiple=True)
@flag("--client", "Valid for a client alone: no node serves with it.")
@_directory
@_days
@click.pass_obj
def create(
    terminal: Terminal,
    name: str,
    hosts: tuple[str, ...],
    client: bool,
    directory: Path,
    days: int,
) -> None:
    """Sign the certificate of the node NAME, as its [node] name is, or of a client."""
    if client and hosts:
        raise click.UsageError("--client takes no --host: nothing connects to a client")
    names = [name] if client else [name, *(hosts or ("localhost", "127.0.0.1"))]
    _authority().sign(directory, name, names, days, serves=not client)
    settings = _OF_CLIENT if client else _OF_NODE
    files = (f"{name}.pem", f"{name}.key", "ca.pem")
    rows = dict(zip(settings, (str((directory / file).absolute()) for file in files), strict=True))
    said = ", ".join(f"{setting} = {file}" for setting, file in rows.items())
    terminal.report(f"made a certificate: {said}", rows)


def _authority() -> ModuleType:
    """Import the authority module, which needs a library that clients lack."""
    try:
        return importlib.import_module("quorate.cli.authority")
    except ModuleNotFoundError as error:
        raise not_installed(error, "a certificate") from error
