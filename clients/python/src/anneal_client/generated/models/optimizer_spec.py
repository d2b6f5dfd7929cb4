from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.learning_rate_schedule import LearningRateSchedule
from ..models.masters import Masters
from ..models.moment_state import MomentState
from ..models.optimizer_kind import OptimizerKind
from ..types import UNSET, Unset

T = TypeVar("T", bound="OptimizerSpec")

@_attrs_define
class OptimizerSpec:
    """ How weights follow their gradients, and the learning-rate schedule.

        Attributes:
            type_ (OptimizerKind | Unset): What the update of a weight is.

                - `adamw`: AdamW (Loshchilov and Hutter, arXiv 1711.05101), with two moments of each number.
                - `muon`: Muon (Keller Jordan 2024) for the matrices of layers and the factors of an adapter: one moment of each
                number, whose matrix is made orthogonal before it is taken as the update, as large as those of AdamW are (arXiv
                2502.16982), so that learning rate and weight decay carry over. Embeddings, the head, norms, biases and other
                vectors take AdamW.
            learning_rate (float | Unset): The peak learning rate. Default: 1e-05.
            schedule (LearningRateSchedule | Unset): How the learning rate moves after the warm-up.

                - `cosine`: Down to zero along half a cosine.
                - `linear`: Down to zero along a line.
            warmup (float | Unset): Share of the steps over which the learning rate rises linearly from zero. Default: 0.03.
            weight_decay (float | Unset): Decoupled weight decay on matrices (never on norms). Default: 0.0.
            beta1 (float | Unset):  Default: 0.9.
            beta2 (float | Unset):  Default: 0.999.
            eps (float | Unset):  Default: 1e-08.
            momentum (float | Unset): What `muon` keeps of a matrix's earlier gradients from one step to the next.
            max_grad_norm (float | Unset): Gradients are scaled down to this global norm; 0 turns clipping off. Default:
                1.0.
            state (MomentState | Unset): What moments are kept in. Updates are computed in f32 always.

                - `f32`: 4 bytes each, 8 a parameter with AdamW.
                - `bf16`: Half of that, rounded at random, so that small changes are not lost.
                - `int8`: A quarter of that: codes of 8 bits with a scale for each 256 of them (arXiv 2110.02861).
            masters (Masters | Unset): What weights that are trained are kept in.

                - `f32`: 4 bytes a parameter.
                - `bf16`: 2 bytes a number of a matrix, and no other copy of it: each update is rounded up or down at random, so
                that small changes are not lost. Vectors are f32. Not beside an adapter, whose factors are f32; on the CPU only.
            sharded (bool | Unset): Whether each of a job's devices keeps the moments of a part of the weights only, and of
                their gradients' sums
                (stages 1 and 2 of ZeRO, arXiv 1910.02054), and on GPUs with `train.precision: "bf16"` of the f32 weights. The
                job
                is then saved at the end of a step when it is to rest.
     """

    type_: OptimizerKind | Unset = UNSET
    learning_rate: float | Unset = 1e-05
    schedule: LearningRateSchedule | Unset = UNSET
    warmup: float | Unset = 0.03
    weight_decay: float | Unset = 0.0
    beta1: float | Unset = 0.9
    beta2: float | Unset = 0.999
    eps: float | Unset = 1e-08
    momentum: float | Unset = UNSET
    max_grad_norm: float | Unset = 1.0
    state: MomentState | Unset = UNSET
    masters: Masters | Unset = UNSET
    sharded: bool | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        type_: str | Unset = UNSET
        if not isinstance(self.type_, Unset):
            type_ = self.type_.value

        learning_rate = self.learning_rate

        schedule: str | Unset = UNSET
        if not isinstance(self.schedule, Unset):
            schedule = self.schedule.value

        warmup = self.warmup

        weight_decay = self.weight_decay

        beta1 = self.beta1

        beta2 = self.beta2

        eps = self.eps

        momentum = self.momentum

        max_grad_norm = self.max_grad_norm

        state: str | Unset = UNSET
        if not isinstance(self.state, Unset):
            state = self.state.value

        masters: str | Unset = UNSET
        if not isinstance(self.masters, Unset):
            masters = self.masters.value

        sharded = self.sharded

        field_dict: dict[str, Any] = {}

        field_dict.update({
        })
        if type_ is not UNSET:
            field_dict["type"] = type_
        if learning_rate is not UNSET:
            field_dict["learning_rate"] = learning_rate
        if schedule is not UNSET:
            field_dict["schedule"] = schedule
        if warmup is not UNSET:
            field_dict["warmup"] = warmup
        if weight_decay is not UNSET:
            field_dict["weight_decay"] = weight_decay
        if beta1 is not UNSET:
            field_dict["beta1"] = beta1
        if beta2 is not UNSET:
            field_dict["beta2"] = beta2
        if eps is not UNSET:
            field_dict["eps"] = eps
        if momentum is not UNSET:
            field_dict["momentum"] = momentum
        if max_grad_norm is not UNSET:
            field_dict["max_grad_norm"] = max_grad_norm
        if state is not UNSET:
            field_dict["state"] = state
        if masters is not UNSET:
            field_dict["masters"] = masters
        if sharded is not UNSET:
            field_dict["sharded"] = sharded

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        _type_ = d.pop("type", UNSET)
        type_: OptimizerKind | Unset
        if isinstance(_type_,  Unset):
            type_ = UNSET
        else:
            type_ = OptimizerKind(_type_)

        learning_rate = d.pop("learning_rate", UNSET)

        _schedule = d.pop("schedule", UNSET)
        schedule: LearningRateSchedule | Unset
        if isinstance(_schedule,  Unset):
            schedule = UNSET
        else:
            schedule = LearningRateSchedule(_schedule)

        warmup = d.pop("warmup", UNSET)

        weight_decay = d.pop("weight_decay", UNSET)

        beta1 = d.pop("beta1", UNSET)

        beta2 = d.pop("beta2", UNSET)

        eps = d.pop("eps", UNSET)

        momentum = d.pop("momentum", UNSET)

        max_grad_norm = d.pop("max_grad_norm", UNSET)

        _state = d.pop("state", UNSET)
        state: MomentState | Unset
        if isinstance(_state,  Unset):
            state = UNSET
        else:
            state = MomentState(_state)

        _masters = d.pop("masters", UNSET)
        masters: Masters | Unset
        if isinstance(_masters,  Unset):
            masters = UNSET
        else:
            masters = Masters(_masters)

        sharded = d.pop("sharded", UNSET)

        optimizer_spec = cls(
            type_=type_,
            learning_rate=learning_rate,
            schedule=schedule,
            warmup=warmup,
            weight_decay=weight_decay,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            momentum=momentum,
            max_grad_norm=max_grad_norm,
            state=state,
            masters=masters,
            sharded=sharded,
        )

        return optimizer_spec
