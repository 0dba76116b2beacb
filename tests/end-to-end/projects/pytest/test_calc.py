import pytest

from calc import add


@pytest.mark.parametrize("a, b, sum_", [(2, 3, 5), (0, 0, 0), (-1, 1, 0)])
def test_add(a, b, sum_, tmp_path):
    (tmp_path / "sum").write_text(str(add(a, b)))
    assert int((tmp_path / "sum").read_text()) == sum_
