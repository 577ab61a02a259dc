# SPDX-License-Identifier: Apache-2.0
"""`python -m kernels`: the command `kernels`."""

from kernels.cli import main

if __name__ == "__main__":
    main()
