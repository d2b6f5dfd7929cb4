from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.verifier_exact import VerifierExact
  from ..models.verifier_numeric import VerifierNumeric
  from ..models.verifier_regex import VerifierRegex

T = TypeVar("T", bound="CreateVerifier")

@_attrs_define
class CreateVerifier:
    """ A verifier to store.

        Attributes:
            config (VerifierExact | VerifierNumeric | VerifierRegex): How completions are scored; `type` says by which rule.
            name (None | str | Unset): A name for people.
     """

    config: VerifierExact | VerifierNumeric | VerifierRegex
    name: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        config: dict[str, Any]
        if isinstance(self.config, VerifierExact):
            config = self.config.to_dict()
        elif isinstance(self.config, VerifierNumeric):
            config = self.config.to_dict()
        else:
            config = self.config.to_dict()

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "config": config,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.verifier_exact import VerifierExact # noqa: PLC0415
        from ..models.verifier_numeric import VerifierNumeric # noqa: PLC0415
        from ..models.verifier_regex import VerifierRegex # noqa: PLC0415
        d = dict(src_dict)
        def _parse_config(data: object) -> VerifierExact | VerifierNumeric | VerifierRegex:
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
                componentsschemas_verifier_spec_type_1 = VerifierNumeric.from_dict(data)

                return componentsschemas_verifier_spec_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_verifier_spec_type_2 = VerifierRegex.from_dict(data)

            return componentsschemas_verifier_spec_type_2

        config = _parse_config(d.pop("config"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        create_verifier = cls(
            config=config,
            name=name,
        )

        return create_verifier
