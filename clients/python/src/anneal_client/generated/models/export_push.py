from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.push_status import PushStatus
from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.export_failure import ExportFailure

T = TypeVar("T", bound="ExportPush")

@_attrs_define
class ExportPush:
    """ A push of an export to the hub.

        Attributes:
            status (PushStatus): Where a push stands; `succeeded` and `failed` are final.
            to (str): The repository and its branch.
            private (bool): Whether a repository that was not there was to be made private, and a public one refused.
            bytes_ (int): Of all files.
            bytes_done (int): Of these, those that are on the hub.
            created_at (int): Unix seconds.
            commit (None | str | Unset): The commit that has all files; null before the push has succeeded.
            url (None | str | Unset): The page of that commit.
            failure (ExportFailure | None | Unset): Why it failed; null for any other.
            completed_at (int | None | Unset): Unix seconds.
     """

    status: PushStatus
    to: str
    private: bool
    bytes_: int
    bytes_done: int
    created_at: int
    commit: None | str | Unset = UNSET
    url: None | str | Unset = UNSET
    failure: ExportFailure | None | Unset = UNSET
    completed_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.export_failure import ExportFailure # noqa: PLC0415
        status = self.status.value

        to = self.to

        private = self.private

        bytes_ = self.bytes_

        bytes_done = self.bytes_done

        created_at = self.created_at

        commit: None | str | Unset
        if isinstance(self.commit, Unset):
            commit = UNSET
        else:
            commit = self.commit

        url: None | str | Unset
        if isinstance(self.url, Unset):
            url = UNSET
        else:
            url = self.url

        failure: dict[str, Any] | None | Unset
        if isinstance(self.failure, Unset):
            failure = UNSET
        elif isinstance(self.failure, ExportFailure):
            failure = self.failure.to_dict()
        else:
            failure = self.failure

        completed_at: int | None | Unset
        if isinstance(self.completed_at, Unset):
            completed_at = UNSET
        else:
            completed_at = self.completed_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "status": status,
            "to": to,
            "private": private,
            "bytes": bytes_,
            "bytes_done": bytes_done,
            "created_at": created_at,
        })
        if commit is not UNSET:
            field_dict["commit"] = commit
        if url is not UNSET:
            field_dict["url"] = url
        if failure is not UNSET:
            field_dict["failure"] = failure
        if completed_at is not UNSET:
            field_dict["completed_at"] = completed_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.export_failure import ExportFailure # noqa: PLC0415
        d = dict(src_dict)
        status = PushStatus(d.pop("status"))

        to = d.pop("to")

        private = d.pop("private")

        bytes_ = d.pop("bytes")

        bytes_done = d.pop("bytes_done")

        created_at = d.pop("created_at")

        def _parse_commit(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        commit = _parse_commit(d.pop("commit", UNSET))

        def _parse_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        url = _parse_url(d.pop("url", UNSET))

        def _parse_failure(data: object) -> ExportFailure | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                failure_type_0 = ExportFailure.from_dict(data)

                return failure_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExportFailure | None | Unset, data)

        failure = _parse_failure(d.pop("failure", UNSET))

        def _parse_completed_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        completed_at = _parse_completed_at(d.pop("completed_at", UNSET))

        export_push = cls(
            status=status,
            to=to,
            private=private,
            bytes_=bytes_,
            bytes_done=bytes_done,
            created_at=created_at,
            commit=commit,
            url=url,
            failure=failure,
            completed_at=completed_at,
        )

        export_push.additional_properties = d
        return export_push

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
