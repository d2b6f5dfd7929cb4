from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.fork_control import ForkControl
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.fork_job_patch_item import ForkJobPatchItem

T = TypeVar("T", bound="ForkJob")

@_attrs_define
class ForkJob:
    """ How the fork differs.

        Attributes:
            patch (list[ForkJobPatchItem] | Unset): A JSON Patch (RFC 6902) on the spec as it was submitted, or for a
                `control` run as the job resolved it; at most 100
                operations.
            name (None | str | Unset): Another name.
            from_ (None | str | Unset): `start` (the default): from the model that the job started from. `checkpoint`: from
                the model that the job made,
                or from that of any inference checkpoint `ckpt_...`.
            control (ForkControl | None | Unset): Make it a control run of this job, with which the job's report compares
                it.
     """

    patch: list[ForkJobPatchItem] | Unset = UNSET
    name: None | str | Unset = UNSET
    from_: None | str | Unset = UNSET
    control: ForkControl | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.fork_job_patch_item import ForkJobPatchItem # noqa: PLC0415
        patch: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.patch, Unset):
            patch = []
            for patch_item_data in self.patch:
                patch_item = patch_item_data.to_dict()
                patch.append(patch_item)

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        from_: None | str | Unset
        if isinstance(self.from_, Unset):
            from_ = UNSET
        else:
            from_ = self.from_

        control: None | str | Unset
        if isinstance(self.control, Unset):
            control = UNSET
        elif isinstance(self.control, ForkControl):
            control = self.control.value
        else:
            control = self.control

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if patch is not UNSET:
            field_dict["patch"] = patch
        if name is not UNSET:
            field_dict["name"] = name
        if from_ is not UNSET:
            field_dict["from"] = from_
        if control is not UNSET:
            field_dict["control"] = control

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fork_job_patch_item import ForkJobPatchItem # noqa: PLC0415
        d = dict(src_dict)
        _patch = d.pop("patch", UNSET)
        patch: list[ForkJobPatchItem] | Unset = UNSET
        if _patch is not UNSET:
            patch = []
            for patch_item_data in _patch:
                patch_item = ForkJobPatchItem.from_dict(patch_item_data)

                patch.append(patch_item)

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_from_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        from_ = _parse_from_(d.pop("from", UNSET))

        def _parse_control(data: object) -> ForkControl | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                control_type_0 = ForkControl(data)

                return control_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForkControl | None | Unset, data)

        control = _parse_control(d.pop("control", UNSET))

        fork_job = cls(
            patch=patch,
            name=name,
            from_=from_,
            control=control,
        )

        return fork_job
