from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.mlflow_run import MlflowRun

T = TypeVar("T", bound="MlflowRunFound")

@_attrs_define
class MlflowRunFound:
    """
        Attributes:
            run (MlflowRun): A job that trains.
     """

    run: MlflowRun
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.mlflow_run import MlflowRun # noqa: PLC0415
        run = self.run.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "run": run,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.mlflow_run import MlflowRun # noqa: PLC0415
        d = dict(src_dict)
        run = MlflowRun.from_dict(d.pop("run"))

        mlflow_run_found = cls(
            run=run,
        )

        mlflow_run_found.additional_properties = d
        return mlflow_run_found

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
