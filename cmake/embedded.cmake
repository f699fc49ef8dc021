# SPDX-License-Identifier: MIT
# The calls for small machines, embedded/: compiled as the core is, linked before it.

file(GLOB TENON_SOCK_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/embedded/*.c)
add_library(tenon_sock STATIC ${TENON_SOCK_SOURCES})
# From outside "embedded/tenon_sock.h".
target_include_directories(tenon_sock PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(tenon_sock PUBLIC tenon_headers)
tenon_core_flags(tenon_sock)
