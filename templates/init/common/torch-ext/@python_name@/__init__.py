@import_op@
from . import layers

__all__ = ["@python_name@", "layers"]
