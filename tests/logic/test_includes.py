"""What a model may include, and what messages show of files that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sqlrl
from sqlrl.errors import ParseError, SqlrlError

MODEL = "P(t)\n1 P(x)\n"
OUTSIDE = {
    "passwd": "root:x:0:0:nobody-may-see-this:/root:/bin/sh\n",
    "key.pem": "-----BEGIN KEY-----\nnobody-may-see-this\n",
    "config.ini": "[main]\npassword = nobody-may-see-this\n",
    "half.txt": 'P(x) v "nobody-may-see-this\n',
    "rules.txt": "1 Unknown(x) ^ Q(nobody_may_see_this)\n",
    "header.txt": '// sqlrl {"query": [nobody-may-see-this]}\n',
    "weight.txt": "P(t) nobody-may-see-this\n",
    "latin.txt": "P(\udce9)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of models beside one of other files, with a model that may be included below it."""
    (tmp_path / "outside").mkdir()
    for name, text in OUTSIDE.items():
        (tmp_path / "outside" / name).write_bytes(text.encode(errors="surrogateescape"))
    (tmp_path / "outside" / "other.mln").write_text(MODEL, encoding="utf-8")
    (tmp_path / "models" / "sub").mkdir(parents=True)
    (tmp_path / "models" / "sub" / "part.mln").write_text('#include "../decls.mln"\n1 P(x)\n', encoding="utf-8")
    (tmp_path / "models" / "decls.mln").write_text("P(t)\n", encoding="utf-8")
    return tmp_path / "models"


def including(folder: Path, name: str) -> Path:
    """Write a model that includes a file."""
    path = folder / "main.mln"
    path.write_text(f'#include "{name}"\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("link", [None, "linked.txt", "linked.mln"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_no_line_of_a_file_that_is_no_model_is_shown(name: str, link: str | None, folder: Path) -> None:
    if link is not None:
        (folder / link).symlink_to(folder.parent / "outside" / name)
    path = including(folder, link or f"../outside/{name}")
    with pytest.raises(SqlrlError) as caught:
        sqlrl.read_mln(path)
    text = OUTSIDE[name].splitlines()
    assert not any(line and line in str(caught.value) for line in text)
    # The place is told, since the file may have been meant as a model.
    assert name.split(".", maxsplit=1)[0] in str(caught.value) or link is not None


def test_a_line_of_an_included_model_is_shown(folder: Path) -> None:
    (folder / "decls.mln").write_text("P(t)\n1 P(x))\n", encoding="utf-8")
    with pytest.raises(ParseError, match=r"decls\.mln:2:\d+.*\n  1 P\(x\)\)\n"):
        sqlrl.read_mln(including(folder, "decls.mln"))
    # What is included by such a file is no better known than the file.
    (folder / "list").write_text('#include "decls.mln"\n', encoding="utf-8")
    with pytest.raises(ParseError) as caught:
        sqlrl.read_mln(including(folder, "list"))
    assert "1 P(x" not in str(caught.value)


@pytest.mark.parametrize("read", [sqlrl.read_mln, sqlrl.read_model])
@pytest.mark.parametrize(
    "name",
    ["../outside/other.mln", "sub/../../outside/other.mln", "{absolute}", "linked.mln", "linked/other.mln", "../nowhere.mln"],
)  # fmt: skip
def test_a_stranger_s_model_stays_in_its_folder(read: Callable[..., sqlrl.Model], name: str, folder: Path) -> None:
    outside = folder.parent / "outside"
    (folder / "linked.mln").symlink_to(outside / "other.mln")
    (folder / "linked").symlink_to(outside)
    path = including(folder, name.format(absolute=outside / "other.mln"))
    with pytest.raises(ParseError, match=r"main\.mln:1:10: the include leads out of .*trusted=False"):
        read(path, trusted=False)
    if "nowhere" not in name:
        assert len(read(path).rules) == 1


def test_a_stranger_s_model_includes_what_is_below_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    including(folder, "sub/part.mln")
    monkeypatch.chdir(folder)
    (folder.parent / "link").symlink_to(folder)
    for path in (folder / "main.mln", "main.mln", "../models/main.mln", folder.parent / "link" / "main.mln"):
        assert len(sqlrl.read_mln(path, trusted=False).rules) == 1


def test_a_stranger_s_text_includes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = '#include "sub/part.mln"\n'
    assert len(sqlrl.parse_mln(text).rules) == 1
    with pytest.raises(ParseError, match="read without a folder"):
        sqlrl.parse_mln(text, trusted=False)
