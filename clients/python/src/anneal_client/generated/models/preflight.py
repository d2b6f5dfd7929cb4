from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.dry_run import DryRun
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject
  from ..models.preflight_plan import PreflightPlan
  from ..models.preflight_warning import PreflightWarning

T = TypeVar("T", bound="Preflight")

@_attrs_define
class Preflight:
    """ What a submission would do.

        Attributes:
            object_ (Literal['preflight']):
            dry_run (DryRun): How much a dry run checks.
            spec_resolved (JsonObject): Any JSON object.
            spec_digest (str): `sha256:` and the digest of the resolved spec without name, priority, metadata and budget,
                with those of the
                built-ins that it names.
            warnings (list[PreflightWarning]): What is possible but probably not meant.
            plan (None | PreflightPlan | Unset): What the job will do and need; only with `preflight`.
     """

    object_: Literal['preflight']
    dry_run: DryRun
    spec_resolved: JsonObject
    spec_digest: str
    warnings: list[PreflightWarning]
    plan: None | PreflightPlan | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.preflight_plan import PreflightPlan # noqa: PLC0415
        from ..models.preflight_warning import PreflightWarning # noqa: PLC0415
        object_ = self.object_

        dry_run = self.dry_run.value

        spec_resolved = self.spec_resolved.to_dict()

        spec_digest = self.spec_digest

        warnings = []
        for warnings_item_data in self.warnings:
            warnings_item = warnings_item_data.to_dict()
            warnings.append(warnings_item)

        plan: dict[str, Any] | None | Unset
        if isinstance(self.plan, Unset):
            plan = UNSET
        elif isinstance(self.plan, PreflightPlan):
            plan = self.plan.to_dict()
        else:
            plan = self.plan

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "dry_run": dry_run,
            "spec_resolved": spec_resolved,
            "spec_digest": spec_digest,
            "warnings": warnings,
        })
        if plan is not UNSET:
            field_dict["plan"] = plan

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.preflight_plan import PreflightPlan # noqa: PLC0415
        from ..models.preflight_warning import PreflightWarning # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['preflight'] , d.pop("object"))
        if object_ != 'preflight':
            raise ValueError(f"object must match const 'preflight', got '{object_}'")

        dry_run = DryRun(d.pop("dry_run"))

        spec_resolved = JsonObject.from_dict(d.pop("spec_resolved"))

        spec_digest = d.pop("spec_digest")

        warnings = []
        _warnings = d.pop("warnings")
        for warnings_item_data in (_warnings):
            warnings_item = PreflightWarning.from_dict(warnings_item_data)

            warnings.append(warnings_item)

        def _parse_plan(data: object) -> None | PreflightPlan | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                plan_type_0 = PreflightPlan.from_dict(data)

                return plan_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | PreflightPlan | Unset, data)

        plan = _parse_plan(d.pop("plan", UNSET))

        preflight = cls(
            object_=object_,
            dry_run=dry_run,
            spec_resolved=spec_resolved,
            spec_digest=spec_digest,
            warnings=warnings,
            plan=plan,
        )

        preflight.additional_properties = d
        return preflight

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
