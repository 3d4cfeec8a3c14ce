"""Each column has one role."""

import pytest

import discreet as dp
from discreet.anonymity.classes.roles import require_roles


def test_different_columns_have_their_roles():
    require_roles(["zip"], ["disease"], "who")
    require_roles(["zip"], [], None)


@pytest.mark.parametrize(("name", "role"), [("zip", "a quasi-identifier"), ("who", "the column of persons")])
def test_a_sensitive_column_with_a_second_role_is_refused(name, role):
    with pytest.raises(dp.errors.ParameterError, match=f"{name}.*{role} too") as caught:
        require_roles(["zip"], ["disease", name], "who")
    assert caught.value.instead == "sensitive=['disease']"
