from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.metadata import Metadata
  from ..models.verifier_choice import VerifierChoice
  from ..models.verifier_code import VerifierCode
  from ..models.verifier_command import VerifierCommand
  from ..models.verifier_constraints import VerifierConstraints
  from ..models.verifier_environment import VerifierEnvironment
  from ..models.verifier_exact import VerifierExact
  from ..models.verifier_expression import VerifierExpression
  from ..models.verifier_http import VerifierHttp
  from ..models.verifier_json import VerifierJson
  from ..models.verifier_json_schema import VerifierJsonSchema
  from ..models.verifier_length import VerifierLength
  from ..models.verifier_math import VerifierMath
  from ..models.verifier_model import VerifierModel
  from ..models.verifier_multi import VerifierMulti
  from ..models.verifier_multiple_choice import VerifierMultipleChoice
  from ..models.verifier_numeric import VerifierNumeric
  from ..models.verifier_regex import VerifierRegex
  from ..models.verifier_repetition import VerifierRepetition
  from ..models.verifier_sql import VerifierSql
  from ..models.verifier_string_check import VerifierStringCheck
  from ..models.verifier_text_similarity import VerifierTextSimilarity

T = TypeVar("T", bound="CreateVerifier")

@_attrs_define
class CreateVerifier:
    """ A verifier to store.

        Attributes:
            config (VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment |
                VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength |
                VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex |
                VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity): How completions are scored;
                `type` says by which rule.
            name (None | str | Unset): A name for people.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    config: VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity
    name: None | str | Unset = UNSET
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.verifier_choice import VerifierChoice # noqa: PLC0415
        from ..models.verifier_code import VerifierCode # noqa: PLC0415
        from ..models.verifier_command import VerifierCommand # noqa: PLC0415
        from ..models.verifier_constraints import VerifierConstraints # noqa: PLC0415
        from ..models.verifier_environment import VerifierEnvironment # noqa: PLC0415
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_expression import VerifierExpression # noqa: PLC0415
        from ..models.verifier_http import VerifierHttp # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_json_schema import VerifierJsonSchema # noqa: PLC0415
        from ..models.verifier_length import VerifierLength # noqa: PLC0415
        from ..models.verifier_math import VerifierMath # noqa: PLC0415
        from ..models.verifier_model import VerifierModel # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_multiple_choice import VerifierMultipleChoice # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_repetition import VerifierRepetition # noqa: PLC0415
        from ..models.verifier_sql import VerifierSql # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        config: dict[str, Any]
        if isinstance(self.config, VerifierCode):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierCommand):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierExact):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierExpression):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierChoice):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierMultipleChoice):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierMath):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierHttp):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierModel):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierNumeric):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierRegex):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierJson):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierJsonSchema):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierSql):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierConstraints):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierLength):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierRepetition):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierEnvironment):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierStringCheck):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierTextSimilarity):
            config = self.config.to_dict()
        else:
            config = self.config.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "config": config,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if metadata is not UNSET:
            field_dict["metadata"] = metadata

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.verifier_choice import VerifierChoice # noqa: PLC0415
        from ..models.verifier_code import VerifierCode # noqa: PLC0415
        from ..models.verifier_command import VerifierCommand # noqa: PLC0415
        from ..models.verifier_constraints import VerifierConstraints # noqa: PLC0415
        from ..models.verifier_environment import VerifierEnvironment # noqa: PLC0415
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_expression import VerifierExpression # noqa: PLC0415
        from ..models.verifier_http import VerifierHttp # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_json_schema import VerifierJsonSchema # noqa: PLC0415
        from ..models.verifier_length import VerifierLength # noqa: PLC0415
        from ..models.verifier_math import VerifierMath # noqa: PLC0415
        from ..models.verifier_model import VerifierModel # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_multiple_choice import VerifierMultipleChoice # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_repetition import VerifierRepetition # noqa: PLC0415
        from ..models.verifier_sql import VerifierSql # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        d = dict(src_dict)
        def _parse_config(data: object) -> VerifierChoice | VerifierCode | VerifierCommand | VerifierConstraints | VerifierEnvironment | VerifierExact | VerifierExpression | VerifierHttp | VerifierJson | VerifierJsonSchema | VerifierLength | VerifierMath | VerifierModel | VerifierMulti | VerifierMultipleChoice | VerifierNumeric | VerifierRegex | VerifierRepetition | VerifierSql | VerifierStringCheck | VerifierTextSimilarity:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_0 = VerifierCode.from_dict(data)

                return componentsschemas_verifier_spec_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_1 = VerifierCommand.from_dict(data)

                return componentsschemas_verifier_spec_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_2 = VerifierExact.from_dict(data)

                return componentsschemas_verifier_spec_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_3 = VerifierExpression.from_dict(data)

                return componentsschemas_verifier_spec_type_3
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_4 = VerifierChoice.from_dict(data)

                return componentsschemas_verifier_spec_type_4
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_5 = VerifierMultipleChoice.from_dict(data)

                return componentsschemas_verifier_spec_type_5
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_6 = VerifierMath.from_dict(data)

                return componentsschemas_verifier_spec_type_6
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_7 = VerifierHttp.from_dict(data)

                return componentsschemas_verifier_spec_type_7
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_8 = VerifierModel.from_dict(data)

                return componentsschemas_verifier_spec_type_8
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_9 = VerifierNumeric.from_dict(data)

                return componentsschemas_verifier_spec_type_9
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_10 = VerifierRegex.from_dict(data)

                return componentsschemas_verifier_spec_type_10
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_11 = VerifierJson.from_dict(data)

                return componentsschemas_verifier_spec_type_11
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_12 = VerifierJsonSchema.from_dict(data)

                return componentsschemas_verifier_spec_type_12
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_13 = VerifierSql.from_dict(data)

                return componentsschemas_verifier_spec_type_13
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_14 = VerifierConstraints.from_dict(data)

                return componentsschemas_verifier_spec_type_14
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_15 = VerifierLength.from_dict(data)

                return componentsschemas_verifier_spec_type_15
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_16 = VerifierRepetition.from_dict(data)

                return componentsschemas_verifier_spec_type_16
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_17 = VerifierEnvironment.from_dict(data)

                return componentsschemas_verifier_spec_type_17
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_18 = VerifierStringCheck.from_dict(data)

                return componentsschemas_verifier_spec_type_18
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_19 = VerifierTextSimilarity.from_dict(data)

                return componentsschemas_verifier_spec_type_19
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_verifier_spec_type_20 = VerifierMulti.from_dict(data)

            return componentsschemas_verifier_spec_type_20

        config = _parse_config(d.pop("config"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        _metadata = d.pop("metadata", UNSET)
        metadata: Metadata | Unset
        if isinstance(_metadata,  Unset):
            metadata = UNSET
        else:
            metadata = Metadata.from_dict(_metadata)

        create_verifier = cls(
            config=config,
            name=name,
            metadata=metadata,
        )

        return create_verifier
