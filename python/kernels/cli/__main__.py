# SPDX-License-Identifier: Apache-2.0
from kernels.cli import main

main()
