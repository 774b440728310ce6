"""What all tests and doctests share: databases without comments on their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sqlrl.catalog import migrations

_COMMENT = re.compile(r"^COMMENT ON .*?;\n", re.MULTILINE)


@pytest.fixture(scope="session", autouse=True)
def _no_comments() -> Iterator[None]:
    """Leave out the 246 comments on columns that a new database gets: they are most of what making one takes."""
    script = _COMMENT.sub("", migrations.layout_script())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "layout_script", lambda: script)
        patch.setattr(migrations, "comment_tables", lambda *_: None)
        yield


@pytest.fixture
def comments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases with their comments, as users have them."""
    from sqlrl.catalog.views import comment_tables
    from sqlrl.resources import resource

    monkeypatch.setattr(migrations, "layout_script", lambda: resource("schemas", "layout.sql"))
    monkeypatch.setattr(migrations, "comment_tables", comment_tables)
