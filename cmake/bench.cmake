# SPDX-License-Identifier: MIT
# tenon-paths: one cell of the map of behaviour. On the library as users link it.

file(GLOB paths CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/paths/*.c)
add_executable(tenon-paths ${paths})
target_include_directories(tenon-paths PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(tenon-paths PRIVATE ${TENON_PORT_TARGETS} tenon m)
tenon_host_flags(tenon-paths)
set_target_properties(tenon-paths PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# tenon-models: a ping-pong server in one core assignment.
if(TARGET tenon_models)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/models/*.c)
    add_executable(tenon-models ${sources} ${PROJECT_SOURCE_DIR}/bench/speed/wire.c)
    target_include_directories(tenon-models PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(tenon-models PRIVATE tenon_models ${TENON_PORT_TARGETS} tenon Threads::Threads)
    tenon_host_flags(tenon-models)
    set_target_properties(tenon-models PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()

# tenon-dpdk: what a device of DPDK costs.
if(TARGET tenon_port_dpdk)
    add_executable(tenon-dpdk ${PROJECT_SOURCE_DIR}/bench/dpdk/main.c ${PROJECT_SOURCE_DIR}/bench/speed/wire.c)
    target_include_directories(tenon-dpdk PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(tenon-dpdk PRIVATE tenon_dpdk_cable ${TENON_PORT_TARGETS} tenon)
    tenon_host_flags(tenon-dpdk)
    set_target_properties(tenon-dpdk PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
