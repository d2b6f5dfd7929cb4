from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.audit_example import AuditExample

T = TypeVar("T", bound="VerifierAudit")

@_attrs_define
class VerifierAudit:
    """ How a verifier judges a data set's own answers.

        Attributes:
            object_ (Literal['verifier.audit']):
            verifier (str):
            dataset (str):
            rows (int): Rows that were looked at.
            skipped (int): Rows with neither a completion nor an answer, which could not be judged.
            from_completion (int): Judged rows whose text was the row's completion; that of the others was its answer.
            passed (int):
            failed (int): Judged, with a reward below 0.5.
            unparsable (int): Held nothing to judge.
            errors (int): Could not be judged.
            examples (list[AuditExample]): The first rows that did not pass, at most 10.
            pass_rate (float | None | Unset): Share of the judged rows that pass; null when none was judged. A verifier that
                fails right answers is broken.
     """

    object_: Literal['verifier.audit']
    verifier: str
    dataset: str
    rows: int
    skipped: int
    from_completion: int
    passed: int
    failed: int
    unparsable: int
    errors: int
    examples: list[AuditExample]
    pass_rate: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.audit_example import AuditExample # noqa: PLC0415
        object_ = self.object_

        verifier = self.verifier

        dataset = self.dataset

        rows = self.rows

        skipped = self.skipped

        from_completion = self.from_completion

        passed = self.passed

        failed = self.failed

        unparsable = self.unparsable

        errors = self.errors

        examples = []
        for examples_item_data in self.examples:
            examples_item = examples_item_data.to_dict()
            examples.append(examples_item)

        pass_rate: float | None | Unset
        if isinstance(self.pass_rate, Unset):
            pass_rate = UNSET
        else:
            pass_rate = self.pass_rate

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "object": object_,
            "verifier": verifier,
            "dataset": dataset,
            "rows": rows,
            "skipped": skipped,
            "from_completion": from_completion,
            "passed": passed,
            "failed": failed,
            "unparsable": unparsable,
            "errors": errors,
            "examples": examples,
        })
        if pass_rate is not UNSET:
            field_dict["pass_rate"] = pass_rate

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.audit_example import AuditExample # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['verifier.audit'] , d.pop("object"))
        if object_ != 'verifier.audit':
            raise ValueError(f"object must match const 'verifier.audit', got '{object_}'")

        verifier = d.pop("verifier")

        dataset = d.pop("dataset")

        rows = d.pop("rows")

        skipped = d.pop("skipped")

        from_completion = d.pop("from_completion")

        passed = d.pop("passed")

        failed = d.pop("failed")

        unparsable = d.pop("unparsable")

        errors = d.pop("errors")

        examples = []
        _examples = d.pop("examples")
        for examples_item_data in (_examples):
            examples_item = AuditExample.from_dict(examples_item_data)

            examples.append(examples_item)

        def _parse_pass_rate(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        pass_rate = _parse_pass_rate(d.pop("pass_rate", UNSET))

        verifier_audit = cls(
            object_=object_,
            verifier=verifier,
            dataset=dataset,
            rows=rows,
            skipped=skipped,
            from_completion=from_completion,
            passed=passed,
            failed=failed,
            unparsable=unparsable,
            errors=errors,
            examples=examples,
            pass_rate=pass_rate,
        )

        verifier_audit.additional_properties = d
        return verifier_audit

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
