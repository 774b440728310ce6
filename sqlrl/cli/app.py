"""The commands together."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import typer

from sqlrl.cli.audit import audit
from sqlrl.cli.bias import bias
from sqlrl.cli.count import count
from sqlrl.cli.define import define
from sqlrl.cli.demo import demo
from sqlrl.cli.diagnose import diagnose
from sqlrl.cli.doctor import doctor
from sqlrl.cli.ego import ego
from sqlrl.cli.evaluate import evaluate
from sqlrl.cli.examples import with_examples
from sqlrl.cli.explain import explain
from sqlrl.cli.export import export
from sqlrl.cli.failures import Commands, pipe_closed
from sqlrl.cli.ground import ground
from sqlrl.cli.infer import infer
from sqlrl.cli.load import load
from sqlrl.cli.migrate import migrate
from sqlrl.cli.overlap import overlap
from sqlrl.cli.psl import psl
from sqlrl.cli.remove import remove
from sqlrl.cli.report import report
from sqlrl.cli.run import run as run_script
from sqlrl.cli.sql import sql
from sqlrl.cli.streams import prepare_streams
from sqlrl.cli.version import version
from sqlrl.cli.why import why

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class LoadedLater(Commands):
    """The group of commands; it loads `learn` when it is called, since its options come from the learners, which take a while."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        if name == learn.__name__:
            settings = dict(_SETTINGS)
            if set(_SETTINGS["help_option_names"]) & set(rest):
                # This help has the options that matter most, for which no learner is loaded.
                from sqlrl.cli.learning import learn as whole
            else:
                from sqlrl.cli.learn import learn as whole

                settings["help_option_names"] = [*settings["help_option_names"], "--help-all"]
            alone = typer.Typer(rich_markup_mode=app.rich_markup_mode, add_completion=False)
            alone.command(context_settings=settings, help=with_examples(whole))(whole)
            command = typer.main.get_command(alone)
        return name, command, rest


def learn() -> None:
    """Learn the weights of a model, and new clauses with --learner osl or ilp."""


app = typer.Typer(
    name="sqlrl",
    cls=LoadedLater,
    help="Learn weighted first-order rules from relational data with SQL, and predict with them.",
    epilog="Results go to standard output, messages and progress to standard error. `sqlrl demo` is a first run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)
for command in (
    load,
    remove,
    define,
    bias,
    ego,
    ground,
    count,
    diagnose,
    overlap,
    audit,
    learn,
    infer,
    evaluate,
    why,
    psl,
    export,
    explain,
    report,
    sql,
    run_script,
    migrate,
    version,
    doctor,
    demo,
):
    app.command(help=with_examples(command))(command)


def run() -> NoReturn:
    """Run the command line and end the process, with what has Ctrl-C in its hands (`interrupts.watch`) around it."""
    prepare_streams()
    try:
        app()
    except SystemExit as end:
        # What is still in the buffer may meet a closed pipe; at the exit of the interpreter nobody could catch that.
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            sys.exit(pipe_closed())
        sys.exit(end.code)
    sys.exit(0)
