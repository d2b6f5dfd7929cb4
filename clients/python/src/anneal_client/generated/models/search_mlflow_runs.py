from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="SearchMlflowRuns")

@_attrs_define
class SearchMlflowRuns:
    """ What MLflow's clients ask for. The newest are first.

        Attributes:
            experiment_ids (list[str] | Unset): `0` for all jobs of the project, or sweeps.
            filter_ (None | str | Unset): None is understood.
            max_results (int | None | Unset):
            page_token (None | str | Unset):
     """

    experiment_ids: list[str] | Unset = UNSET
    filter_: None | str | Unset = UNSET
    max_results: int | None | Unset = UNSET
    page_token: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        experiment_ids: list[str] | Unset = UNSET
        if not isinstance(self.experiment_ids, Unset):
            experiment_ids = self.experiment_ids

        filter_: None | str | Unset
        if isinstance(self.filter_, Unset):
            filter_ = UNSET
        else:
            filter_ = self.filter_

        max_results: int | None | Unset
        if isinstance(self.max_results, Unset):
            max_results = UNSET
        else:
            max_results = self.max_results

        page_token: None | str | Unset
        if isinstance(self.page_token, Unset):
            page_token = UNSET
        else:
            page_token = self.page_token

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
        })
        if experiment_ids is not UNSET:
            field_dict["experiment_ids"] = experiment_ids
        if filter_ is not UNSET:
            field_dict["filter"] = filter_
        if max_results is not UNSET:
            field_dict["max_results"] = max_results
        if page_token is not UNSET:
            field_dict["page_token"] = page_token

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        experiment_ids = cast(list[str], d.pop("experiment_ids", UNSET))

        def _parse_filter_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        filter_ = _parse_filter_(d.pop("filter", UNSET))

        def _parse_max_results(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        max_results = _parse_max_results(d.pop("max_results", UNSET))

        def _parse_page_token(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        page_token = _parse_page_token(d.pop("page_token", UNSET))

        search_mlflow_runs = cls(
            experiment_ids=experiment_ids,
            filter_=filter_,
            max_results=max_results,
            page_token=page_token,
        )

        search_mlflow_runs.additional_properties = d
        return search_mlflow_runs

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
