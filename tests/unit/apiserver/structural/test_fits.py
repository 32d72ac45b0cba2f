"""The fast check and the one that finds words say the same of every value."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.structural.fits import fits_of
from mooring.apiserver.structural.judge import Judge
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.validate import validate
from mooring.model.document import Doc
from tests.unit.apiserver.structural.schemas import schemas, valid, values, without_junctors


@settings(max_examples=settings().max_examples * 3)
@given(schema=schemas, value=values)
def test_a_value_fits_when_nothing_is_wrong_with_it(schema: Doc, value: Any) -> None:
    errors = Judge(schema).judged(value, None, None).errors
    assert fits_of(schema)(value) == (not errors), [str(error) for error in errors]


@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_there_is_no_complaint_about_a_valid_document(data: st.DataObject) -> None:
    schema = without_junctors(data.draw(schemas))
    errors = validate(data.draw(valid(schema)), node_of(schema))
    assert [str(error) for error in errors] == []
