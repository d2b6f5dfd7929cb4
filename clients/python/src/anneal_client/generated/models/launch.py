from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="Launch")

@_attrs_define
class Launch:
    """ A machine that was asked of a cluster's scheduler.

        Attributes:
            id (str): Also the name of its machine.
            object_ (Literal['launch']):
            launcher (str): Which of the server's launchers.
            devices (int): Devices that its machine is to have.
            memory (int): Bytes that each of them is said to have.
            status (str): `requested`, and the cluster is about to be asked; `waiting` in the cluster's queue; `running`,
                its machine works for
                this server; `ended`; `failed`, the cluster refused it or its machine never came to work.
            created_at (int): Unix seconds.
            job (None | str | Unset): The job that it is for; the machine runs whatever is next in the queue and fits.
            reference (None | str | Unset): What the cluster calls it.
            node (None | str | Unset): The cluster's machine that it has.
            message (None | str | Unset): What the cluster says of it, or why it is over.
            submitted_at (int | None | Unset): Unix seconds at which the cluster had it.
            began_at (int | None | Unset): Unix seconds at which its machine began to work for this server.
            claimed_at (int | None | Unset): Unix seconds at which a job began on it.
            ended_at (int | None | Unset): Unix seconds.
     """

    id: str
    object_: Literal['launch']
    launcher: str
    devices: int
    memory: int
    status: str
    created_at: int
    job: None | str | Unset = UNSET
    reference: None | str | Unset = UNSET
    node: None | str | Unset = UNSET
    message: None | str | Unset = UNSET
    submitted_at: int | None | Unset = UNSET
    began_at: int | None | Unset = UNSET
    claimed_at: int | None | Unset = UNSET
    ended_at: int | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        object_ = self.object_

        launcher = self.launcher

        devices = self.devices

        memory = self.memory

        status = self.status

        created_at = self.created_at

        job: None | str | Unset
        if isinstance(self.job, Unset):
            job = UNSET
        else:
            job = self.job

        reference: None | str | Unset
        if isinstance(self.reference, Unset):
            reference = UNSET
        else:
            reference = self.reference

        node: None | str | Unset
        if isinstance(self.node, Unset):
            node = UNSET
        else:
            node = self.node

        message: None | str | Unset
        if isinstance(self.message, Unset):
            message = UNSET
        else:
            message = self.message

        submitted_at: int | None | Unset
        if isinstance(self.submitted_at, Unset):
            submitted_at = UNSET
        else:
            submitted_at = self.submitted_at

        began_at: int | None | Unset
        if isinstance(self.began_at, Unset):
            began_at = UNSET
        else:
            began_at = self.began_at

        claimed_at: int | None | Unset
        if isinstance(self.claimed_at, Unset):
            claimed_at = UNSET
        else:
            claimed_at = self.claimed_at

        ended_at: int | None | Unset
        if isinstance(self.ended_at, Unset):
            ended_at = UNSET
        else:
            ended_at = self.ended_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "launcher": launcher,
            "devices": devices,
            "memory": memory,
            "status": status,
            "created_at": created_at,
        })
        if job is not UNSET:
            field_dict["job"] = job
        if reference is not UNSET:
            field_dict["reference"] = reference
        if node is not UNSET:
            field_dict["node"] = node
        if message is not UNSET:
            field_dict["message"] = message
        if submitted_at is not UNSET:
            field_dict["submitted_at"] = submitted_at
        if began_at is not UNSET:
            field_dict["began_at"] = began_at
        if claimed_at is not UNSET:
            field_dict["claimed_at"] = claimed_at
        if ended_at is not UNSET:
            field_dict["ended_at"] = ended_at

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['launch'] , d.pop("object"))
        if object_ != 'launch':
            raise ValueError(f"object must match const 'launch', got '{object_}'")

        launcher = d.pop("launcher")

        devices = d.pop("devices")

        memory = d.pop("memory")

        status = d.pop("status")

        created_at = d.pop("created_at")

        def _parse_job(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        job = _parse_job(d.pop("job", UNSET))

        def _parse_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        reference = _parse_reference(d.pop("reference", UNSET))

        def _parse_node(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        node = _parse_node(d.pop("node", UNSET))

        def _parse_message(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        message = _parse_message(d.pop("message", UNSET))

        def _parse_submitted_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        submitted_at = _parse_submitted_at(d.pop("submitted_at", UNSET))

        def _parse_began_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        began_at = _parse_began_at(d.pop("began_at", UNSET))

        def _parse_claimed_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        claimed_at = _parse_claimed_at(d.pop("claimed_at", UNSET))

        def _parse_ended_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        ended_at = _parse_ended_at(d.pop("ended_at", UNSET))

        launch = cls(
            id=id,
            object_=object_,
            launcher=launcher,
            devices=devices,
            memory=memory,
            status=status,
            created_at=created_at,
            job=job,
            reference=reference,
            node=node,
            message=message,
            submitted_at=submitted_at,
            began_at=began_at,
            claimed_at=claimed_at,
            ended_at=ended_at,
        )

        launch.additional_properties = d
        return launch

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
