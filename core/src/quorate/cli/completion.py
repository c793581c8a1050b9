"""`quorate completion`: the script that teaches a shell to complete `quorate`."""

import click
from click.shell_completion import get_completion_class

from quorate.cli.failures import failure

SHELLS = ("bash", "fish", "zsh")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add this line to ~/.bashrc: eval "$(quorate completion bash)"
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise failure(f"click knows no {shell}", "use another shell")
    click.echo(completion(ctx.find_root().command, {}, "quorate", "_QUORATE_COMPLETE").source())
