"""Functions of scripts as layers of PyTorch: `sim2d.torch.function(loss)`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .gradient import Loss


class _Call(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: Loss, *tensors: torch.Tensor) -> torch.Tensor:
        arrays = [t.detach().cpu().numpy() for t in tensors]
        ctx.loss, ctx.arrays = loss, arrays
        ctx.like = [(t.dtype, t.device) for t in tensors]
        value = loss(*arrays)
        dtype = tensors[0].dtype if tensors[0].is_floating_point() else torch.float64
        return torch.as_tensor(np.asarray(value), dtype=dtype, device=tensors[0].device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, weights: torch.Tensor) -> tuple[Any, ...]:
        by = [i for i in range(len(ctx.arrays)) if ctx.needs_input_grad[1 + i]]
        gradients = ctx.loss.vjp(weights.detach().cpu().double().numpy(), *ctx.arrays, by=by)
        tensors: list[Any] = [None] * len(ctx.arrays)
        for i, gradient in zip(by, gradients):
            dtype, device = ctx.like[i]
            tensors[i] = torch.as_tensor(gradient, dtype=dtype, device=device)
        return (None, *tensors)


def function(loss: Loss):
    """A function of tensors whose value (a number, or a list of numbers) has derivatives of the first order.

    The engine computes in doubles on the CPU; values have the type and device of the first tensor. Backward runs the script's
    function once more, on a tape.

    >>> throw = sim2d.torch.function(sim2d.Loss("throw.lua"))
    >>> v = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> throw(v).backward()
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"a sim2d.Loss expected, got {loss!r}")

    def call(*tensors: torch.Tensor) -> torch.Tensor:
        if not tensors or not all(isinstance(t, torch.Tensor) for t in tensors):
            raise TypeError("tensors expected as arguments of the function")
        return _Call.apply(loss, *tensors)

    return call
