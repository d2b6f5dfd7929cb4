from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_text_similarity_metric import VerifierTextSimilarityMetric
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

T = TypeVar("T", bound="VerifierTextSimilarity")

@_attrs_define
class VerifierTextSimilarity:
    """ How alike a text made of the completion and columns is to another (OpenAI's grader).

        Attributes:
            type_ (Literal['text_similarity']):
            input_ (str): What is compared, with places such as `{{ sample.output_text }}` and `{{ item.answer }}`.
            reference (str): What it is compared with; a template as well.
            evaluation_metric (VerifierTextSimilarityMetric): - `fuzzy_match`: By the edits of characters that make one text
                the other.
                - `bleu`: By runs of up to four words, and the length.
                - `gleu`: By runs of up to four words, in both directions.
                - `rouge_1`: By words.
                - `rouge_2`: By runs of two words.
                - `rouge_3`: By runs of three words.
                - `rouge_4`: By runs of four words.
                - `rouge_5`: By runs of five words.
                - `rouge_l`: By the longest common subsequence of words.
            name (None | str | Unset): A name for people.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['text_similarity']
    input_: str
    reference: str
    evaluation_metric: VerifierTextSimilarityMetric
    name: None | str | Unset = UNSET
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        input_ = self.input_

        reference = self.reference

        evaluation_metric = self.evaluation_metric.value

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
            "input": input_,
            "reference": reference,
            "evaluation_metric": evaluation_metric,
        })
        if name is not UNSET:
            field_dict["name"] = name
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['text_similarity'] , d.pop("type"))
        if type_ != 'text_similarity':
            raise ValueError(f"type must match const 'text_similarity', got '{type_}'")

        input_ = d.pop("input")

        reference = d.pop("reference")

        evaluation_metric = VerifierTextSimilarityMetric(d.pop("evaluation_metric"))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_text_similarity = cls(
            type_=type_,
            input_=input_,
            reference=reference,
            evaluation_metric=evaluation_metric,
            name=name,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_text_similarity
