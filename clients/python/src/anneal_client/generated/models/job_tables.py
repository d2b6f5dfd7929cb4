from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.job_status import JobStatus
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.table import Table

T = TypeVar("T", bound="JobTables")

@_attrs_define
class JobTables:
    """ Metrics of one job.

        Attributes:
            job (str):
            status (JobStatus): Where a job stands; `succeeded`, `failed` and `cancelled` are final.
            last_seq (int): All events up to this number are in the tables. A stream of events behind it tells the rest
                without a gap; what it
                repeats of a running job are steps that stand here already.
            tables (list[Table]): Metrics with the same steps stand in one table.
            name (None | str | Unset):
     """

    job: str
    status: JobStatus
    last_seq: int
    tables: list[Table]
    name: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.table import Table # noqa: PLC0415
        job = self.job

        status = self.status.value

        last_seq = self.last_seq

        tables = []
        for tables_item_data in self.tables:
            tables_item = tables_item_data.to_dict()
            tables.append(tables_item)

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "job": job,
            "status": status,
            "last_seq": last_seq,
            "tables": tables,
        })
        if name is not UNSET:
            field_dict["name"] = name

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.table import Table # noqa: PLC0415
        d = dict(src_dict)
        job = d.pop("job")

        status = JobStatus(d.pop("status"))

        last_seq = d.pop("last_seq")

        tables = []
        _tables = d.pop("tables")
        for tables_item_data in (_tables):
            tables_item = Table.from_dict(tables_item_data)

            tables.append(tables_item)

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        job_tables = cls(
            job=job,
            status=status,
            last_seq=last_seq,
            tables=tables,
            name=name,
        )

        job_tables.additional_properties = d
        return job_tables

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
