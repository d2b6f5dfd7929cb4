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
  from ..models.model_failure import ModelFailure
  from ..models.model_warning import ModelWarning

T = TypeVar("T", bound="Model")

@_attrs_define
class Model:
    """ A model that jobs can start from.

        Attributes:
            id (str):
            object_ (Literal['model']):
            source (str): Where it came from: a path, `hf:owner/name@commit`, `upload`, a job (`job_...`) or `builtin`.
            status (str): `ready`; `importing` while its weights are under way, for which jobs that name it wait; `pending`
                when they come
                with the first job that names it; or `failed`.
            warnings (list[ModelWarning]): What of it is not as its authors trained it.
            created_at (int): Unix seconds; 0 for a built-in.
            created (int): The same, as OpenAI clients read it.
            owned_by (str): `import`, `anneal` for a built-in, or the job that made it.
            base (None | str | Unset): The model that it is an adapter of.
            name (None | str | Unset):
            format_ (None | str | Unset): `safetensors` or `gguf`.
            architecture (None | str | Unset):
            parameters (int | None | Unset):
            context_length (int | None | Unset): Tokens.
            vocab_size (int | None | Unset):
            weights_sha256 (None | str | Unset):
            tokenizer_sha256 (None | str | Unset):
            bytes_ (int | None | Unset): Of all files.
            bytes_done (int | None | Unset): Of all files, as far as they are here.
            failure (ModelFailure | None | Unset): Why it is `failed`.
            last_used_at (int | None | Unset): When a job that refers to it was submitted last; Unix seconds.
     """

    id: str
    object_: Literal['model']
    source: str
    status: str
    warnings: list[ModelWarning]
    created_at: int
    created: int
    owned_by: str
    base: None | str | Unset = UNSET
    name: None | str | Unset = UNSET
    format_: None | str | Unset = UNSET
    architecture: None | str | Unset = UNSET
    parameters: int | None | Unset = UNSET
    context_length: int | None | Unset = UNSET
    vocab_size: int | None | Unset = UNSET
    weights_sha256: None | str | Unset = UNSET
    tokenizer_sha256: None | str | Unset = UNSET
    bytes_: int | None | Unset = UNSET
    bytes_done: int | None | Unset = UNSET
    failure: ModelFailure | None | Unset = UNSET
    last_used_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.model_failure import ModelFailure # noqa: PLC0415
        from ..models.model_warning import ModelWarning # noqa: PLC0415
        id = self.id

        object_ = self.object_

        source = self.source

        status = self.status

        warnings = []
        for warnings_item_data in self.warnings:
            warnings_item = warnings_item_data.to_dict()
            warnings.append(warnings_item)

        created_at = self.created_at

        created = self.created

        owned_by = self.owned_by

        base: None | str | Unset
        if isinstance(self.base, Unset):
            base = UNSET
        else:
            base = self.base

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

        bytes_done: int | None | Unset
        if isinstance(self.bytes_done, Unset):
            bytes_done = UNSET
        else:
            bytes_done = self.bytes_done

        failure: dict[str, Any] | None | Unset
        if isinstance(self.failure, Unset):
            failure = UNSET
        elif isinstance(self.failure, ModelFailure):
            failure = self.failure.to_dict()
        else:
            failure = self.failure

        last_used_at: int | None | Unset
        if isinstance(self.last_used_at, Unset):
            last_used_at = UNSET
        else:
            last_used_at = self.last_used_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "source": source,
            "status": status,
            "warnings": warnings,
            "created_at": created_at,
            "created": created,
            "owned_by": owned_by,
        })
        if base is not UNSET:
            field_dict["base"] = base
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
        if bytes_done is not UNSET:
            field_dict["bytes_done"] = bytes_done
        if failure is not UNSET:
            field_dict["failure"] = failure
        if last_used_at is not UNSET:
            field_dict["last_used_at"] = last_used_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.model_failure import ModelFailure # noqa: PLC0415
        from ..models.model_warning import ModelWarning # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['model'] , d.pop("object"))
        if object_ != 'model':
            raise ValueError(f"object must match const 'model', got '{object_}'")

        source = d.pop("source")

        status = d.pop("status")

        warnings = []
        _warnings = d.pop("warnings")
        for warnings_item_data in (_warnings):
            warnings_item = ModelWarning.from_dict(warnings_item_data)

            warnings.append(warnings_item)

        created_at = d.pop("created_at")

        created = d.pop("created")

        owned_by = d.pop("owned_by")

        def _parse_base(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        base = _parse_base(d.pop("base", UNSET))

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

        def _parse_bytes_done(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        bytes_done = _parse_bytes_done(d.pop("bytes_done", UNSET))

        def _parse_failure(data: object) -> ModelFailure | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                failure_type_0 = ModelFailure.from_dict(data)

                return failure_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ModelFailure | None | Unset, data)

        failure = _parse_failure(d.pop("failure", UNSET))

        def _parse_last_used_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        last_used_at = _parse_last_used_at(d.pop("last_used_at", UNSET))

        model = cls(
            id=id,
            object_=object_,
            source=source,
            status=status,
            warnings=warnings,
            created_at=created_at,
            created=created,
            owned_by=owned_by,
            base=base,
            name=name,
            format_=format_,
            architecture=architecture,
            parameters=parameters,
            context_length=context_length,
            vocab_size=vocab_size,
            weights_sha256=weights_sha256,
            tokenizer_sha256=tokenizer_sha256,
            bytes_=bytes_,
            bytes_done=bytes_done,
            failure=failure,
            last_used_at=last_used_at,
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
