# SPDX-License-Identifier: MIT
# Programs. They lie in the root of the build folder.

find_package(Threads)

file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/common/*.c)
file(GLOB cli CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/cli/*.c)
# "tenon bench": Tenon and the floor of bench/speed.
file(GLOB speed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/speed/*.c)
list(FILTER speed EXCLUDE REGEX "/main\\.c$")
# Kinds of port that make a cable by themselves: bench/speed/ports.h.
set(cables_declared "")
set(cables "")
if(TARGET tenon_dpdk_cable)
    set(cables_declared "#include \"ports/dpdk/cable/cable.h\"")
    set(cables "    { \"dpdk\", dpdk_cable, \"net_ring_\" },")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/speed_cables.c CONTENT [[
#include "bench/speed/ports.h"
@cables_declared@
const struct speed_cable speed_cables[] = {
@cables@
    { NULL, NULL, NULL },
};
]] @ONLY)
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
