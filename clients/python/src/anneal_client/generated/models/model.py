from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="Model")

@_attrs_define
class Model:
    """ A model that jobs can start from.

        Attributes:
            id (str):
            object_ (Literal['model']):
            source (str): Where it came from: a path, a job (`job_...`) or `builtin`.
            created_at (int): Unix seconds; 0 for a built-in.
            created (int): The same, as OpenAI clients read it.
            owned_by (str): `import`, `anneal` for a built-in, or the job that made it.
            name (None | str | Unset):
            format_ (None | str | Unset): `safetensors` or `gguf`.
            architecture (None | str | Unset):
            parameters (int | None | Unset):
            context_length (int | None | Unset): Tokens.
            vocab_size (int | None | Unset):
            weights_sha256 (None | str | Unset):
            tokenizer_sha256 (None | str | Unset):
            bytes_ (int | None | Unset):
     """

    id: str
    object_: Literal['model']
    source: str
    created_at: int
    created: int
    owned_by: str
    name: None | str | Unset = UNSET
    format_: None | str | Unset = UNSET
    architecture: None | str | Unset = UNSET
    parameters: int | None | Unset = UNSET
    context_length: int | None | Unset = UNSET
    vocab_size: int | None | Unset = UNSET
    weights_sha256: None | str | Unset = UNSET
    tokenizer_sha256: None | str | Unset = UNSET
    bytes_: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        source = self.source

        created_at = self.created_at

        created = self.created

        owned_by = self.owned_by

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        format_: None | str | Unset
        if isinstance(self.format_, Unset):
            format_ = UNSET
        else:
            format_ = self.format_

        architecture: None | str | Unset
        if isinstance(self.architecture, Unset):
            architecture = UNSET
        else:
            architecture = self.architecture

        parameters: int | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        else:
            parameters = self.parameters

        context_length: int | None | Unset
        if isinstance(self.context_length, Unset):
            context_length = UNSET
        else:
            context_length = self.context_length

        vocab_size: int | None | Unset
        if isinstance(self.vocab_size, Unset):
            vocab_size = UNSET
        else:
            vocab_size = self.vocab_size

        weights_sha256: None | str | Unset
        if isinstance(self.weights_sha256, Unset):
            weights_sha256 = UNSET
        else:
            weights_sha256 = self.weights_sha256

        tokenizer_sha256: None | str | Unset
        if isinstance(self.tokenizer_sha256, Unset):
            tokenizer_sha256 = UNSET
        else:
            tokenizer_sha256 = self.tokenizer_sha256

        bytes_: int | None | Unset
        if isinstance(self.bytes_, Unset):
            bytes_ = UNSET
        else:
            bytes_ = self.bytes_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "source": source,
            "created_at": created_at,
            "created": created,
            "owned_by": owned_by,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if format_ is not UNSET:
            field_dict["format"] = format_
        if architecture is not UNSET:
            field_dict["architecture"] = architecture
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if context_length is not UNSET:
            field_dict["context_length"] = context_length
        if vocab_size is not UNSET:
            field_dict["vocab_size"] = vocab_size
        if weights_sha256 is not UNSET:
            field_dict["weights_sha256"] = weights_sha256
        if tokenizer_sha256 is not UNSET:
            field_dict["tokenizer_sha256"] = tokenizer_sha256
        if bytes_ is not UNSET:
            field_dict["bytes"] = bytes_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['model'] , d.pop("object"))
        if object_ != 'model':
            raise ValueError(f"object must match const 'model', got '{object_}'")

        source = d.pop("source")

        created_at = d.pop("created_at")

        created = d.pop("created")

        owned_by = d.pop("owned_by")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_format_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        format_ = _parse_format_(d.pop("format", UNSET))

        def _parse_architecture(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        architecture = _parse_architecture(d.pop("architecture", UNSET))

        def _parse_parameters(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_context_length(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        context_length = _parse_context_length(d.pop("context_length", UNSET))

        def _parse_vocab_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        vocab_size = _parse_vocab_size(d.pop("vocab_size", UNSET))

        def _parse_weights_sha256(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        weights_sha256 = _parse_weights_sha256(d.pop("weights_sha256", UNSET))

        def _parse_tokenizer_sha256(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        tokenizer_sha256 = _parse_tokenizer_sha256(d.pop("tokenizer_sha256", UNSET))

        def _parse_bytes_(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        bytes_ = _parse_bytes_(d.pop("bytes", UNSET))

        model = cls(
            id=id,
            object_=object_,
            source=source,
            created_at=created_at,
            created=created,
            owned_by=owned_by,
            name=name,
            format_=format_,
            architecture=architecture,
            parameters=parameters,
            context_length=context_length,
            vocab_size=vocab_size,
            weights_sha256=weights_sha256,
            tokenizer_sha256=tokenizer_sha256,
            bytes_=bytes_,
        )

        model.additional_properties = d
        return model

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
