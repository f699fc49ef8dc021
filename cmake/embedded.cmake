# SPDX-License-Identifier: MIT
# The calls for small machines, embedded/: compiled as the core is, linked before it. Tenon::tenon_sock.

file(GLOB TENON_SOCK_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/embedded/*.c)
tenon_upper_library(tenon_sock "embedded/tenon_sock.h;embedded/tenon_sock_names.h" ${TENON_SOCK_SOURCES})
tenon_core_flags(tenon_sock)
