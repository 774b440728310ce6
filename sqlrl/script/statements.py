"""The statements that SQL scripts have beside DuckDB's, as values, and their grammar.

    CREATE [OR REPLACE] PREDICATE [IF NOT EXISTS] name[(type[!], ...)] [OPTIONS (option = value, ...)] AS query
    CREATE ... PREDICATE ... FROM 'file' | FROM ['file', ...]
    CREATE [OR REPLACE] PREDICATE name AS RULES $$ Horn rules $$
    ALTER PREDICATE name SET SCOPE (query)
    CREATE [OR REPLACE] MODEL [IF NOT EXISTS] name [OPTIONS (...)] [AS $$ rules $$ | FROM 'file' | FROM MODEL name] [TRAINED ON (query)]
    ALTER MODEL name ADD RULE 'rule' [WEIGHT number]
    DROP MODEL [IF EXISTS] name
    EXPORT MODEL name TO 'file' [OPTIONS (...)]
    SHOW MODELS | SHOW PREDICATES
    DESCRIBE MODEL name

In any other statement `ML.FUNCTION(MODEL name, ...)` may stand where a table may. Words are read in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from sqlglot import TokenType

from sqlrl.errors import ScriptError
from sqlrl.script.source import CLOSING, OPENING, QUOTED, Tokens

# ---- parts -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StatementPart:
    """A name, a text or a query, and where it begins in the script."""

    text: str
    at: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Text(StatementPart):
    """What stands in quotes; `dollar` says whether these are dollar signs."""

    dollar: bool = False


@dataclass(frozen=True)
class QueryText(StatementPart):
    """What stands in brackets; of the tokens of its statement `first` up to before `last`."""

    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class ScriptVariable:
    """`$name`: the value of DuckDB's variable of that name."""

    name: str


@dataclass(frozen=True)
class Value:
    """The value of an option or an argument: a constant, a `Text`, a list of such, a `ScriptVariable` or a `QueryText`."""

    value: Any
    at: int


@dataclass(frozen=True)
class Setting:
    """`name = value` or `name => value`."""

    name: StatementPart
    value: Value


Settings: TypeAlias = tuple[Setting, ...]

# ---- statements --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files:
    """Where rows or rules come from: files."""

    names: tuple[Text, ...]


@dataclass(frozen=True)
class Rules:
    """Horn rules that define a predicate."""

    text: Text


@dataclass(frozen=True)
class CreatePredicate:
    """A predicate with facts, labels or rules that define it; `types` is None where a model declares them."""

    name: StatementPart
    types: tuple[str, ...] | None
    settings: Settings
    source: QueryText | Files | Rules
    replace: bool = False
    unless: bool = False


@dataclass(frozen=True)
class SetScope:
    """Which tuples of a predicate have atoms."""

    name: StatementPart
    query: QueryText


@dataclass(frozen=True)
class CreateModel:
    """A model under a name; `rules` are its text, a file, or the name of another model, and `examples` a query."""

    name: StatementPart
    settings: Settings
    rules: Text | None = None
    file: Text | None = None
    model: StatementPart | None = None
    examples: QueryText | None = None
    replace: bool = False
    unless: bool = False


@dataclass(frozen=True)
class AddRule:
    """One more rule."""

    name: StatementPart
    rule: Text
    weight: Value | None = None


@dataclass(frozen=True)
class DropModel:
    """Forget a model's name."""

    name: StatementPart
    exists: bool = False


@dataclass(frozen=True)
class ExportModel:
    """Write a model to a file; one that ends in .sql has a view that scores."""

    name: StatementPart
    file: Text
    settings: Settings = ()


@dataclass(frozen=True)
class Show:
    """List the models or the predicates."""

    what: str


@dataclass(frozen=True)
class DescribeModel:
    """List the rules of a model."""

    name: StatementPart


@dataclass(frozen=True)
class Call:
    """`ML.name(MODEL model, argument, ..., name => value, ...)`: tokens `first` up to before `last` of its statement."""

    name: StatementPart
    model: StatementPart | None
    arguments: tuple[Value, ...]
    settings: Settings
    first: int
    last: int


