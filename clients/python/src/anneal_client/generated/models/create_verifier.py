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
  from ..models.verifier_exact import VerifierExact
  from ..models.verifier_json import VerifierJson
  from ..models.verifier_multi import VerifierMulti
  from ..models.verifier_numeric import VerifierNumeric
  from ..models.verifier_regex import VerifierRegex
  from ..models.verifier_string_check import VerifierStringCheck
  from ..models.verifier_text_similarity import VerifierTextSimilarity

T = TypeVar("T", bound="CreateVerifier")

@_attrs_define
class CreateVerifier:
    """ A verifier to store.

        Attributes:
            config (VerifierExact | VerifierJson | VerifierMulti | VerifierNumeric | VerifierRegex | VerifierStringCheck |
                VerifierTextSimilarity): How completions are scored; `type` says by which rule.
            name (None | str | Unset): A name for people.
            metadata (Metadata | Unset): Pairs of your own: at most 16, keys of at most 64 characters, values of at most
                512.
     """

    config: VerifierExact | VerifierJson | VerifierMulti | VerifierNumeric | VerifierRegex | VerifierStringCheck | VerifierTextSimilarity
    name: None | str | Unset = UNSET
    metadata: Metadata | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        config: dict[str, Any]
        if isinstance(self.config, VerifierExact):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierJson):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierNumeric):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierRegex):
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
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        d = dict(src_dict)
        def _parse_config(data: object) -> VerifierExact | VerifierJson | VerifierMulti | VerifierNumeric | VerifierRegex | VerifierStringCheck | VerifierTextSimilarity:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_0 = VerifierExact.from_dict(data)

                return componentsschemas_verifier_spec_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_1 = VerifierJson.from_dict(data)

                return componentsschemas_verifier_spec_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_2 = VerifierNumeric.from_dict(data)

                return componentsschemas_verifier_spec_type_2
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_3 = VerifierRegex.from_dict(data)

                return componentsschemas_verifier_spec_type_3
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_4 = VerifierStringCheck.from_dict(data)

                return componentsschemas_verifier_spec_type_4
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_verifier_spec_type_5 = VerifierTextSimilarity.from_dict(data)

                return componentsschemas_verifier_spec_type_5
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_verifier_spec_type_6 = VerifierMulti.from_dict(data)

            return componentsschemas_verifier_spec_type_6

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
