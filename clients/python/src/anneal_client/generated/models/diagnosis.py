from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.diagnosis_code import DiagnosisCode
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.diagnosis_evidence import DiagnosisEvidence
  from ..models.diagnosis_suggestion import DiagnosisSuggestion

T = TypeVar("T", bound="Diagnosis")

@_attrs_define
class Diagnosis:
    """ Something that is wrong with a job.

        Attributes:
            id (str): The code, of which a job has one at most.
            object_ (Literal['job.diagnosis']):
            code (DiagnosisCode): What is wrong with a job.
            message (str): What was seen and what it means.
            evidence (list[DiagnosisEvidence]): The numbers that it rests on.
            suggestion (DiagnosisSuggestion): What would help.
     """

    id: str
    object_: Literal['job.diagnosis']
    code: DiagnosisCode
    message: str
    evidence: list[DiagnosisEvidence]
    suggestion: DiagnosisSuggestion
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.diagnosis_evidence import DiagnosisEvidence # noqa: PLC0415
        from ..models.diagnosis_suggestion import DiagnosisSuggestion # noqa: PLC0415
        id = self.id

        object_ = self.object_

        code = self.code.value

        message = self.message

        evidence = []
        for evidence_item_data in self.evidence:
            evidence_item = evidence_item_data.to_dict()
            evidence.append(evidence_item)

        suggestion = self.suggestion.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "code": code,
            "message": message,
            "evidence": evidence,
            "suggestion": suggestion,
        })

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.diagnosis_evidence import DiagnosisEvidence # noqa: PLC0415
        from ..models.diagnosis_suggestion import DiagnosisSuggestion # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['job.diagnosis'] , d.pop("object"))
        if object_ != 'job.diagnosis':
            raise ValueError(f"object must match const 'job.diagnosis', got '{object_}'")

        code = DiagnosisCode(d.pop("code"))

        message = d.pop("message")

        evidence = []
        _evidence = d.pop("evidence")
        for evidence_item_data in (_evidence):
            evidence_item = DiagnosisEvidence.from_dict(evidence_item_data)

            evidence.append(evidence_item)

        suggestion = DiagnosisSuggestion.from_dict(d.pop("suggestion"))

        diagnosis = cls(
            id=id,
            object_=object_,
            code=code,
            message=message,
            evidence=evidence,
            suggestion=suggestion,
        )

        diagnosis.additional_properties = d
        return diagnosis

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