@dataclass(frozen=True)
class Plain:
    """A statement of DuckDB's, perhaps with functions of ours in it."""


Statement: TypeAlias = (
    CreatePredicate | SetScope | CreateModel | AddRule | DropModel | ExportModel | Show | DescribeModel | Plain
)

# ---- grammar -----------------------------------------------------------------------------------------

_Read = TypeVar("_Read")
_BEFORE_TABLES = ("FROM", "JOIN", "USING", "DESCRIBE", "DESC", "SUMMARIZE", "PIVOT", "UNPIVOT")
_CLAUSES = (*_BEFORE_TABLES, "SELECT", "WHERE", "HAVING", "QUALIFY", "LIMIT", "VALUES", "SET", "RETURNING", "BY")
_VALUES = "a 'text', a number, true, false, NULL, a [list] or $name"
"""What may stand as the value of an option."""
_ORDERS = (TokenType.ORDER_BY, TokenType.GROUP_BY, TokenType.PARTITION_BY)


def read_statement(tokens: Tokens) -> Statement:
    """Return what a statement is; ScriptError, with the place, if it begins as one of ours and is none."""
    reader = _Reader(tokens)
    if reader.take("CREATE"):
        replace = reader.take("OR", "REPLACE")
        if reader.take("PREDICATE"):
            return reader.create_predicate(replace)
        if reader.take("MODEL"):
            return reader.create_model(replace)
    elif reader.take("ALTER"):
        if reader.take("PREDICATE"):
            return reader.set_scope()
        if reader.take("MODEL"):
            return reader.add_rule()
    elif reader.take("DROP", "MODEL"):
        exists = reader.take("IF", "EXISTS")
        return reader.finished(DropModel(reader.name("the model"), exists))
    elif reader.take("EXPORT", "MODEL"):
        name = reader.name("the model")
        reader.expect("TO", "TO 'file'")
        file = reader.quoted("the file, in quotes")
        return reader.finished(ExportModel(name, file, reader.options()))
    elif len(tokens.tokens) == 2 and reader.take("SHOW"):
        if tokens.word(1) in ("MODELS", "PREDICATES"):
            return Show(tokens.word(1).lower())
    elif len(tokens.tokens) == 3 and (reader.take("DESCRIBE", "MODEL") or reader.take("DESC", "MODEL")):
        return reader.finished(DescribeModel(reader.name("the model")))
    calls_between(tokens, 0, len(tokens.tokens))
    return Plain()


def variables_between(tokens: Tokens, first: int, last: int, calls: Sequence[Call] = ()) -> dict[str, int]:
    """Return the names of `$name` among some tokens, and where each stands first; those inside of functions are left out."""
    found: dict[str, int] = {}
    for i in range(first, last - 1):
        token, follower = tokens.tokens[i], tokens.tokens[i + 1]
        dollar = token.token_type is TokenType.PARAMETER and token.text == "$" and follower.start == token.end + 1
        if dollar and not any(call.first <= i < call.last for call in calls):
            found.setdefault(follower.text, token.start)
    return found


def calls_between(tokens: Tokens, first: int, last: int) -> list[Call]:
    """Return the functions of ours among some tokens; those inside a query of another are part of that."""
    found: list[Call] = []
    i = first
    while i < last - 3:
        dotted = tokens.word(i) == "ML" and tokens.kind(i + 1) is TokenType.DOT
        if not dotted or tokens.kind(i + 3) is not TokenType.L_PAREN or (i and tokens.kind(i - 1) is TokenType.DOT):
            i += 1
            continue
        if not _is_table(tokens, i):
            raise tokens.source.error(
                f"{tokens.slice(i, i + 3)} is a table, and stands where one does: behind FROM or JOIN",
                tokens.tokens[i].start,
            )
        reader = _Reader(tokens, i + 2)
        found.append(reader.call(i))
        i = reader.at
    return found


