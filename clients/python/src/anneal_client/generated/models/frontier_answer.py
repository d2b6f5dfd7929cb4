from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.frontier_coverage import FrontierCoverage
  from ..models.frontier_row import FrontierRow
  from ..models.recommendation import Recommendation

T = TypeVar("T", bound="FrontierAnswer")

@_attrs_define
class FrontierAnswer:
    """ What a set can teach at each temperature. Numbers are means over the groups.

        Attributes:
            object_ (Literal['frontier']):
            rollout_set (str):
            groups (int):
            completions (int):
            coverage (FrontierCoverage): What a set covers, whatever the temperature; shares of a group, averaged over the
                groups.
            recommended_beta (float | None): The one of `recommendation`.
            recommendation (Recommendation): Which temperature to take, and why.
            ess_floor (float): Completions that the weights of a group whose rewards differ have to rest on, on average.
            rows (list[FrontierRow]):
     """

    object_: Literal['frontier']
    rollout_set: str
    groups: int
    completions: int
    coverage: FrontierCoverage
    recommended_beta: float | None
    recommendation: Recommendation
    ess_floor: float
    rows: list[FrontierRow]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.frontier_coverage import FrontierCoverage # noqa: PLC0415
        from ..models.frontier_row import FrontierRow # noqa: PLC0415
        from ..models.recommendation import Recommendation # noqa: PLC0415
        object_ = self.object_

        rollout_set = self.rollout_set

        groups = self.groups

        completions = self.completions

        coverage = self.coverage.to_dict()

        recommended_beta: float | None
        recommended_beta = self.recommended_beta

        recommendation = self.recommendation.to_dict()

        ess_floor = self.ess_floor

        rows = []
        for rows_item_data in self.rows:
            rows_item = rows_item_data.to_dict()
            rows.append(rows_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "rollout_set": rollout_set,
            "groups": groups,
            "completions": completions,
            "coverage": coverage,
            "recommended_beta": recommended_beta,
            "recommendation": recommendation,
            "ess_floor": ess_floor,
            "rows": rows,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.frontier_coverage import FrontierCoverage # noqa: PLC0415
        from ..models.frontier_row import FrontierRow # noqa: PLC0415
        from ..models.recommendation import Recommendation # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['frontier'] , d.pop("object"))
        if object_ != 'frontier':
            raise ValueError(f"object must match const 'frontier', got '{object_}'")

        rollout_set = d.pop("rollout_set")

        groups = d.pop("groups")

        completions = d.pop("completions")

        coverage = FrontierCoverage.from_dict(d.pop("coverage"))

        def _parse_recommended_beta(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        recommended_beta = _parse_recommended_beta(d.pop("recommended_beta"))

        recommendation = Recommendation.from_dict(d.pop("recommendation"))

        ess_floor = d.pop("ess_floor")

        rows = []
        _rows = d.pop("rows")
        for rows_item_data in (_rows):
            rows_item = FrontierRow.from_dict(rows_item_data)

            rows.append(rows_item)

        frontier_answer = cls(
            object_=object_,
            rollout_set=rollout_set,
            groups=groups,
            completions=completions,
            coverage=coverage,
            recommended_beta=recommended_beta,
            recommendation=recommendation,
            ess_floor=ess_floor,
            rows=rows,
        )

        frontier_answer.additional_properties = d
        return frontier_answer

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
