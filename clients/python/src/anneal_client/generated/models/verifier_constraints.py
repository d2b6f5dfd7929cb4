from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.verifier_constraints_reward import VerifierConstraintsReward
from ..types import UNSET, Unset
from typing import cast
from typing import Literal, cast

if TYPE_CHECKING:
  from ..models.verifier_constraints_instruction_type_0 import VerifierConstraintsInstructionType0
  from ..models.verifier_constraints_instruction_type_1 import VerifierConstraintsInstructionType1
  from ..models.verifier_constraints_instruction_type_10 import VerifierConstraintsInstructionType10
  from ..models.verifier_constraints_instruction_type_11 import VerifierConstraintsInstructionType11
  from ..models.verifier_constraints_instruction_type_12 import VerifierConstraintsInstructionType12
  from ..models.verifier_constraints_instruction_type_13 import VerifierConstraintsInstructionType13
  from ..models.verifier_constraints_instruction_type_14 import VerifierConstraintsInstructionType14
  from ..models.verifier_constraints_instruction_type_15 import VerifierConstraintsInstructionType15
  from ..models.verifier_constraints_instruction_type_16 import VerifierConstraintsInstructionType16
  from ..models.verifier_constraints_instruction_type_17 import VerifierConstraintsInstructionType17
  from ..models.verifier_constraints_instruction_type_18 import VerifierConstraintsInstructionType18
  from ..models.verifier_constraints_instruction_type_19 import VerifierConstraintsInstructionType19
  from ..models.verifier_constraints_instruction_type_2 import VerifierConstraintsInstructionType2
  from ..models.verifier_constraints_instruction_type_20 import VerifierConstraintsInstructionType20
  from ..models.verifier_constraints_instruction_type_21 import VerifierConstraintsInstructionType21
  from ..models.verifier_constraints_instruction_type_22 import VerifierConstraintsInstructionType22
  from ..models.verifier_constraints_instruction_type_23 import VerifierConstraintsInstructionType23
  from ..models.verifier_constraints_instruction_type_24 import VerifierConstraintsInstructionType24
  from ..models.verifier_constraints_instruction_type_3 import VerifierConstraintsInstructionType3
  from ..models.verifier_constraints_instruction_type_4 import VerifierConstraintsInstructionType4
  from ..models.verifier_constraints_instruction_type_5 import VerifierConstraintsInstructionType5
  from ..models.verifier_constraints_instruction_type_6 import VerifierConstraintsInstructionType6
  from ..models.verifier_constraints_instruction_type_7 import VerifierConstraintsInstructionType7
  from ..models.verifier_constraints_instruction_type_8 import VerifierConstraintsInstructionType8
  from ..models.verifier_constraints_instruction_type_9 import VerifierConstraintsInstructionType9

T = TypeVar("T", bound="VerifierConstraints")

