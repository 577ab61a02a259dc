"""The NKI side of the kernel."""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add_one(x):
    """Adds one to every element of a matrix that fits one tile."""
    tile = nl.ndarray(shape=x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    out = nl.ndarray(shape=x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
