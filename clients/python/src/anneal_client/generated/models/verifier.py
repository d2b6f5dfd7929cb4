from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.metadata import Metadata
  from ..models.verifier_exact import VerifierExact
  from ..models.verifier_json import VerifierJson
  from ..models.verifier_multi import VerifierMulti
  from ..models.verifier_numeric import VerifierNumeric
  from ..models.verifier_regex import VerifierRegex
  from ..models.verifier_string_check import VerifierStringCheck
  from ..models.verifier_text_similarity import VerifierTextSimilarity

T = TypeVar("T", bound="Verifier")

@_attrs_define
class Verifier:
    """ A stored verifier.

        Attributes:
            id (str):
            object_ (Literal['verifier']):
            config (VerifierExact | VerifierJson | VerifierMulti | VerifierNumeric | VerifierRegex | VerifierStringCheck |
                VerifierTextSimilarity): How completions are scored; `type` says by which rule.
            digest (str): `sha256:` and the digest of the configuration.
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            created_at (int): Unix seconds.
            name (None | str | Unset):
     """

    id: str
    object_: Literal['verifier']
    config: VerifierExact | VerifierJson | VerifierMulti | VerifierNumeric | VerifierRegex | VerifierStringCheck | VerifierTextSimilarity
    digest: str
    metadata: Metadata
    created_at: int
    name: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.metadata import Metadata # noqa: PLC0415
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_json import VerifierJson # noqa: PLC0415
        from ..models.verifier_multi import VerifierMulti # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        from ..models.verifier_string_check import VerifierStringCheck # noqa: PLC0415
        from ..models.verifier_text_similarity import VerifierTextSimilarity # noqa: PLC0415
        id = self.id

        object_ = self.object_

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

        digest = self.digest

        metadata = self.metadata.to_dict()

        created_at = self.created_at

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "config": config,
            "digest": digest,
            "metadata": metadata,
            "created_at": created_at,
        })
        if name is not UNSET:
            field_dict["name"] = name

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
        id = d.pop("id")

        object_ = cast(Literal['verifier'] , d.pop("object"))
        if object_ != 'verifier':
            raise ValueError(f"object must match const 'verifier', got '{object_}'")

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

        digest = d.pop("digest")

        metadata = Metadata.from_dict(d.pop("metadata"))

        created_at = d.pop("created_at")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        verifier = cls(
            id=id,
            object_=object_,
            config=config,
            digest=digest,
            metadata=metadata,
            created_at=created_at,
            name=name,
        )

        verifier.additional_properties = d
        return verifier

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
