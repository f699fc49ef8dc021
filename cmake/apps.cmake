# SPDX-License-Identifier: MIT
# Programs. They lie in the root of the build folder.

find_package(Threads)

file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/common/*.c)
file(GLOB cli CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/cli/*.c)
# "tenon bench": Tenon and the floor of bench/speed.
file(GLOB speed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/speed/*.c)
list(FILTER speed EXCLUDE REGEX "/main\\.c$")
if(cli)
    add_executable(tenon_cli ${cli} ${common} ${speed} ${PROJECT_BINARY_DIR}/speed_cables.c)
    target_include_directories(tenon_cli PRIVATE
        ${PROJECT_SOURCE_DIR}/apps ${PROJECT_SOURCE_DIR}/apps/common ${PROJECT_SOURCE_DIR}/ports)
    target_link_libraries(tenon_cli PRIVATE
        tenon_models tenon_ports_built ${TENON_PORT_TARGETS} tenon_services tenon Threads::Threads m)
    if(TARGET tenon_dpdk_cable)
        target_link_libraries(tenon_cli PRIVATE tenon_dpdk_cable)
    endif()
    tenon_host_flags(tenon_cli)
    set_target_properties(tenon_cli PROPERTIES
        OUTPUT_NAME tenon RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    add_custom_target(programs DEPENDS tenon_cli)
endif()
