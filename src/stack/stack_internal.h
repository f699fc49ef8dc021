/* SPDX-License-Identifier: MIT */
/* Between the files of src/stack. */
#ifndef TN_STACK_STACK_INTERNAL_H
#define TN_STACK_STACK_INTERNAL_H

#include <tenon/stack.h>

TENON_BEGIN_DECLS

/* Replace every 0 that means "default". */
TENON_INTERNAL void tn_conf_complete(struct tenon_conf *conf);

TENON_END_DECLS

#endif
