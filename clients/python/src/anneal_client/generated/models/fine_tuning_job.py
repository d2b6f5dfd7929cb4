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
  from ..models.chosen_hyperparameters import ChosenHyperparameters
  from ..models.fine_tuning_error import FineTuningError
  from ..models.json_object import JsonObject
  from ..models.metadata import Metadata

T = TypeVar("T", bound="FineTuningJob")

@_attrs_define
class FineTuningJob:
    """ A training job as OpenAI clients read it; `GET /v1/jobs/{id}` shows the same one with all that it is.

        Attributes:
            id (str):
            object_ (Literal['fine_tuning.job']):
            created_at (int): Unix seconds.
            status (str): `queued`, `running` (also while it pauses or is being cancelled), `paused`, `succeeded`, `failed`
                or
                `cancelled`. Files are validated before a job exists, so that `validating_files` never occurs.
            model (str): What it started from.
            training_file (str): The file, or the data set of a job that was submitted as such.
            hyperparameters (ChosenHyperparameters): The numbers that a job runs with, as clients read them.
            method (JsonObject): Any JSON object.
            seed (int):
            result_files (list[str]): Always empty; metrics are at `/v1/jobs/{id}/metrics`.
            integrations (list[str]): Always empty.
            organization_id (Literal['anneal']):
            metadata (Metadata): Pairs of your own: at most 16, keys of at most 64 characters, values of at most 512.
            finished_at (int | None | Unset): Unix seconds.
            fine_tuned_model (None | str | Unset): The finished model, `ckpt_...`: a model for further jobs and for
                completions.
            validation_file (None | str | Unset):
            suffix (None | str | Unset):
            trained_tokens (int | None | Unset): Tokens that were trained on, once the job is over.
            estimated_finish (int | None | Unset): Unix seconds; a guess from the steps taken so far.
            error (FineTuningError | None | Unset): Why the job failed.
     """

    id: str
    object_: Literal['fine_tuning.job']
    created_at: int
    status: str
    model: str
    training_file: str
    hyperparameters: ChosenHyperparameters
    method: JsonObject
    seed: int
    result_files: list[str]
    integrations: list[str]
    organization_id: Literal['anneal']
    metadata: Metadata
    finished_at: int | None | Unset = UNSET
    fine_tuned_model: None | str | Unset = UNSET
    validation_file: None | str | Unset = UNSET
    suffix: None | str | Unset = UNSET
    trained_tokens: int | None | Unset = UNSET
    estimated_finish: int | None | Unset = UNSET
    error: FineTuningError | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.chosen_hyperparameters import ChosenHyperparameters # noqa: PLC0415
        from ..models.fine_tuning_error import FineTuningError # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        id = self.id

        object_ = self.object_

        created_at = self.created_at

        status = self.status

        model = self.model

        training_file = self.training_file

        hyperparameters = self.hyperparameters.to_dict()

        method = self.method.to_dict()

        seed = self.seed

        result_files = self.result_files

        integrations = self.integrations

        organization_id = self.organization_id

        metadata = self.metadata.to_dict()

        finished_at: int | None | Unset
        if isinstance(self.finished_at, Unset):
            finished_at = UNSET
        else:
            finished_at = self.finished_at

        fine_tuned_model: None | str | Unset
        if isinstance(self.fine_tuned_model, Unset):
            fine_tuned_model = UNSET
        else:
            fine_tuned_model = self.fine_tuned_model

        validation_file: None | str | Unset
        if isinstance(self.validation_file, Unset):
            validation_file = UNSET
        else:
            validation_file = self.validation_file

        suffix: None | str | Unset
        if isinstance(self.suffix, Unset):
            suffix = UNSET
        else:
            suffix = self.suffix

        trained_tokens: int | None | Unset
        if isinstance(self.trained_tokens, Unset):
            trained_tokens = UNSET
        else:
            trained_tokens = self.trained_tokens

        estimated_finish: int | None | Unset
        if isinstance(self.estimated_finish, Unset):
            estimated_finish = UNSET
        else:
            estimated_finish = self.estimated_finish

        error: dict[str, Any] | None | Unset
        if isinstance(self.error, Unset):
            error = UNSET
        elif isinstance(self.error, FineTuningError):
            error = self.error.to_dict()
        else:
            error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({
            "id": id,
            "object": object_,
            "created_at": created_at,
            "status": status,
            "model": model,
            "training_file": training_file,
            "hyperparameters": hyperparameters,
            "method": method,
            "seed": seed,
            "result_files": result_files,
            "integrations": integrations,
            "organization_id": organization_id,
            "metadata": metadata,
        })
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at
        if fine_tuned_model is not UNSET:
            field_dict["fine_tuned_model"] = fine_tuned_model
        if validation_file is not UNSET:
            field_dict["validation_file"] = validation_file
        if suffix is not UNSET:
            field_dict["suffix"] = suffix
        if trained_tokens is not UNSET:
            field_dict["trained_tokens"] = trained_tokens
        if estimated_finish is not UNSET:
            field_dict["estimated_finish"] = estimated_finish
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chosen_hyperparameters import ChosenHyperparameters # noqa: PLC0415
        from ..models.fine_tuning_error import FineTuningError # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        id = d.pop("id")

        object_ = cast(Literal['fine_tuning.job'] , d.pop("object"))
        if object_ != 'fine_tuning.job':
            raise ValueError(f"object must match const 'fine_tuning.job', got '{object_}'")

        created_at = d.pop("created_at")

        status = d.pop("status")

        model = d.pop("model")

        training_file = d.pop("training_file")

        hyperparameters = ChosenHyperparameters.from_dict(d.pop("hyperparameters"))

        method = JsonObject.from_dict(d.pop("method"))

        seed = d.pop("seed")

        result_files = cast(list[str], d.pop("result_files"))

        integrations = cast(list[str], d.pop("integrations"))

        organization_id = cast(Literal['anneal'] , d.pop("organization_id"))
        if organization_id != 'anneal':
            raise ValueError(f"organization_id must match const 'anneal', got '{organization_id}'")

        metadata = Metadata.from_dict(d.pop("metadata"))

        def _parse_finished_at(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        finished_at = _parse_finished_at(d.pop("finished_at", UNSET))

        def _parse_fine_tuned_model(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fine_tuned_model = _parse_fine_tuned_model(d.pop("fine_tuned_model", UNSET))

        def _parse_validation_file(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        validation_file = _parse_validation_file(d.pop("validation_file", UNSET))

        def _parse_suffix(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        suffix = _parse_suffix(d.pop("suffix", UNSET))

        def _parse_trained_tokens(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        trained_tokens = _parse_trained_tokens(d.pop("trained_tokens", UNSET))

        def _parse_estimated_finish(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        estimated_finish = _parse_estimated_finish(d.pop("estimated_finish", UNSET))

        def _parse_error(data: object) -> FineTuningError | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = FineTuningError.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FineTuningError | None | Unset, data)

        error = _parse_error(d.pop("error", UNSET))

        fine_tuning_job = cls(
            id=id,
            object_=object_,
            created_at=created_at,
            status=status,
            model=model,
            training_file=training_file,
            hyperparameters=hyperparameters,
            method=method,
            seed=seed,
            result_files=result_files,
            integrations=integrations,
            organization_id=organization_id,
            metadata=metadata,
            finished_at=finished_at,
            fine_tuned_model=fine_tuned_model,
            validation_file=validation_file,
            suffix=suffix,
            trained_tokens=trained_tokens,
            estimated_finish=estimated_finish,
            error=error,
        )

        fine_tuning_job.additional_properties = d
        return fine_tuning_job

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
