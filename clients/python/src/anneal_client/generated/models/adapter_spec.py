from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, BinaryIO, TextIO, TYPE_CHECKING, Generator

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

from ..models.adapter_init import AdapterInit
from ..models.adapter_type import AdapterType
from ..models.all_linear import AllLinear
from ..models.quantize import Quantize
from ..types import UNSET, Unset
from typing import cast

T = TypeVar("T", bound="AdapterSpec")

@_attrs_define
class AdapterSpec:
    """ A low-rank adapter (LoRA, arXiv 2106.09685): the model is frozen, and beside each adapted weight `W: [out, in]` two
    factors `A: [rank, in]` and `B: [out, rank]` are trained, with which the weight is `W + scale B A`.

        Attributes:
            type_ (AdapterType): The kinds of adapters.
            rank (int | None | Unset): Rank of the change; 16 by default. With `start` it is that of the adapter there, as
                are `alpha`, `targets`,
                `rslora` and `dora`.
            alpha (float | None | Unset): The change is multiplied by `alpha / rank`, or with `rslora` by `alpha /
                sqrt(rank)`. Twice the rank by default.
            targets (AllLinear | list[str] | None | Unset): Which weights are adapted: `all_linear`, all matrices within the
                layers but the routers of experts; or the last
                parts of their names, such as `["q_proj", "v_proj"]`.
            dropout (float | Unset): The share of the numbers that are dropped, on their way to `A`, from what an adapted
                weight reads in a training
                pass; the others are divided by one less it (Srivastava et al., JMLR 15, 2014). Sampling, evaluation and the
                reference drop nothing, so that with it ratios are not 1 at a round's first step. `start` does not decide it.
            init (AdapterInit | Unset): What the factors of a new adapter are. Training begins at the model itself: `B` is
                zero, or with `pissa` what both make is
                taken away, but for rounding.

                - `kaiming`: `A` uniform within `1 / sqrt(in)` (He et al., arXiv 1502.01852, with a slope of `sqrt(5)`), as peft
                has it.
                - `zero_b`: `A` normal with deviation `1 / rank`, as in LoRA's paper.
                - `pissa`: Both are what is largest in the weight, by its singular values, and that much is taken from what it
                computes: training moves what matters most in it (PiSSA, arXiv 2404.02948). The weight stays as it is, also in
                codes; the finished adapter has twice the rank, for what was taken is the other half of it.
            rslora (bool | None | Unset): Scale by the root of the rank (arXiv 2312.03732), so that the change does not
                shrink as the rank grows.
            dora (bool | None | Unset): Train how long the rows of adapted weights are, apart from where they point (DoRA,
                arXiv 2402.09353): a magnitude for
                each row beside the factors. A training pass computes each adapted product once more. Not beside `init:
                "pissa"`; with `dropout`, what
                is dropped is dropped on its way to `A` alone.
            quantize (None | Quantize | Unset): Keep the frozen weights in codes of 8 bits, of which 32 share a scale, as
                GGUF's Q8_0: 1.1 bytes a parameter on the
                CPU. What samples, what trains and the reference all have these weights. On a GPU they are kept as without it.
            start (None | str | Unset): An adapter for the same model from which to go on: an inference checkpoint
                (`ckpt_...`) of a job that trained one,
                or one that was imported (`mdl_...`).
     """

    type_: AdapterType
    rank: int | None | Unset = UNSET
    alpha: float | None | Unset = UNSET
    targets: AllLinear | list[str] | None | Unset = UNSET
    dropout: float | Unset = UNSET
    init: AdapterInit | Unset = UNSET
    rslora: bool | None | Unset = UNSET
    dora: bool | None | Unset = UNSET
    quantize: None | Quantize | Unset = UNSET
    start: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        rank: int | None | Unset
        if isinstance(self.rank, Unset):
            rank = UNSET
        else:
            rank = self.rank

        alpha: float | None | Unset
        if isinstance(self.alpha, Unset):
            alpha = UNSET
        else:
            alpha = self.alpha

        targets: list[str] | None | str | Unset
        if isinstance(self.targets, Unset):
            targets = UNSET
        elif isinstance(self.targets, AllLinear):
            targets = self.targets.value
        elif isinstance(self.targets, list):
            targets = self.targets

        else:
            targets = self.targets

        dropout = self.dropout

        init: str | Unset = UNSET
        if not isinstance(self.init, Unset):
            init = self.init.value

        rslora: bool | None | Unset
        if isinstance(self.rslora, Unset):
            rslora = UNSET
        else:
            rslora = self.rslora

        dora: bool | None | Unset
        if isinstance(self.dora, Unset):
            dora = UNSET
        else:
            dora = self.dora

        quantize: None | str | Unset
        if isinstance(self.quantize, Unset):
            quantize = UNSET
        elif isinstance(self.quantize, Quantize):
            quantize = self.quantize.value
        else:
            quantize = self.quantize

        start: None | str | Unset
        if isinstance(self.start, Unset):
            start = UNSET
        else:
            start = self.start

        field_dict: dict[str, Any] = {}

        field_dict.update({
            "type": type_,
        })
        if rank is not UNSET:
            field_dict["rank"] = rank
        if alpha is not UNSET:
            field_dict["alpha"] = alpha
        if targets is not UNSET:
            field_dict["targets"] = targets
        if dropout is not UNSET:
            field_dict["dropout"] = dropout
        if init is not UNSET:
            field_dict["init"] = init
        if rslora is not UNSET:
            field_dict["rslora"] = rslora
        if dora is not UNSET:
            field_dict["dora"] = dora
        if quantize is not UNSET:
            field_dict["quantize"] = quantize
        if start is not UNSET:
            field_dict["start"] = start

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = AdapterType(d.pop("type"))

        def _parse_rank(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        rank = _parse_rank(d.pop("rank", UNSET))

        def _parse_alpha(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        alpha = _parse_alpha(d.pop("alpha", UNSET))

        def _parse_targets(data: object) -> AllLinear | list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                componentsschemas_targets_type_0 = AllLinear(data)

                return componentsschemas_targets_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, list):
                    raise TypeError()
                componentsschemas_targets_type_1 = cast(list[str], data)

                return componentsschemas_targets_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(AllLinear | list[str] | None | Unset, data)

        targets = _parse_targets(d.pop("targets", UNSET))

        dropout = d.pop("dropout", UNSET)

        _init = d.pop("init", UNSET)
        init: AdapterInit | Unset
        if isinstance(_init,  Unset):
            init = UNSET
        else:
            init = AdapterInit(_init)

        def _parse_rslora(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        rslora = _parse_rslora(d.pop("rslora", UNSET))

        def _parse_dora(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        dora = _parse_dora(d.pop("dora", UNSET))

        def _parse_quantize(data: object) -> None | Quantize | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                quantize_type_0 = Quantize(data)

                return quantize_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Quantize | Unset, data)

        quantize = _parse_quantize(d.pop("quantize", UNSET))

        def _parse_start(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        start = _parse_start(d.pop("start", UNSET))

        adapter_spec = cls(
            type_=type_,
            rank=rank,
            alpha=alpha,
            targets=targets,
            dropout=dropout,
            init=init,
            rslora=rslora,
            dora=dora,
            quantize=quantize,
            start=start,
        )

        return adapter_spec
