"""Spellings, distances and fits of names, each by itself."""

from __future__ import annotations

import pytest

from tools.spellings import (
    key,
    signs,
    sound,
    spelling,
    spoken_as,
    to_english_layout,
    to_russian_layout,
)
from tools.words import Fit, edits, fit, same_words, sound_words_of, stem, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ДУ  Вектор ", "ду вектор"),
        ("ДУ ООО «Ромашка»", 'ДУ ООО "Ромашка"'),
        ("Семёнов", "СЕМЕНОВ"),
        ("CБEP", "сбер"),
        ("Ладога-Пенсия", "ладога — пенсия"),
        ("Й", "И\u0306"),
        ("ДУ\u00a0Вектор", "ДУ Вектор"),
    ],
)
def test_keys_forget_case_signs_and_look_alikes(one: str, other: str) -> None:
    assert key(one) == key(other) != ""


def test_keys_keep_digits_and_letters_apart() -> None:
    assert key("ДУ Рост_100%") == "ду рост 100"
    assert key("Рост 10") != key("Рост 100")
    assert key("«»—%_'") == ""


def test_spellings_keep_what_tells_namesakes_apart() -> None:
    assert spelling("ДУ  Вектор ") == spelling("ду вектор")
    assert spelling("Семёнов") != spelling("Семенов")
    assert spelling("«Ромашка»") != spelling('"Ромашка"')
    assert spelling("Горизонт – Акции") == spelling("горизонт — акции") != spelling("Горизонт Акции")
    assert signs("Акции +") != signs("Акции")


def test_the_wrong_layout_is_undone() -> None:
    assert to_russian_layout("ujhbpjyn") == "горизонт"
    assert to_russian_layout("J,kbufwbb") == "Облигации"
    assert to_english_layout("Ифдешс") == "Baltic"


@pytest.mark.parametrize(
    ("latin", "stored"),
    [
        ("gorizont aktsii", "Горизонт Акции"),
        ("gorizont akcii", "Горизонт Акции"),
        ("severnyy kvartal", "Северный квартал"),
        ("Severniy kvartal", "Северный квартал"),
        ("yakor", "Якорь"),
        ("Ladoga pensiya", "Ладога Пенсия"),
        ("denezhnyi rynok", "Денежный рынок"),
    ],
)
def test_transliterations_sound_like_the_stored_name(latin: str, stored: str) -> None:
    assert sound(latin) == sound(stored)


@pytest.mark.parametrize(
    ("form", "base"),
    [("Горизонту", "Горизонт"), ("облигациям", "Облигации"), ("акций", "акциями"), ("пенсией", "пенсия")],
)
def test_case_forms_have_one_stem(form: str, base: str) -> None:
    assert stem(form.lower()) == stem(base.lower())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("вектор", "вектор", 0),
        ("вектр", "вектор", 1),
        ("веткор", "вектор", 1),
        ("", "абв", 3),
        ("аб", "вгдежз", 4),
    ],
)
def test_edits_count_swapped_neighbours_once(first: str, second: str, expected: int) -> None:
    assert edits(first, second) == edits(second, first) == expected


def test_words_like_portfolio_are_left_out_and_types_are_set_aside() -> None:
    words = words_of("портфель ПИФ Горизонт Нефть и газ")
    assert (words.types, words.names) == (("пиф",), ("горизонт", "нефть", "газ"))
    assert words_of("паевые инвестиционные фонды").types == ("пиф",)
    assert words_of("Иванов И.И.").names == ("иванов", "и", "и")


def fit_of(asked: str, stored: str, kind: str = "") -> Fit | None:
    return fit(words_of(asked), words_of(stored), stored_type=key(kind))


def test_a_part_of_a_name_fits_with_words_missing() -> None:
    assert fit_of("меридиан облигации", "ДУ Меридиан Облигации (USD)") == Fit(0, 1, 17)
    assert fit_of("облигации меридиан", "ДУ Меридиан Облигации") == Fit(0, 0, 17)


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("ДУ Горизонт Индекс", "ПИФ Горизонт Индекс"),
        ("Иванов И.К.", "ДУ Иванов И.И."),
        ("Рост 10", "ДУ Рост_100%"),
        ("Фонд Ладога II", "Фонд Ладога III"),
        ("ОАО Ромашка", "ООО Ромашка"),
        ("Меридиан Облигации EUR", "Меридиан Облигации (USD)"),
        ("Газпромбанк Облигации", "Меридиан Облигации"),
        ("портфель", "Портфель Рост"),
    ],
)
def test_another_portfolio_does_not_fit(asked: str, stored: str) -> None:
    assert fit_of(asked, stored) is None


def test_a_type_may_stand_in_its_own_column() -> None:
    assert fit_of("ПИФ Baltic Fixed Income", "Baltic Fixed Income", "ПИФ") == Fit(0, 0, 17)
    assert fit_of("ПИФ Baltic Fixed Income", "Baltic Fixed Income", "ДУ") is None


def test_many_edits_in_few_letters_are_not_sure() -> None:
    assert Fit(0, 0, 3).sure
    assert not Fit(1, 0, 5).sure
    assert not Fit(0, 2, 3).sure
    assert not Fit(1, 1, 7).sure
    assert Fit(1, 1, 8).sure


def test_outer_quotes_and_words_before_a_name_come_off() -> None:
    assert spoken_as("портфеля «ДУ Вектор»")[-1] == "ДУ Вектор"
    assert spoken_as('"ДУ ООО "Ромашка""')[-1] == 'ДУ ООО "Ромашка"'
    assert spoken_as("АО «Якорь»") == ("АО «Якорь»",)


@pytest.mark.parametrize(
    ("asked", "stored", "same"),
    [("ПИФов", "ПИФ", True), ("ПИФ", "БПИФ", False), ("рынка", "рынок", True), ("", "ДУ", False)],
)
def test_same_words_but_for_case_forms(asked: str, stored: str, same: bool) -> None:
    assert same_words(asked, stored) is same


@pytest.mark.parametrize(("asked", "stored"), [("Фонд Рост", "Фонд Рост II"), ("Рост II", "Рост"), ("Рост II", "Рост III"), ("Рост XI", "Рост XX")])
def test_a_numeral_is_not_lost_by_sound(asked: str, stored: str) -> None:
    found = fit(sound_words_of(asked), sound_words_of(stored), stored_type="")
    assert found is None or found.missing > 0