def _is_table(tokens: Tokens, at: int) -> bool:
    """Whether what stands somewhere is a table: behind FROM, also in brackets and in a list."""
    kind = tokens.kind(at - 1)
    if kind is TokenType.L_PAREN:
        return _is_table(tokens, at - 1)
    if kind is not TokenType.COMMA:
        return tokens.word(at - 1) in _BEFORE_TABLES
    depth = 0
    for i in range(at - 2, -1, -1):
        depth += (tokens.kind(i) in CLOSING) - (tokens.kind(i) in OPENING)
        if depth < 0:
            return _is_table(tokens, i)
        if depth == 0 and (tokens.word(i) in _CLAUSES or tokens.kind(i) in _ORDERS):
            return tokens.word(i) in _BEFORE_TABLES
    return False


class _Reader:
    """Reads a statement of ours, token by token."""

    def __init__(self, tokens: Tokens, at: int = 0) -> None:
        self.tokens, self.at = tokens, at

    # ---- statements ------------------------------------------------------------------------------------

    def create_predicate(self, replace: bool) -> CreatePredicate:
        unless = self.take("IF", "NOT", "EXISTS")
        name = self.name("the predicate")
        types = self.types() if self.kind is TokenType.L_PAREN else None
        settings = self.options()
        source: QueryText | Files | Rules
        if self.take("AS", "RULES"):
            source = Rules(self.quoted("Horn rules, as in AS RULES $$ ancestor(x, y) :- parent(x, y). $$"))
            return self.finished(CreatePredicate(name, types, settings, source, replace, unless))
        if self.take("AS"):
            source = self.rest("a query")
        elif self.take("FROM"):
            source = Files(self.files())
        else:
            raise self.error("where the rows are is missing: AS SELECT ..., FROM 'file.parquet', or AS RULES $$ ... $$")
        return self.finished(CreatePredicate(name, types, settings, source, replace, unless))

    def set_scope(self) -> SetScope:
        name = self.name("the predicate")
        if not self.take("SET", "SCOPE"):
            raise self.error(
                "only the scope of a predicate can be altered: ALTER PREDICATE name SET SCOPE (SELECT ...)"
            )
        return self.finished(SetScope(name, self.query("the tuples that have atoms")))

    def create_model(self, replace: bool) -> CreateModel:
        unless = self.take("IF", "NOT", "EXISTS")
        name = self.name("the model")
        settings = self.options()
        rules = file = model = examples = None
        if self.take("AS"):
            if self.kind not in QUOTED:
                raise self.error(
                    "the rules stand here, as in AS $$ Smokes(person) ... $$; what to learn from is said behind them: TRAINED ON (SELECT ...)"
                )
            rules = self.quoted("the rules")
        elif self.take("FROM", "MODEL"):
            model = self.name("the model")
        elif self.take("FROM"):
            file = self.quoted("a file of rules, in quotes, or MODEL and the name of one")
        if self.take("TRAINED"):
            self.expect("ON", "TRAINED ON (SELECT ...)")
            examples = self.query("the examples to learn from")
        return self.finished(CreateModel(name, settings, rules, file, model, examples, replace, unless))

    def add_rule(self) -> AddRule:
        name = self.name("the model")
        if not self.take("ADD", "RULE"):
            raise self.error(
                "a model can be altered by a rule: ALTER MODEL name ADD RULE 'Smokes(x) => Cancer(x)' WEIGHT 1.5"
            )
        rule = self.quoted("a rule, in quotes")
        weight = self.value("a weight") if self.take("WEIGHT") else None
        return self.finished(AddRule(name, rule, weight))

    def call(self, first: int) -> Call:
        """Read a function from its name on."""
        name = self.name("the function")
        self.at += 1
        model: StatementPart | None = None
        arguments: list[Value] = []
        settings: list[Setting] = []
        while self.kind is not TokenType.R_PAREN:
            if (model or arguments or settings) and not self.sign(TokenType.COMMA):
                raise self.error(", or ) is missing")
            if self.tokens.word(self.at) == "MODEL" and self.tokens.kind(self.at + 1) not in (
                TokenType.COMMA,
                TokenType.R_PAREN,
            ):
                self.at += 1
                model = self.name("the model")
            elif self.tokens.kind(self.at + 1) in (TokenType.FARROW, TokenType.COLON_EQ):
                word = self.name("an option")
                self.at += 1
                settings.append(Setting(word, self.value(f"the value of {word}")))
            elif model is None and not arguments and self.tokens.word(self.at):
                raise self.error(f"the model is written MODEL {self.tokens.slice(self.at, self.at + 1)}")
            else:
                arguments.append(self.value("an argument"))
        self.at += 1
        return Call(name, model, tuple(arguments), tuple(settings), first, self.at)

    # ---- parts -----------------------------------------------------------------------------------------

    def types(self) -> tuple[str, ...]:
        """Read the types of arguments in brackets, each perhaps with ! behind it."""
        found: list[str] = []
        self.at += 1
        while not self.sign(TokenType.R_PAREN):
            if found and not self.sign(TokenType.COMMA):
                raise self.error(", or ) is missing: types stand in brackets, as in Friends(person, person)")
            name = self.name("a type").text
            found.append(name + "!" if self.sign(TokenType.NOT) else name)
        return tuple(found)

    def options(self) -> Settings:
        """Read OPTIONS (name = value, ...), if it is there."""
        found: list[Setting] = []
        if not self.take("OPTIONS"):
            return ()
        if not self.sign(TokenType.L_PAREN):
            raise self.error("options stand in brackets: OPTIONS (learner = 'adagrad')")
        while not self.sign(TokenType.R_PAREN):
            if found and not self.sign(TokenType.COMMA):
                raise self.error(", or ) is missing")
            name = self.name("an option")
            if not (self.sign(TokenType.EQ) or self.sign(TokenType.FARROW)):
                raise self.error(f"= is missing behind {name}")
            if any(each.name.text.casefold() == name.text.casefold() for each in found):
                raise self.tokens.source.error(f"{name} is given twice: give it once", name.at)
            found.append(Setting(name, self.value(f"the value of {name}")))
        return tuple(found)

    def value(self, what: str) -> Value:
        """Read a constant, a list of constants, $name, or a query in brackets."""
        at = self.start
        token = self.tokens.tokens[self.at] if self.at < len(self.tokens.tokens) else None
        if token is None:
            raise self.error(f"{what} is missing")
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            return Value(self.query(what), at)
        if kind is TokenType.L_BRACKET:
            self.at += 1
            items: list[Any] = []
            while not self.sign(TokenType.R_BRACKET):
                if items and not self.sign(TokenType.COMMA):
                    raise self.error(", or ] is missing")
                items.append(self.value(f"an item of {what}").value)
            return Value(items, at)
        if kind in QUOTED:
            return Value(self.quoted(what), at)
        if kind in (TokenType.DASH, TokenType.PLUS, TokenType.NUMBER, TokenType.DOT):
            return Value(self.number(what), at)
        if kind is TokenType.PARAMETER and token.text == "$":
            self.at += 1
            return Value(ScriptVariable(self.name("a variable, as in $name,").text), at)
        if kind is TokenType.L_BRACE:
            raise self.error(f"{what} is a struct, which no option takes: write {_VALUES}")
        constants = {"TRUE": True, "FALSE": False, "NULL": None, "NONE": None}
        word = self.tokens.word(self.at)
        if word in constants:
            self.at += 1
            return Value(constants[word], at)
        if word:
            shown = self.tokens.slice(self.at, self.at + 1)
            raise self.error(
                f"{shown} is no value: write a text in quotes, '{shown}', a number, true, false, NULL, a [list] or $name"
            )
        raise self.error(f"{what} is missing: write {_VALUES}")

    def number(self, what: str) -> int | float:
        """Read a number, perhaps with its sign."""
        start = self.start
        negative = self.sign(TokenType.DASH)
        if not negative:
            self.sign(TokenType.PLUS)
        first = self.at
        if self.kind is TokenType.DOT:
            self.at += 1
        if self.kind is not TokenType.NUMBER:
            raise self.tokens.source.error(f"{what} is no number", start)
        self.at += 1
        text = self.tokens.slice(first, self.at).replace("_", "")
        try:
            found: int | float = int(text) if text.isdecimal() else float(text)
        except ValueError:
            raise self.tokens.source.error(f"{what} is no number", start) from None
        return -found if negative else found

    def quoted(self, what: str) -> Text:
        """Read a text in quotes, or between dollar signs; its place is where the text itself begins."""
        if self.kind not in QUOTED:
            raise self.error(f"{what} is missing")
        token = self.tokens.tokens[self.at]
        self.at += 1
        if token.token_type is not TokenType.HEREDOC_STRING:
            return Text(token.text, token.start + 1)
        return Text(token.text, self.tokens.source.text.index("$", token.start + 1) + 1, dollar=True)

    def files(self) -> tuple[Text, ...]:
        """Read the name of a file, or a list of them."""
        if not self.sign(TokenType.L_BRACKET):
            return (self.quoted("a file, in quotes,"),)
        found = [self.quoted("a file, in quotes,")]
        while not self.sign(TokenType.R_BRACKET):
            if not self.sign(TokenType.COMMA):
                raise self.error(", or ] is missing")
            found.append(self.quoted("a file, in quotes,"))
        return tuple(found)

    def query(self, what: str) -> QueryText:
        """Read a query in brackets; what stands in them."""
        if self.kind is not TokenType.L_PAREN:
            raise self.error(f"{what} is missing: a query in brackets, (SELECT ...)")
        last = self.tokens.closing(self.at)
        first, self.at = self.at + 1, last + 1
        if last == first:
            raise self.tokens.source.error(f"{what} is missing: the brackets are empty", self.tokens.tokens[last].start)
        return QueryText(self.tokens.slice(first, last), self.tokens.tokens[first].start, first, last)

    def rest(self, what: str) -> QueryText:
        """Read all that is left."""
        if self.at >= len(self.tokens.tokens):
            raise self.error(f"{what} is missing")
        at, first = self.start, self.at
        self.at = len(self.tokens.tokens)
        return QueryText(self.tokens.slice(first, self.at), at, first, self.at)

    def name(self, what: str) -> StatementPart:
        """Read a name, perhaps in double quotes."""
        token = self.tokens.tokens[self.at] if self.at < len(self.tokens.tokens) else None
        if token is None or not (self.tokens.word(self.at) or token.token_type is TokenType.IDENTIFIER):
            quoted = ", which stands without quotes or in double ones" if self.kind in QUOTED else ""
            raise self.error(f"the name of {what} is missing{quoted}")
        self.at += 1
        return StatementPart(token.text, token.start)

    # ---- tokens ----------------------------------------------------------------------------------------

    @property
    def kind(self) -> TokenType | None:
        return self.tokens.kind(self.at)

    @property
    def start(self) -> int:
        """Where the next token begins, or where the statement has ended."""
        return self.tokens.tokens[self.at].start if self.at < len(self.tokens.tokens) else self.tokens.end

    def take(self, *words: str) -> bool:
        """Go past words, if they come next."""
        there = self.tokens.words(*words, at=self.at)
        self.at += len(words) * there
        return there

    def sign(self, kind: TokenType) -> bool:
        """Go past a sign, if it comes next."""
        there = self.kind is kind
        self.at += there
        return there

    def expect(self, word: str, form: str) -> None:
        """Go past a word that has to come next."""
        if not self.take(word):
            raise self.error(f"{word} is missing: {form}")

    def finished(self, statement: _Read) -> _Read:
        """Return a statement, if nothing is left."""
        if self.at < len(self.tokens.tokens):
            raise self.error(f"nothing can follow here, as {self.tokens.slice(self.at, self.at + 1)} does")
        return statement

    def error(self, problem: str) -> ScriptError:
        return self.tokens.source.error(problem, self.start)
