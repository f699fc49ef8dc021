# SPDX-License-Identifier: MIT
# Core assignment: the library tenon_models, on any port, and its tests.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()
find_package(Threads REQUIRED)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/*.c)
add_library(tenon_models STATIC ${sources})
target_include_directories(tenon_models PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(tenon_models PUBLIC tenon_headers tenon_port_common Threads::Threads)
tenon_host_flags(tenon_models)
