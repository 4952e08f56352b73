"""Text from cells stays text: nothing in it becomes a heading, a list, a link or markup."""

from __future__ import annotations

import pytest

from pipe.format import escape, without_markup


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Head", "\\# Head"),
        ("- Dash", "\\- Dash"),
        ("+ Plus", "\\+ Plus"),
        ("1. First", "1\\. First"),
        ("=== ", "\\=== "),
        ("a | b", "a \\| b"),
        ("<b>&lt;", "&lt;b&gt;&amp;lt;"),
        ("[x](y)", "\\[x\\](y)"),
        ("![x](y)", "\\!\\[x\\](y)"),
        ("$x$ `y` *z*", "\\$x\\$ \\`y\\` \\*z\\*"),
        ("31.12.2024", "31.12.2024"),
        ("line\none", "line one"),
    ],
)
def test_markup_is_shown_as_it_stands(text: str, shown: str) -> None:
    assert escape(text) == shown


@pytest.mark.parametrize("address", ["http://a.example", "https://a.example", "www.a.example", "mailto:x@a.example"])
def test_addresses_are_not_links(address: str) -> None:
    assert address not in escape(address)
    assert escape(address).replace("\u2060", "") == address


def test_a_terminal_gets_no_markup() -> None:
    shown = f"**{escape('1. <b> $x_y')}**\n\n| a |\n|---:|\n| {escape('c|d')} |"
    assert without_markup(shown) == "1. <b> $x_y\n\n| a |\n| c|d |"