@_attrs_define
class VerifierConstraints:
    """ The completion follows instructions on length, words, layout, case and language (the families of IFEval).

        Attributes:
            type_ (Literal['constraints']):
            instructions (list[VerifierConstraintsInstructionType0 | VerifierConstraintsInstructionType1 |
                VerifierConstraintsInstructionType10 | VerifierConstraintsInstructionType11 |
                VerifierConstraintsInstructionType12 | VerifierConstraintsInstructionType13 |
                VerifierConstraintsInstructionType14 | VerifierConstraintsInstructionType15 |
                VerifierConstraintsInstructionType16 | VerifierConstraintsInstructionType17 |
                VerifierConstraintsInstructionType18 | VerifierConstraintsInstructionType19 |
                VerifierConstraintsInstructionType2 | VerifierConstraintsInstructionType20 |
                VerifierConstraintsInstructionType21 | VerifierConstraintsInstructionType22 |
                VerifierConstraintsInstructionType23 | VerifierConstraintsInstructionType24 |
                VerifierConstraintsInstructionType3 | VerifierConstraintsInstructionType4 | VerifierConstraintsInstructionType5
                | VerifierConstraintsInstructionType6 | VerifierConstraintsInstructionType7 |
                VerifierConstraintsInstructionType8 | VerifierConstraintsInstructionType9] | Unset): Instructions for all rows,
                each with its `id` and arguments.
            ids_column (None | str | Unset): The column with the list of a row's instruction ids, in IFEval's rows
                `instruction_id_list`.
            kwargs_column (None | str | Unset): The column with the list of their arguments, in IFEval's rows `kwargs`;
                arguments that are null are left out.
            reward (VerifierConstraintsReward | Unset): - `share`: The share of instructions that are followed.
                - `all`: 1 if all are followed, else 0.
            loose (bool | Unset): An instruction also counts as followed where it is without the first line, the last line
                or both, or without
                asterisks: what chat models put around their answers. Default: False.
            time_limit_seconds (float | Unset): Seconds one verification may take. Default: 10.0.
     """

    type_: Literal['constraints']
    instructions: list[VerifierConstraintsInstructionType0 | VerifierConstraintsInstructionType1 | VerifierConstraintsInstructionType10 | VerifierConstraintsInstructionType11 | VerifierConstraintsInstructionType12 | VerifierConstraintsInstructionType13 | VerifierConstraintsInstructionType14 | VerifierConstraintsInstructionType15 | VerifierConstraintsInstructionType16 | VerifierConstraintsInstructionType17 | VerifierConstraintsInstructionType18 | VerifierConstraintsInstructionType19 | VerifierConstraintsInstructionType2 | VerifierConstraintsInstructionType20 | VerifierConstraintsInstructionType21 | VerifierConstraintsInstructionType22 | VerifierConstraintsInstructionType23 | VerifierConstraintsInstructionType24 | VerifierConstraintsInstructionType3 | VerifierConstraintsInstructionType4 | VerifierConstraintsInstructionType5 | VerifierConstraintsInstructionType6 | VerifierConstraintsInstructionType7 | VerifierConstraintsInstructionType8 | VerifierConstraintsInstructionType9] | Unset = UNSET
    ids_column: None | str | Unset = UNSET
    kwargs_column: None | str | Unset = UNSET
    reward: VerifierConstraintsReward | Unset = UNSET
    loose: bool | Unset = False
    time_limit_seconds: float | Unset = 10.0

    def to_dict(self) -> dict[str, Any]:
        from ..models.verifier_constraints_instruction_type_0 import VerifierConstraintsInstructionType0 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_1 import VerifierConstraintsInstructionType1 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_10 import VerifierConstraintsInstructionType10 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_11 import VerifierConstraintsInstructionType11 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_12 import VerifierConstraintsInstructionType12 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_13 import VerifierConstraintsInstructionType13 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_14 import VerifierConstraintsInstructionType14 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_15 import VerifierConstraintsInstructionType15 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_16 import VerifierConstraintsInstructionType16 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_17 import VerifierConstraintsInstructionType17 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_18 import VerifierConstraintsInstructionType18 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_19 import VerifierConstraintsInstructionType19 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_2 import VerifierConstraintsInstructionType2 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_20 import VerifierConstraintsInstructionType20 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_21 import VerifierConstraintsInstructionType21 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_22 import VerifierConstraintsInstructionType22 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_23 import VerifierConstraintsInstructionType23 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_24 import VerifierConstraintsInstructionType24 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_3 import VerifierConstraintsInstructionType3 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_4 import VerifierConstraintsInstructionType4 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_5 import VerifierConstraintsInstructionType5 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_6 import VerifierConstraintsInstructionType6 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_7 import VerifierConstraintsInstructionType7 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_8 import VerifierConstraintsInstructionType8 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_9 import VerifierConstraintsInstructionType9 # noqa: PLC0415
        type_ = self.type_

        instructions: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.instructions, Unset):
            instructions = []
            for instructions_item_data in self.instructions:
                instructions_item: dict[str, Any]
                if isinstance(instructions_item_data, VerifierConstraintsInstructionType0):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType1):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType2):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType3):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType4):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType5):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType6):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType7):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType8):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType9):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType10):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType11):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType12):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType13):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType14):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType15):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType16):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType17):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType18):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType19):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType20):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType21):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType22):
                    instructions_item = instructions_item_data.to_dict()
                elif isinstance(instructions_item_data, VerifierConstraintsInstructionType23):
                    instructions_item = instructions_item_data.to_dict()
                else:
                    instructions_item = instructions_item_data.to_dict()

                instructions.append(instructions_item)

        ids_column: None | str | Unset
        if isinstance(self.ids_column, Unset):
            ids_column = UNSET
        else:
            ids_column = self.ids_column

        kwargs_column: None | str | Unset
        if isinstance(self.kwargs_column, Unset):
            kwargs_column = UNSET
        else:
            kwargs_column = self.kwargs_column

        reward: str | Unset = UNSET
        if not isinstance(self.reward, Unset):
            reward = self.reward.value

        loose = self.loose

        time_limit_seconds = self.time_limit_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if instructions is not UNSET:
            field_dict["instructions"] = instructions
        if ids_column is not UNSET:
            field_dict["ids_column"] = ids_column
        if kwargs_column is not UNSET:
            field_dict["kwargs_column"] = kwargs_column
        if reward is not UNSET:
            field_dict["reward"] = reward
        if loose is not UNSET:
            field_dict["loose"] = loose
        if time_limit_seconds is not UNSET:
            field_dict["time_limit_seconds"] = time_limit_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.verifier_constraints_instruction_type_0 import VerifierConstraintsInstructionType0 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_1 import VerifierConstraintsInstructionType1 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_10 import VerifierConstraintsInstructionType10 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_11 import VerifierConstraintsInstructionType11 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_12 import VerifierConstraintsInstructionType12 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_13 import VerifierConstraintsInstructionType13 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_14 import VerifierConstraintsInstructionType14 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_15 import VerifierConstraintsInstructionType15 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_16 import VerifierConstraintsInstructionType16 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_17 import VerifierConstraintsInstructionType17 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_18 import VerifierConstraintsInstructionType18 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_19 import VerifierConstraintsInstructionType19 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_2 import VerifierConstraintsInstructionType2 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_20 import VerifierConstraintsInstructionType20 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_21 import VerifierConstraintsInstructionType21 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_22 import VerifierConstraintsInstructionType22 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_23 import VerifierConstraintsInstructionType23 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_24 import VerifierConstraintsInstructionType24 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_3 import VerifierConstraintsInstructionType3 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_4 import VerifierConstraintsInstructionType4 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_5 import VerifierConstraintsInstructionType5 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_6 import VerifierConstraintsInstructionType6 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_7 import VerifierConstraintsInstructionType7 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_8 import VerifierConstraintsInstructionType8 # noqa: PLC0415
        from ..models.verifier_constraints_instruction_type_9 import VerifierConstraintsInstructionType9 # noqa: PLC0415
        d = dict(src_dict)
        type_ = cast(Literal['constraints'] , d.pop("type"))
        if type_ != 'constraints':
            raise ValueError(f"type must match const 'constraints', got '{type_}'")

        _instructions = d.pop("instructions", UNSET)
        instructions: list[VerifierConstraintsInstructionType0 | VerifierConstraintsInstructionType1 | VerifierConstraintsInstructionType10 | VerifierConstraintsInstructionType11 | VerifierConstraintsInstructionType12 | VerifierConstraintsInstructionType13 | VerifierConstraintsInstructionType14 | VerifierConstraintsInstructionType15 | VerifierConstraintsInstructionType16 | VerifierConstraintsInstructionType17 | VerifierConstraintsInstructionType18 | VerifierConstraintsInstructionType19 | VerifierConstraintsInstructionType2 | VerifierConstraintsInstructionType20 | VerifierConstraintsInstructionType21 | VerifierConstraintsInstructionType22 | VerifierConstraintsInstructionType23 | VerifierConstraintsInstructionType24 | VerifierConstraintsInstructionType3 | VerifierConstraintsInstructionType4 | VerifierConstraintsInstructionType5 | VerifierConstraintsInstructionType6 | VerifierConstraintsInstructionType7 | VerifierConstraintsInstructionType8 | VerifierConstraintsInstructionType9] | Unset = UNSET
        if _instructions is not UNSET:
            instructions = []
            for instructions_item_data in _instructions:
                def _parse_instructions_item(data: object) -> VerifierConstraintsInstructionType0 | VerifierConstraintsInstructionType1 | VerifierConstraintsInstructionType10 | VerifierConstraintsInstructionType11 | VerifierConstraintsInstructionType12 | VerifierConstraintsInstructionType13 | VerifierConstraintsInstructionType14 | VerifierConstraintsInstructionType15 | VerifierConstraintsInstructionType16 | VerifierConstraintsInstructionType17 | VerifierConstraintsInstructionType18 | VerifierConstraintsInstructionType19 | VerifierConstraintsInstructionType2 | VerifierConstraintsInstructionType20 | VerifierConstraintsInstructionType21 | VerifierConstraintsInstructionType22 | VerifierConstraintsInstructionType23 | VerifierConstraintsInstructionType24 | VerifierConstraintsInstructionType3 | VerifierConstraintsInstructionType4 | VerifierConstraintsInstructionType5 | VerifierConstraintsInstructionType6 | VerifierConstraintsInstructionType7 | VerifierConstraintsInstructionType8 | VerifierConstraintsInstructionType9:
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_0 = VerifierConstraintsInstructionType0.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_0
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_1 = VerifierConstraintsInstructionType1.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_1
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_2 = VerifierConstraintsInstructionType2.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_2
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_3 = VerifierConstraintsInstructionType3.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_3
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_4 = VerifierConstraintsInstructionType4.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_4
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_5 = VerifierConstraintsInstructionType5.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_5
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_6 = VerifierConstraintsInstructionType6.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_6
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_7 = VerifierConstraintsInstructionType7.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_7
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_8 = VerifierConstraintsInstructionType8.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_8
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_9 = VerifierConstraintsInstructionType9.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_9
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_10 = VerifierConstraintsInstructionType10.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_10
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_11 = VerifierConstraintsInstructionType11.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_11
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_12 = VerifierConstraintsInstructionType12.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_12
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_13 = VerifierConstraintsInstructionType13.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_13
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_14 = VerifierConstraintsInstructionType14.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_14
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_15 = VerifierConstraintsInstructionType15.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_15
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_16 = VerifierConstraintsInstructionType16.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_16
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_17 = VerifierConstraintsInstructionType17.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_17
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_18 = VerifierConstraintsInstructionType18.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_18
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_19 = VerifierConstraintsInstructionType19.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_19
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_20 = VerifierConstraintsInstructionType20.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_20
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_21 = VerifierConstraintsInstructionType21.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_21
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_22 = VerifierConstraintsInstructionType22.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_22
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    try:
                        if not isinstance(data, dict):
                            raise TypeError()
                        componentsschemas_verifier_constraints_instruction_type_23 = VerifierConstraintsInstructionType23.from_dict(data)

                        return componentsschemas_verifier_constraints_instruction_type_23
                    except (TypeError, ValueError, AttributeError, KeyError):
                        pass
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_verifier_constraints_instruction_type_24 = VerifierConstraintsInstructionType24.from_dict(data)

                    return componentsschemas_verifier_constraints_instruction_type_24

                instructions_item = _parse_instructions_item(instructions_item_data)

                instructions.append(instructions_item)

        def _parse_ids_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        ids_column = _parse_ids_column(d.pop("ids_column", UNSET))

        def _parse_kwargs_column(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        kwargs_column = _parse_kwargs_column(d.pop("kwargs_column", UNSET))

        _reward = d.pop("reward", UNSET)
        reward: VerifierConstraintsReward | Unset
        if isinstance(_reward,  Unset):
            reward = UNSET
        else:
            reward = VerifierConstraintsReward(_reward)

        loose = d.pop("loose", UNSET)

        time_limit_seconds = d.pop("time_limit_seconds", UNSET)

        verifier_constraints = cls(
            type_=type_,
            instructions=instructions,
            ids_column=ids_column,
            kwargs_column=kwargs_column,
            reward=reward,
            loose=loose,
            time_limit_seconds=time_limit_seconds,
        )

        return verifier_constraints
