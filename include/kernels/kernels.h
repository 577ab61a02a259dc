/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/kernels.h - the whole public API of libkernels. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "kernels/abi.h"     /* what a compiled kernel demands */
#include "kernels/base.h"    /* status codes, errors, views */
#include "kernels/data.h"    /* formats of the Kernel Hub */
#include "kernels/load.h"    /* from a name to a verified folder */
#include "kernels/lock.h"    /* from a project to its kernels.lock */
#include "kernels/mapping.h" /* which kernel stands in for a layer */
#include "kernels/resolve.h" /* this machine, build variants */
#include "kernels/runtime.h" /* calling a kernel */

#endif
