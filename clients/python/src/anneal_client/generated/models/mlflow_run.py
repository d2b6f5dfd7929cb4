from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast

if TYPE_CHECKING:
  from ..models.mlflow_run_data import MlflowRunData
  from ..models.mlflow_run_info import MlflowRunInfo

T = TypeVar("T", bound="MlflowRun")

@_attrs_define
class MlflowRun:
    """ A job that trains.

        Attributes:
            info (MlflowRunInfo):
            data (MlflowRunData):
     """

    info: MlflowRunInfo
    data: MlflowRunData
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.mlflow_run_data import MlflowRunData # noqa: PLC0415
        from ..models.mlflow_run_info import MlflowRunInfo # noqa: PLC0415
        info = self.info.to_dict()

        data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "info": info,
            "data": data,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.mlflow_run_data import MlflowRunData # noqa: PLC0415
        from ..models.mlflow_run_info import MlflowRunInfo # noqa: PLC0415
        d = dict(src_dict)
        info = MlflowRunInfo.from_dict(d.pop("info"))

        data = MlflowRunData.from_dict(d.pop("data"))

        mlflow_run = cls(
            info=info,
            data=data,
        )

        mlflow_run.additional_properties = d
        return mlflow_run

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
