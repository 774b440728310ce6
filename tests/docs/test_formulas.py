"""Formulas in pages become MathML when the site is built; needs the extra `docs`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parent.parent.parent / "scripts" / "site_formulas.py"


@pytest.mark.docs
def test_formulas_need_no_script() -> None:
    pytest.importorskip("latex2mathml", reason="is of the extra `docs`")
    specification = importlib.util.spec_from_file_location("site_formulas", HOOK)
    assert specification
    assert specification.loader
    hook = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hook)
    page = 'If <span class="arithmatex">\\(w &lt; 0\\)</span>, <div class="arithmatex">\\[\nP(y) = \\frac{1}{Z}\n\\]</div> and \\(no\\).'
    found = hook.on_page_content(page)
    assert "arithmatex" not in found
    assert found.count("<math") == 2
    assert 'display="block"' in found
    assert "<mfrac>" in found
    assert "&#x0003C;" in found or "&lt;" in found
    assert found.endswith("and \\(no\\).")
