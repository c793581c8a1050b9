"""The command group `quorate greeting`; one of its commands needs no cluster."""

import click
from quorate.plugin import Console

from quorate_greeting.api import Salutation
from quorate_greeting.salutations import WORDINGS


@click.group()
def greeting() -> None:
    """See how people are greeted."""


@greeting.group()
def salutation() -> None:
    """See the salutations."""


@salutation.command("list")
@click.pass_obj
def list_salutations(console: Console) -> None:
    """List the salutations that the plugin brings."""
    console.print([{"salutation": name, "wording": wording} for name, wording in WORDINGS.items()])


@greeting.command()
@click.argument("name")
@click.option(
    "--salutation",
    type=click.Choice(list(WORDINGS)),
    default="hello",
    show_default=True,
    help="How to greet.",
)
@click.pass_obj
def salute(console: Console, name: str, salutation: str) -> None:
    """Show the greeting for NAME."""
    text = Salutation(WORDINGS[salutation]).text(name)
    console.print([{"salutation": salutation, "name": name, "text": text}])
