from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_sql_expected import VerifierSqlExpected
from ..models.verifier_sql_order import VerifierSqlOrder
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierSql")

@_attrs_define
class VerifierSql:
    """ The SQL query that a completion ends on gives the expected rows, on an in-memory SQLite database made for it.

        Attributes:
            type_ (Literal['sql']):
            setup (None | str | Unset): Statements that make the tables and rows that all queries ask, in SQLite's SQL.
            setup_column (None | str | Unset): The column with statements for each row, which run behind those of `setup`: a
                text, or a list of texts.
            expected (VerifierSqlExpected | Unset): - `query`: A query that gives the right rows.
                - `rows`: The rows themselves, as a JSON list of lists.
            order (VerifierSqlOrder | Unset): - `as_expected`: It counts where the expected query ends on an `order by`.
            allow_empty (bool | Unset): No rows may be expected. Otherwise that is an error, for any query that finds
                nothing gives them, also a wrong one. Default: False.
            max_rows (int | Unset): The most rows of a result; a query that gives more is wrong. Default: 1000.
            max_steps (int | Unset): The most steps of SQLite's virtual machine, for the setup and for each query; a million
                take about 10 ms. Default: 10000000.
            answer_column (None | str | Unset): The column of the expected answer; by default the data set's answer column.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['sql']
    setup: None | str | Unset = UNSET
    setup_column: None | str | Unset = UNSET
    expected: VerifierSqlExpected | Unset = UNSET
    order: VerifierSqlOrder | Unset = UNSET
    allow_empty: bool | Unset = False
    max_rows: int | Unset = 1000
    max_steps: int | Unset = 10000000
    answer_column: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        setup: None | str | Unset
        if isinstance(self.setup, Unset):
            setup = UNSET
        else:
            setup = self.setup

        setup_column: None | str | Unset
        if isinstance(self.setup_column, Unset):
            setup_column = UNSET
        else:
            setup_column = self.setup_column

        expected: str | Unset = UNSET
        if not isinstance(self.expected, Unset):
            expected = self.expected.value

        order: str | Unset = UNSET
        if not isinstance(self.order, Unset):
            order = self.order.value

        allow_empty = self.allow_empty

        max_rows = self.max_rows

        max_steps = self.max_steps

        answer_column: None | str | Unset
        if isinstance(self.answer_column, Unset):
            answer_column = UNSET
        else:
            answer_column = self.answer_column

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if setup is not UNSET:
            field_dict["setup"] = setup
        if setup_column is not UNSET:
            field_dict["setup_column"] = setup_column
        if expected is not UNSET:
            field_dict["expected"] = expected
        if order is not UNSET:
            field_dict["order"] = order
        if allow_empty is not UNSET:
            field_dict["allow_empty"] = allow_empty
        if max_rows is not UNSET:
            field_dict["max_rows"] = max_rows
        if max_steps is not UNSET:
            field_dict["max_steps"] = max_steps
        if answer_column is not UNSET:
            field_dict["answer_column"] = answer_column
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['sql'] , d.pop("type"))
        if type_ != 'sql':
            raise ValueError(f"type must match const 'sql', got '{type_}'")

        def _parse_setup(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        setup = _parse_setup(d.pop("setup", UNSET))

        def _parse_setup_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        setup_column = _parse_setup_column(d.pop("setup_column", UNSET))

        _expected = d.pop("expected", UNSET)
        expected: VerifierSqlExpected | Unset
        if isinstance(_expected,  Unset):
            expected = UNSET
        else:
            expected = VerifierSqlExpected(_expected)

        _order = d.pop("order", UNSET)
        order: VerifierSqlOrder | Unset
        if isinstance(_order,  Unset):
            order = UNSET
        else:
            order = VerifierSqlOrder(_order)

        allow_empty = d.pop("allow_empty", UNSET)

        max_rows = d.pop("max_rows", UNSET)

        max_steps = d.pop("max_steps", UNSET)

        def _parse_answer_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        answer_column = _parse_answer_column(d.pop("answer_column", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_sql = cls(
            type_=type_,
            setup=setup,
            setup_column=setup_column,
            expected=expected,
            order=order,
            allow_empty=allow_empty,
            max_rows=max_rows,
            max_steps=max_steps,
            answer_column=answer_column,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_sql
