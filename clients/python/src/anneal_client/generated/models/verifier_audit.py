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
  from ..models.audit_latency import AuditLatency
  from ..models.audit_probe import AuditProbe
  from ..models.audit_reason import AuditReason

T = TypeVar("T", bound="VerifierAudit")

@_attrs_define
class VerifierAudit:
    """ What a verifier makes of a data set's own answers, and of texts that no model should be rewarded for.

        Attributes:
            object_ (Literal['verifier.audit']):
            verifier (str):
            dataset (str):
            verdict (str): `trusted` or `suspicious`: what a job asks for with `"require_audit": true`.
            reasons (list[AuditReason]): Why it is suspicious; empty where it is trusted.
            rows (int): Rows that were looked at.
            skipped (int): Rows with neither a completion nor an answer, which could not be judged.
            from_completion (int): Judged rows whose text was the row's completion; that of the others was its answer, or a
                reference program.
            passed (int):
            failed (int): Judged, with a reward below 0.5.
            unparsable (int): Held nothing to judge.
            errors (int): Could not be judged.
            examples (list[AuditExample]): The first rows that did not pass, at most 10.
            probes (list[AuditProbe]): Texts that were tried in the place of the rows' own, on the first 100 rows.
            unstable (int): Rows whose own text got another verdict when it was judged again.
            latency (AuditLatency): How long verdicts took, in seconds.
            pass_rate (float | None | Unset): Share of the judged rows that pass; null when none was judged. A verifier that
                fails right answers is broken.
     """

    object_: Literal['verifier.audit']
    verifier: str
    dataset: str
    verdict: str
    reasons: list[AuditReason]
    rows: int
    skipped: int
    from_completion: int
    passed: int
    failed: int
    unparsable: int
    errors: int
    examples: list[AuditExample]
    probes: list[AuditProbe]
    unstable: int
    latency: AuditLatency
    pass_rate: float | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.audit_example import AuditExample # noqa: PLC0415
        from ..models.audit_latency import AuditLatency # noqa: PLC0415
        from ..models.audit_probe import AuditProbe # noqa: PLC0415
        from ..models.audit_reason import AuditReason # noqa: PLC0415
        object_ = self.object_

        verifier = self.verifier

        dataset = self.dataset

        verdict = self.verdict

        reasons = []
        for reasons_item_data in self.reasons:
            reasons_item = reasons_item_data.to_dict()
            reasons.append(reasons_item)

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

        probes = []
        for probes_item_data in self.probes:
            probes_item = probes_item_data.to_dict()
            probes.append(probes_item)

        unstable = self.unstable

        latency = self.latency.to_dict()

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
            "verdict": verdict,
            "reasons": reasons,
            "rows": rows,
            "skipped": skipped,
            "from_completion": from_completion,
            "passed": passed,
            "failed": failed,
            "unparsable": unparsable,
            "errors": errors,
            "examples": examples,
            "probes": probes,
            "unstable": unstable,
            "latency": latency,
        })
        if pass_rate is not UNSET:
            field_dict["pass_rate"] = pass_rate

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.audit_example import AuditExample # noqa: PLC0415
        from ..models.audit_latency import AuditLatency # noqa: PLC0415
        from ..models.audit_probe import AuditProbe # noqa: PLC0415
        from ..models.audit_reason import AuditReason # noqa: PLC0415
        d = dict(src_dict)
        object_ = cast(Literal['verifier.audit'] , d.pop("object"))
        if object_ != 'verifier.audit':
            raise ValueError(f"object must match const 'verifier.audit', got '{object_}'")

        verifier = d.pop("verifier")

        dataset = d.pop("dataset")

        verdict = d.pop("verdict")

        reasons = []
        _reasons = d.pop("reasons")
        for reasons_item_data in (_reasons):
            reasons_item = AuditReason.from_dict(reasons_item_data)

            reasons.append(reasons_item)

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

        probes = []
        _probes = d.pop("probes")
        for probes_item_data in (_probes):
            probes_item = AuditProbe.from_dict(probes_item_data)

            probes.append(probes_item)

        unstable = d.pop("unstable")

        latency = AuditLatency.from_dict(d.pop("latency"))

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
            verdict=verdict,
            reasons=reasons,
            rows=rows,
            skipped=skipped,
            from_completion=from_completion,
            passed=passed,
            failed=failed,
            unparsable=unparsable,
            errors=errors,
            examples=examples,
            probes=probes,
            unstable=unstable,
            latency=latency,
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
