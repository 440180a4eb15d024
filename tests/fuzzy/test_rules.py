from skdp.fuzzy import FiredRule, FuzzyRule


def test_rules_are_sentences_with_or_without_a_participant():
    nameless, named = FuzzyRule(None, 3), FuzzyRule("ward 3", "ill")
    assert str(nameless) == "if a row is like class 3, then it is of class 3"
    assert "class 'ill' of participant 'ward 3', then it is of class 'ill'" in str(named)
    assert str(FiredRule(0.99, named, 0.25)) == f"0.2500: {named}"


def test_rules_are_values():
    assert FuzzyRule("a", 1) == FuzzyRule("a", 1) != FuzzyRule("b", 1)
    assert len({FuzzyRule("a", 1), FuzzyRule("a", 1), FuzzyRule("a", 2)}) == 2
