@torch.library.custom_op("a::f" r"b", mutates_args=())
async def f(x, *y, **z): pass
relu = (jax_op)(
 "m::r" # c
, f)
