from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_expression_extract import VerifierExpressionExtract
from ..models.verifier_expression_uses import VerifierExpressionUses
from ..types import UNSET, Unset
from typing import Literal, cast

T = TypeVar("T", bound="VerifierExpression")

@_attrs_define
class VerifierExpression:
    """ The expression of the completion uses the row's numbers, each once, and equals its target.

        Attributes:
            type_ (Literal['expression']):
            extract (VerifierExpressionExtract | Unset): - `all`: The whole completion.
                - `tag`: Between the last pair of tags.
                - `last_line`: The last line that is not blank.
                - `boxed`: In the last complete `\\boxed{...}`.
            open_tag (str | Unset): Begins the expression when `extract` is `tag`. Default: '<answer>'.
            close_tag (str | Unset): Ends the expression when `extract` is `tag`. Default: '</answer>'.
            numbers_column (str | Unset): The column of the numbers: a list of whole numbers from 0, or a text with them.
                Default: 'numbers'.
            target_column (str | Unset): The column of the value that the expression must have: a whole number, or a text
                such as `1/2`. Default: 'target'.
            uses (VerifierExpressionUses | Unset): - `all`: Each number exactly as often as the row gives it.
                - `some`: Each number at most as often as the row gives it.
            correct_reward (float | Unset): The reward of an expression that reaches the target as it should. Default: 1.0.
            wrong_reward (float | Unset): The reward of another expression. A completion without one is unparsable and earns
                0, or this where it is less. Default: 0.0.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['expression']
    extract: VerifierExpressionExtract | Unset = UNSET
    open_tag: str | Unset = '<answer>'
    close_tag: str | Unset = '</answer>'
    numbers_column: str | Unset = 'numbers'
    target_column: str | Unset = 'target'
    uses: VerifierExpressionUses | Unset = UNSET
    correct_reward: float | Unset = 1.0
    wrong_reward: float | Unset = 0.0
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_

        extract: str | Unset = UNSET
        if not isinstance(self.extract, Unset):
            extract = self.extract.value

        open_tag = self.open_tag

        close_tag = self.close_tag

        numbers_column = self.numbers_column

        target_column = self.target_column

        uses: str | Unset = UNSET
        if not isinstance(self.uses, Unset):
            uses = self.uses.value

        correct_reward = self.correct_reward

        wrong_reward = self.wrong_reward

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if extract is not UNSET:
            field_dict["extract"] = extract
        if open_tag is not UNSET:
            field_dict["open_tag"] = open_tag
        if close_tag is not UNSET:
            field_dict["close_tag"] = close_tag
        if numbers_column is not UNSET:
            field_dict["numbers_column"] = numbers_column
        if target_column is not UNSET:
            field_dict["target_column"] = target_column
        if uses is not UNSET:
            field_dict["uses"] = uses
        if correct_reward is not UNSET:
            field_dict["correct_reward"] = correct_reward
        if wrong_reward is not UNSET:
            field_dict["wrong_reward"] = wrong_reward
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = cast(Literal['expression'] , d.pop("type"))
        if type_ != 'expression':
            raise ValueError(f"type must match const 'expression', got '{type_}'")

        _extract = d.pop("extract", UNSET)
        extract: VerifierExpressionExtract | Unset
        if isinstance(_extract,  Unset):
            extract = UNSET
        else:
            extract = VerifierExpressionExtract(_extract)

        open_tag = d.pop("open_tag", UNSET)

        close_tag = d.pop("close_tag", UNSET)

        numbers_column = d.pop("numbers_column", UNSET)

        target_column = d.pop("target_column", UNSET)

        _uses = d.pop("uses", UNSET)
        uses: VerifierExpressionUses | Unset
        if isinstance(_uses,  Unset):
            uses = UNSET
        else:
            uses = VerifierExpressionUses(_uses)

        correct_reward = d.pop("correct_reward", UNSET)

        wrong_reward = d.pop("wrong_reward", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_expression = cls(
            type_=type_,
            extract=extract,
            open_tag=open_tag,
            close_tag=close_tag,
            numbers_column=numbers_column,
            target_column=target_column,
            uses=uses,
            correct_reward=correct_reward,
            wrong_reward=wrong_reward,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_expression
