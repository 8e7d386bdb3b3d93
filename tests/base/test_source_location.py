"""The user's line: the innermost frame outside libraries."""

import scipy.special

from tapediff.base.source_location import is_library_file, scipy_function


def test_a_folder_named_scipy_may_be_the_users():
    assert not is_library_file("/home/me/scipy/model.py")
    assert not is_library_file("/home/me/scipy/site-packages/model.py")
    assert is_library_file(scipy.special.__file__)
    assert scipy_function() is None
