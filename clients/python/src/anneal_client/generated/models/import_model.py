from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.import_model_files_type_0 import ImportModelFilesType0

T = TypeVar("T", bound="ImportModel")

@_attrs_define
class ImportModel:
    """ A model to import: one of `path`, `source` and `files`.

        Attributes:
            path (None | str | Unset): A Hugging Face directory, or a GGUF file, on the server's disk below one of its
                import roots.
            source (None | str | Unset): A model of the hub: `hf:owner/name`, `hf:owner/name@revision`, or
                `hf:owner/name/file.gguf`.
            files (ImportModelFilesType0 | None | Unset): Files that were uploaded (`POST /v1/uploads`, `POST /v1/files`),
                by their names in the model's directory.
            base (None | str | Unset): Of an adapter in the layout of peft (`adapter_config.json`,
                `adapter_model.safetensors`): the model that it was trained
                beside, as jobs name it, which must be here. What its configuration names on the hub by default.
            name (None | str | Unset): A name for people.
     """

    path: None | str | Unset = UNSET
    source: None | str | Unset = UNSET
    files: ImportModelFilesType0 | None | Unset = UNSET
    base: None | str | Unset = UNSET
    name: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.import_model_files_type_0 import ImportModelFilesType0 # noqa: PLC0415
        path: None | str | Unset
        if isinstance(self.path, Unset):
            path = UNSET
        else:
            path = self.path

        source: None | str | Unset
        if isinstance(self.source, Unset):
            source = UNSET
        else:
            source = self.source

        files: dict[str, Any] | None | Unset
        if isinstance(self.files, Unset):
            files = UNSET
        elif isinstance(self.files, ImportModelFilesType0):
            files = self.files.to_dict()
        else:
            files = self.files

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

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if path is not UNSET:
            field_dict["path"] = path
        if source is not UNSET:
            field_dict["source"] = source
        if files is not UNSET:
            field_dict["files"] = files
        if base is not UNSET:
            field_dict["base"] = base
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.import_model_files_type_0 import ImportModelFilesType0 # noqa: PLC0415
        d = dict(src_dict)
        def _parse_path(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        path = _parse_path(d.pop("path", UNSET))

        def _parse_source(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        source = _parse_source(d.pop("source", UNSET))

        def _parse_files(data: object) -> ImportModelFilesType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                files_type_0 = ImportModelFilesType0.from_dict(data)

                return files_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ImportModelFilesType0 | None | Unset, data)

        files = _parse_files(d.pop("files", UNSET))

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

        import_model = cls(
            path=path,
            source=source,
            files=files,
            base=base,
            name=name,
        )

        return import_model
