"""Functions of scripts in JAX: `sim2d.jax.function(loss, count)`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .gradient import Loss


def function(loss: Loss, count: int | None = None):
    """A function of arrays with a reverse-mode derivative, also under `jit`. It calls the engine through a callback, in doubles.

    count: the length of the list that it returns; None: it returns one number. Results have JAX's usual type: set
    jax_enable_x64 for doubles.
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"a sim2d.Loss expected, got {loss!r}")
    shape = () if count is None else (count,)

    def result() -> Any:
        return jax.ShapeDtypeStruct(shape, jnp.zeros(0).dtype)

    def evaluate(*arrays: Any) -> Any:
        value = np.asarray(loss(*map(np.asarray, arrays)), dtype=jnp.zeros(0).dtype)
        if value.shape != shape:
            raise ValueError(f"count promises a value of shape {shape}, but the function returned one of shape {value.shape}")
        return value

    def pull(weights: Any, *arrays: Any) -> Any:
        gradients = loss.vjp(np.asarray(weights), *map(np.asarray, arrays))
        return tuple(np.asarray(g, dtype=a.dtype) for g, a in zip(gradients, arrays))

    @jax.custom_vjp
    def call(*arrays: Any) -> Any:
        return jax.pure_callback(evaluate, result(), *arrays)

    def forward(*arrays: Any) -> Any:
        return call(*arrays), arrays

    def backward(arrays: Any, weights: Any) -> Any:
        like = tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays)
        return jax.pure_callback(pull, like, weights, *arrays)

    call.defvjp(forward, backward)
    return call
