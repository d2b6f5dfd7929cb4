from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.json_object import JsonObject

T = TypeVar("T", bound="NewArtifactReport")

@_attrs_define
class NewArtifactReport:
    """ An artifact whose files have been sent.

        Attributes:
            folder (str): The name of its folder below that of the job.
            manifest (JsonObject): Any JSON object.
            keep_last (int): How many training checkpoints the job keeps: the newest ones, and the best ones besides.
            summary (JsonObject | None | Unset): Of a rollout set or of an evaluation, in numbers.
            score (float | None | Unset): What an evaluation at a checkpoint's step found.
            keep_best (int | Unset):
     """

    folder: str
    manifest: JsonObject
    keep_last: int
    summary: JsonObject | None | Unset = UNSET
    score: float | None | Unset = UNSET
    keep_best: int | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.json_object import JsonObject # noqa: PLC0415
        folder = self.folder

        manifest = self.manifest.to_dict()

        keep_last = self.keep_last

        summary: dict[str, Any] | None | Unset
        if isinstance(self.summary, Unset):
            summary = UNSET
        elif isinstance(self.summary, JsonObject):
            summary = self.summary.to_dict()
        else:
            summary = self.summary

        score: float | None | Unset
        if isinstance(self.score, Unset):
            score = UNSET
        else:
            score = self.score

        keep_best = self.keep_best

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "folder": folder,
            "manifest": manifest,
            "keep_last": keep_last,
        })
        if summary is not UNSET:
            field_dict["summary"] = summary
        if score is not UNSET:
            field_dict["score"] = score
        if keep_best is not UNSET:
            field_dict["keep_best"] = keep_best

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.json_object import JsonObject # noqa: PLC0415
        d = dict(src_dict)
        folder = d.pop("folder")

        manifest = JsonObject.from_dict(d.pop("manifest"))

        keep_last = d.pop("keep_last")

        def _parse_summary(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                summary_type_0 = JsonObject.from_dict(data)

                return summary_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        summary = _parse_summary(d.pop("summary", UNSET))

        def _parse_score(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        score = _parse_score(d.pop("score", UNSET))

        keep_best = d.pop("keep_best", UNSET)

        new_artifact_report = cls(
            folder=folder,
            manifest=manifest,
            keep_last=keep_last,
            summary=summary,
            score=score,
            keep_best=keep_best,
        )

        return new_artifact_report
