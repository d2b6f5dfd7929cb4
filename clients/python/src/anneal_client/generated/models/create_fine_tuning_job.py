from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..types import UNSET, Unset
from typing import cast

if TYPE_CHECKING:
  from ..models.create_fine_tuning_job_integrations_type_0_item import CreateFineTuningJobIntegrationsType0Item
  from ..models.json_object import JsonObject
  from ..models.metadata import Metadata

T = TypeVar("T", bound="CreateFineTuningJob")

@_attrs_define
class CreateFineTuningJob:
    """ A fine-tuning job to submit.

        Attributes:
            model (str): A model of `GET /v1/models`.
            training_file (str): A file with purpose `fine-tune`; also a data set (`ds_...`, `dsv_...`) or a built-in one.
            validation_file (None | str | Unset): Held-out rows, which are evaluated where the method has a grader.
            suffix (None | str | Unset): The job's name.
            seed (int | None | Unset):
            metadata (Metadata | None | Unset):
            method (JsonObject | None | Unset): `{"type": "supervised" | "reinforcement" | "bolt" | "p3o" | "vopd" | "fade"
                | "grpo" | "policy_gradient",
                "<type>": {...}}`; without it the job is supervised. What stands below one of our objectives are its fields,
                `grader` or `verifier`, `hyperparameters`, and sections of a job spec such as `sampling` and `train`.
            hyperparameters (JsonObject | None | Unset): `n_epochs`, `batch_size` and `learning_rate_multiplier` of a
                supervised job without `method`.
            integrations (list[CreateFineTuningJobIntegrationsType0Item] | None | Unset): None is supported.
     """

    model: str
    training_file: str
    validation_file: None | str | Unset = UNSET
    suffix: None | str | Unset = UNSET
    seed: int | None | Unset = UNSET
    metadata: Metadata | None | Unset = UNSET
    method: JsonObject | None | Unset = UNSET
    hyperparameters: JsonObject | None | Unset = UNSET
    integrations: list[CreateFineTuningJobIntegrationsType0Item] | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.create_fine_tuning_job_integrations_type_0_item import CreateFineTuningJobIntegrationsType0Item # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        model = self.model

        training_file = self.training_file

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

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        metadata: dict[str, Any] | None | Unset
        if isinstance(self.metadata, Unset):
            metadata = UNSET
        elif isinstance(self.metadata, Metadata):
            metadata = self.metadata.to_dict()
        else:
            metadata = self.metadata

        method: dict[str, Any] | None | Unset
        if isinstance(self.method, Unset):
            method = UNSET
        elif isinstance(self.method, JsonObject):
            method = self.method.to_dict()
        else:
            method = self.method

        hyperparameters: dict[str, Any] | None | Unset
        if isinstance(self.hyperparameters, Unset):
            hyperparameters = UNSET
        elif isinstance(self.hyperparameters, JsonObject):
            hyperparameters = self.hyperparameters.to_dict()
        else:
            hyperparameters = self.hyperparameters

        integrations: list[dict[str, Any]] | None | Unset
        if isinstance(self.integrations, Unset):
            integrations = UNSET
        elif isinstance(self.integrations, list):
            integrations = []
            for integrations_type_0_item_data in self.integrations:
                integrations_type_0_item = integrations_type_0_item_data.to_dict()
                integrations.append(integrations_type_0_item)

        else:
            integrations = self.integrations

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "model": model,
            "training_file": training_file,
        })
        if validation_file is not UNSET:
            field_dict["validation_file"] = validation_file
        if suffix is not UNSET:
            field_dict["suffix"] = suffix
        if seed is not UNSET:
            field_dict["seed"] = seed
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if method is not UNSET:
            field_dict["method"] = method
        if hyperparameters is not UNSET:
            field_dict["hyperparameters"] = hyperparameters
        if integrations is not UNSET:
            field_dict["integrations"] = integrations

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.create_fine_tuning_job_integrations_type_0_item import CreateFineTuningJobIntegrationsType0Item # noqa: PLC0415
        from ..models.json_object import JsonObject # noqa: PLC0415
        from ..models.metadata import Metadata # noqa: PLC0415
        d = dict(src_dict)
        model = d.pop("model")

        training_file = d.pop("training_file")

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

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        def _parse_metadata(data: object) -> Metadata | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                metadata_type_0 = Metadata.from_dict(data)

                return metadata_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Metadata | None | Unset, data)

        metadata = _parse_metadata(d.pop("metadata", UNSET))

        def _parse_method(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                method_type_0 = JsonObject.from_dict(data)

                return method_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        method = _parse_method(d.pop("method", UNSET))

        def _parse_hyperparameters(data: object) -> JsonObject | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                hyperparameters_type_0 = JsonObject.from_dict(data)

                return hyperparameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JsonObject | None | Unset, data)

        hyperparameters = _parse_hyperparameters(d.pop("hyperparameters", UNSET))

        def _parse_integrations(data: object) -> list[CreateFineTuningJobIntegrationsType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                integrations_type_0 = []
                _integrations_type_0 = data
                for integrations_type_0_item_data in (_integrations_type_0):
                    integrations_type_0_item = CreateFineTuningJobIntegrationsType0Item.from_dict(integrations_type_0_item_data)

                    integrations_type_0.append(integrations_type_0_item)

                return integrations_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[CreateFineTuningJobIntegrationsType0Item] | None | Unset, data)

        integrations = _parse_integrations(d.pop("integrations", UNSET))

        create_fine_tuning_job = cls(
            model=model,
            training_file=training_file,
            validation_file=validation_file,
            suffix=suffix,
            seed=seed,
            metadata=metadata,
            method=method,
            hyperparameters=hyperparameters,
            integrations=integrations,
        )

        return create_fine_tuning_job
