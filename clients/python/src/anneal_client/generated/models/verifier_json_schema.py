from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_json_schema_extract import VerifierJsonSchemaExtract
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="VerifierJsonSchema")

@_attrs_define
class VerifierJsonSchema:
    """ The JSON value that a completion ends on is valid by a JSON Schema, wholly or by its share of required members.

        Attributes:
            type_ (Literal['json_schema']):
            schema (JsonObject | None | Unset): The JSON Schema of all rows; either this or `schema_column`.
            schema_column (None | str | Unset): The column with the schema of each row, as JSON or as a text that holds
                JSON.
            extract (VerifierJsonSchemaExtract | Unset): - `last`: The completion if it is JSON, otherwise its last complete
                object or list, whatever stands around it. Where the schema is not of type `array`, an object counts before a
                list of texts and numbers that follows it.
                - `all`: The whole completion, which must be JSON and nothing else, alone or in one code fence.
            partial (bool | Unset): A value that is not valid earns the share of the schema's `required` members that are
                there and valid, and always
                less than 1. Default: False.
            formats (bool | Unset): `format`, such as `date` and `email`, is checked. Default: True.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['json_schema']
    schema: JsonObject | None | Unset = UNSET
    schema_column: None | str | Unset = UNSET
    extract: VerifierJsonSchemaExtract | Unset = UNSET
    partial: bool | Unset = False
    formats: bool | Unset = True
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        type_ = self.type_

        schema: dict[str, Any] | None | Unset
        if isinstance(self.schema, Unset):
            schema = UNSET
        elif isinstance(self.schema, JsonObject):
            schema = self.schema.to_dict()
        else:
            schema = self.schema

        schema_column: None | str | Unset
        if isinstance(self.schema_column, Unset):
            schema_column = UNSET
        else:
            schema_column = self.schema_column

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        partial = self.partial

        formats = self.formats

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if schema is not UNSET:
            field_dict["schema"] = schema
        if schema_column is not UNSET:
            field_dict["schema_column"] = schema_column
        if extract is not UNSET:
            field_dict["extract"] = extract
        if partial is not UNSET:
            field_dict["partial"] = partial
        if formats is not UNSET:
            field_dict["formats"] = formats
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['json_schema'] , d.pop("type"))
        if type_ != 'json_schema':
            raise ValueError(f"type must match const 'json_schema', got '{type_}'")

        def _parse_schema(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                schema_type_0 = JsonObject.from_dict(data)

                return schema_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        schema = _parse_schema(d.pop("schema", UNSET))

        def _parse_schema_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        schema_column = _parse_schema_column(d.pop("schema_column", UNSET))

        _extract = d.pop("extract", UNSET)
        extract: VerifierJsonSchemaExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierJsonSchemaExtract(_extract)

        partial = d.pop("partial", UNSET)

        formats = d.pop("formats", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_json_schema = cls(
            type_=type_,
            schema=schema,
            schema_column=schema_column,
            extract=extract,
            partial=partial,
            formats=formats,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_json_schema
